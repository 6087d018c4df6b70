// Written by tests/verify/generate.py; expected values are XLA's on one CPU device.
module {
  func.func @main0(%a0: tensor<6x4xf32>, %a1: tensor<2x3x1xi32>) -> (tensor<2x3x4xf32>) {
    %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<6x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
    return %r : tensor<2x3x4xf32>
  }
  // case 0 in 0: 1.59253287 -0.400694966 -1.77579701 -0.875538647 0.945904255 -1.77720106 -0.0672367141 -1.92487264 0.403728455 -1.65167212 0.55837518 -0.746236622 -0.0874350592 0.68569541 0.181021348 -0.0905130357 -1.95573652 1.90811014 1.68644798 0.508011043 1.07624793 -1.83055174 -1.25137377 0.115447037
  // case 0 in 1: 0 5 3 -2 9 1
  // case 0 out 0: 1.59253287 -0.400694966 -1.77579701 -0.875538647 1.07624793 -1.83055174 -1.25137377 0.115447037 -0.0874350592 0.68569541 0.181021348 -0.0905130357 1.59253287 -0.400694966 -1.77579701 -0.875538647 1.07624793 -1.83055174 -1.25137377 0.115447037 0.945904255 -1.77720106 -0.0672367141 -1.92487264
  func.func @main1(%a0: tensor<4x6xf32>, %a1: tensor<3x2xi32>) -> (tensor<2x3x3xf32>) {
    %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>, indices_are_sorted = false}> : (tensor<4x6xf32>, tensor<3x2xi32>) -> tensor<2x3x3xf32>
    return %r : tensor<2x3x3xf32>
  }
  // case 1 in 0: 1.29774988 0.138742492 1.00095689 -1.32146978 1.86719429 -0.0154735707 0.458546549 -1.68322659 -0.458857864 -1.4305073 0.862390399 -1.87110651 1.26501787 -1.13061619 -1.76525414 -0.386134684 0.453427911 1.4927851 -1.56841195 1.12614834 -1.59409523 0.403011262 -1.14529645 0.573548794
  // case 1 in 1: 1 1 5 3 -1 0
  // case 1 out 0: -1.68322659 -0.458857864 -1.4305073 -0.386134684 0.453427911 1.4927851 1.29774988 0.138742492 1.00095689 -1.13061619 -1.76525414 -0.386134684 0.403011262 -1.14529645 0.573548794 0.458546549 -1.68322659 -0.458857864
  func.func @main2(%a0: tensor<6x4xf32>, %a1: tensor<3xui64>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<6x4xf32>, tensor<3xui64>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
  }
  // case 2 in 0: 0.43692553 -0.191633329 1.80139852 -0.854328394 -0.973501563 0.511407316 1.6657387 1.53240252 0.25662151 -0.98769331 -0.372561723 0.63661027 -1.26595473 1.57571387 1.26133072 1.82701433 -1.22257519 0.307574809 -1.63364148 -1.23844564 -1.02439916 -1.32662714 -0.152552456 1.80411291
  // case 2 in 1: 2 18446744073709551615 0
  // case 2 out 0: 0.25662151 -0.98769331 -0.372561723 0.63661027 -1.02439916 -1.32662714 -0.152552456 1.80411291 0.43692553 -0.191633329 1.80139852 -0.854328394
  func.func @main3(%a0: tensor<3x4x2xf32>, %a1: tensor<2x3x1xi64>) -> (tensor<2x3x2xf32>) {
    %r = "stablehlo.gather"(%a0, %a1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>, indices_are_sorted = false}> : (tensor<3x4x2xf32>, tensor<2x3x1xi64>) -> tensor<2x3x2xf32>
    return %r : tensor<2x3x2xf32>
  }
  // case 3 in 0: 0.123366632 1.23844194 0.708557546 1.54826677 -0.947249115 -1.52956688 -0.695014298 -1.90027392 -0.629965246 0.81260246 -1.50379753 -0.245671362 1.28419256 0.42307514 0.473081321 -1.60159147 -1.42521179 -1.89764035 0.21589613 -1.07983577 -1.30477726 0.308339804 0.160819933 1.82339358
  // case 3 in 1: 0 3 1 2 7 -1
  // case 3 out 0: 0.123366632 1.23844194 0.473081321 -1.60159147 0.21589613 -1.07983577 -0.947249115 -1.52956688 0.473081321 -1.60159147 -1.42521179 -1.89764035
  func.func @main4(%a0: tensor<5x3xf32>, %a1: tensor<4x1xi32>, %a2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    return %r : tensor<5x3xf32>
  }
  // case 4 in 0: 1.69261742 1.84522855 1.79889762 0.83421576 0.135103256 0.531648159 0.387343079 -0.602206409 -1.02020204 -0.0285059158 1.3705585 0.838305235 1.18299472 -0.3479352 -0.825843394
  // case 4 in 1: 1 4 1 9
  // case 4 in 2: 1.59155166 1.42877018 -0.772335827 0.375825137 1.76126206 -1.36367965 1.84607553 0.891990662 -1.67155504 -1.77795756 1.14759648 -1.6226517
  // case 4 out 0: 1.69261742 1.84522855 1.79889762 4.27184296 2.45586395 -1.91224265 0.387343079 -0.602206409 -1.02020204 -0.0285059158 1.3705585 0.838305235 1.55881989 1.41332686 -2.18952298
  func.func @main5(%a0: tensor<5x3xf32>, %a1: tensor<4x1xi32>, %a2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    return %r : tensor<5x3xf32>
  }
  // case 5 in 0: 0.562923312 0.0496861748 0.715552151 -0.454957962 -1.60214233 0.0787173435 0.738782883 -1.0948019 0.378974468 -0.39016977 -0.516771555 -1.99608743 0.0174393207 0.733965695 0.0987912565
  // case 5 in 1: 1 4 1 9
  // case 5 in 2: 1.6859349 -0.928910732 0.11896871 -0.0797023624 0.745106399 0.180824146 -1.43615341 -1.49464655 -0.881311417 0.361807913 1.56810737 -1.7589848
  // case 5 out 0: 0.562923312 0.0496861748 0.715552151 1.6859349 -0.928910732 0.11896871 0.738782883 -1.0948019 0.378974468 -0.39016977 -0.516771555 -1.99608743 0.0174393207 0.745106399 0.180824146
  func.func @main6(%a0: tensor<5x3xf32>, %a1: tensor<4x1xi32>, %a2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.multiply %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    return %r : tensor<5x3xf32>
  }
  // case 6 in 0: -1.24409533 0.947383344 -1.55794275 -1.7869097 -1.37185693 -0.22965014 0.810296953 -0.634075701 -1.36203718 1.5329926 -1.08092034 1.82347226 0.481482685 1.88936007 0.385166734
  // case 6 in 1: 1 4 1 9
  // case 6 in 2: -0.556431711 -1.43487692 -1.41166186 -1.0171138 0.848309875 -0.503853083 -0.387403071 0.229699865 -0.344669819 1.02641904 1.52834547 -0.772832036
  // case 6 out 0: -1.24409533 0.947383344 -1.55794275 -0.385192245 0.452151746 -0.111737937 0.810296953 -0.634075701 -1.36203718 1.5329926 -1.08092034 1.82347226 -0.489722699 1.60276282 -0.194067448
  func.func @main7(%a0: tensor<5x3xi32>, %a1: tensor<4x1xi32>, %a2: tensor<4x3xi32>) -> (tensor<5x3xi32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %z = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %z : tensor<i32>
    }) : (tensor<5x3xi32>, tensor<4x1xi32>, tensor<4x3xi32>) -> tensor<5x3xi32>
    return %r : tensor<5x3xi32>
  }
  // case 7 in 0: -2 -1 -2 -2 0 -2 0 -1 -2 -2 2 1 -2 -2 -2
  // case 7 in 1: -1 0 0 5
  // case 7 in 2: -2 2 2 -2 0 -1 0 -1 1 -2 1 2
  // case 7 out 0: -4 -2 -2 -2 0 -2 0 -1 -2 -2 2 1 -2 -2 -2
  func.func @main8(%a0: tensor<5x3xf32>, %a1: tensor<3x1xi32>, %a2: tensor<3x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %y : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<3x1xi32>, tensor<3x3xf32>) -> tensor<5x3xf32>
    return %r : tensor<5x3xf32>
  }
  // case 8 in 0: -1.90693462 0.486160278 -1.52618575 -1.29369807 -0.473270804 1.61982107 1.44542885 -0.447482288 0.63149333 0.696182907 0.545900285 -0.614801526 0.517648458 0.229459807 0.108155005
  // case 8 in 1: 2 0 7
  // case 8 in 2: -0.149405554 -0.456393421 0.864291072 0.744534612 -0.264765024 1.87174082 -1.711707 -1.28811514 1.07943881
  // case 8 out 0: 0.744534612 -0.264765024 1.87174082 -1.29369807 -0.473270804 1.61982107 -0.149405554 -0.456393421 0.864291072 0.696182907 0.545900285 -0.614801526 0.517648458 0.229459807 0.108155005
  func.func @main9(%a0: tensor<5x6xf32>, %a1: tensor<3x2xi32>, %a2: tensor<2x3x3xf32>) -> (tensor<5x6xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<5x6xf32>, tensor<3x2xi32>, tensor<2x3x3xf32>) -> tensor<5x6xf32>
    return %r : tensor<5x6xf32>
  }
  // case 9 in 0: 0.297169924 0.0741725788 1.27797008 1.67580903 0.351987511 0.296046168 0.81644994 -1.80511463 -1.16927612 0.555615723 -0.473050982 1.16189456 -0.310621649 -1.35128248 0.802828312 -0.700330257 -0.0376465507 1.60899663 0.48371774 1.29488277 -0.687324524 -0.841942012 0.528588235 1.96623707 -0.71179682 1.6308403 1.05021465 -1.28614891 -1.42979896 -1.908687
  // case 9 in 1: 1 1 4 3 2 4
  // case 9 in 2: 0.928452611 -1.31285596 0.22605972 -0.568205118 -0.430675954 0.406553328 -1.21044242 1.13494337 -0.906469107 1.28842783 -0.819913507 0.508922935 -0.354734629 0.786178231 -1.23124278 0.267799109 -0.2378885 -0.646798551
  // case 9 out 0: 0.297169924 0.0741725788 1.27797008 1.67580903 0.351987511 0.296046168 0.81644994 -0.876662016 -1.73748124 -0.654826701 -0.473050982 1.16189456 -0.310621649 -0.0628546476 0.448093683 -0.432531148 -0.0376465507 1.60899663 0.48371774 1.29488277 -0.687324524 -0.841942012 0.528588235 1.96623707 -0.71179682 1.6308403 1.05021465 -1.28614891 -1.42979896 -1.908687
  func.func @main10(%a0: tensor<3x4x2xf32>, %a1: tensor<2x3x1xi32>, %a2: tensor<2x3x2xf32>) -> (tensor<3x4x2xf32>) {
    %r = "stablehlo.scatter"(%a0, %a1, %a2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<3x4x2xf32>, tensor<2x3x1xi32>, tensor<2x3x2xf32>) -> tensor<3x4x2xf32>
    return %r : tensor<3x4x2xf32>
  }
  // case 10 in 0: 0.254358828 1.17077613 -0.386735708 -1.22733235 1.610039 1.16041112 1.68142974 -1.89756727 -0.0452063829 0.99179095 -0.385982275 1.76002061 1.69096243 0.553796828 -0.814894378 1.19992101 0.198109731 0.294072807 1.45018709 0.589522183 0.114423573 -1.29981625 0.504250646 -1.52061331
  // case 10 in 1: 0 3 1 0 7 1
  // case 10 in 2: 1.03001273 -1.24633098 -0.0638138652 0.493032902 1.98003042 1.02519596 -1.78045785 -1.64257765 -0.0907855481 0.0941458195 1.01190722 1.31595159
  // case 10 out 0: -0.49608624 -1.7181325 -0.386735708 -1.22733235 1.610039 1.16041112 1.68142974 -1.89756727 -0.0452063829 0.99179095 -0.385982275 1.76002061 1.69096243 0.553796828 -0.878708243 1.69295394 0.198109731 0.294072807 4.44212484 2.93066978 0.114423573 -1.29981625 0.504250646 -1.52061331
  func.func @main11(%a0: tensor<2x6xf32>, %a1: tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>) {
    %r:2 = "stablehlo.sort"(%a0, %a1) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
      %z = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %z : tensor<i1>
    }) : (tensor<2x6xf32>, tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
    return %r#0, %r#1 : tensor<2x6xf32>, tensor<2x6xi32>
  }
  // case 11 in 0: 3 1 2 1 5 1 0 0 -1 4 4 2
  // case 11 in 1: 0 1 2 3 4 5 6 7 8 9 10 11
  // case 11 out 0: 1 1 1 2 3 5 -1 0 0 2 4 4
  // case 11 out 1: 1 3 5 2 0 4 8 6 7 11 9 10
  func.func @main12(%a0: tensor<5x2xf32>, %a1: tensor<5x2xi32>) -> (tensor<5x2xf32>, tensor<5x2xi32>) {
    %r:2 = "stablehlo.sort"(%a0, %a1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
      %z = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %z : tensor<i1>
    }) : (tensor<5x2xf32>, tensor<5x2xi32>) -> (tensor<5x2xf32>, tensor<5x2xi32>)
    return %r#0, %r#1 : tensor<5x2xf32>, tensor<5x2xi32>
  }
  // case 12 in 0: -1.34934676 -0.430262417 1.97559226 1.16903079 -0.94517076 -0.0086821178 -0.855416715 -1.76792097 -0.921358466 0.135649711
  // case 12 in 1: -1 -2 -2 1 -2 -2 1 -2 -1 -2
  // case 12 out 0: -1.34934676 -1.76792097 -0.94517076 -0.430262417 -0.921358466 -0.0086821178 -0.855416715 0.135649711 1.97559226 1.16903079
  // case 12 out 1: -1 -2 -2 -2 -1 -2 1 -2 -2 1
  func.func @main13(%a0: tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
    %r:2 = chlo.top_k(%a0, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
    return %r#0, %r#1 : tensor<2x3xf32>, tensor<2x3xi32>
  }
  // case 13 in 0: 1 5 5 2 3 -1 -2 -3 0 -2
  // case 13 out 0: 5 5 3 0 -1 -2
  // case 13 out 1: 1 2 4 3 0 1
  func.func @main14(%a0: tensor<5xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
    %r:2 = chlo.top_k(%a0, k = 2) : tensor<5xi32> -> (tensor<2xi32>, tensor<2xi32>)
    return %r#0, %r#1 : tensor<2xi32>, tensor<2xi32>
  }
  // case 14 in 0: 1 -1 2 -1 1
  // case 14 out 0: 2 1
  // case 14 out 1: 2 0
}
