// Written by tests/verify/generate.py; expected values are XLA's on one CPU device.
module {
  func.func @main0(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.abs %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 0 in 0: 0.948139727 -1.40065897 1.33371556 0.360376686 0.611561418 -0.353664517 1.70047402 -0.403406799 -1.79145801 -0.174206302
  // case 0 out 0: 0.948139727 1.40065897 1.33371556 0.360376686 0.611561418 0.353664517 1.70047402 0.403406799 1.79145801 0.174206302
  func.func @main1(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.ceil %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 1 in 0: -0.521614313 -0.370808005 1.43455207 -1.15739524 1.0172925 -1.2940048 1.47847939 1.22618651 0.81180048 -1.97869098
  // case 1 out 0: -0 -0 2 -1 2 -1 2 2 1 -1
  func.func @main2(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.cosine %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 2 in 0: 1.15969336 1.8149159 0.652558923 1.53178191 0.644186199 0.959008217 1.44083917 1.03112578 -1.21573997 1.5377996
  // case 2 out 0: 0.399620652 -0.241702095 0.794532597 0.0390045196 0.79958874 0.574332178 0.129591659 0.513853371 0.347643226 0.0329907425
  func.func @main3(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.exponential %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 3 in 0: 1.0597558 -1.65541947 0.0941472203 0.548100531 1.91720533 -0.867013454 -1.24482596 -0.554636776 1.3918395 0.0206781793
  // case 3 out 0: 2.88566637 0.191011921 1.0987215 1.7299639 6.8019228 0.420204639 0.287991017 0.574280798 4.02224207 1.02089345
  func.func @main4(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.exponential_minus_one %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 4 in 0: 0.310210556 1.77870905 1.77469933 -0.424301714 -1.34477556 -1.74353147 -1.75581133 0.287196547 1.47575593 0.829255283
  // case 4 out 0: 0.363712221 4.92220592 4.89850712 -0.345773548 -0.739401817 -0.825098336 -0.827232957 0.332686126 3.37434101 1.29161143
  func.func @main5(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.floor %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 5 in 0: 0.576487064 1.95603299 1.5579983 1.08819807 -0.309148014 1.71338046 -0.834009647 0.303877592 -1.92019415 -1.39271855
  // case 5 out 0: 0 1 1 1 -1 1 -1 0 -2 -2
  func.func @main6(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.logistic %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 6 in 0: -0.414087594 1.34257352 -0.377251267 1.364133 -0.350732237 -0.97716248 0.508389354 -0.57516712 -0.88627243 1.68590617
  // case 6 out 0: 0.39793241 0.792912841 0.406790048 0.796430647 0.413204879 0.273455173 0.624428809 0.360045373 0.291879654 0.843684971
  func.func @main7(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.negate %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 7 in 0: -0.982907534 -0.705669761 1.30685103 -1.75566828 1.76414406 -0.137031734 -0.935004294 0.0673560053 1.81184423 -0.308110952
  // case 7 out 0: 0.982907534 0.705669761 -1.30685103 1.75566828 -1.76414406 0.137031734 0.935004294 -0.0673560053 -1.81184423 0.308110952
  func.func @main8(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.round_nearest_afz %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 8 in 0: -1.23305535 0.659456551 -0.495721936 0.464741766 -1.93311954 -1.89959574 -0.00359685067 -0.637902141 -1.54722023 -1.06983924
  // case 8 out 0: -1 1 -0 0 -2 -2 -0 -1 -2 -1
  func.func @main9(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.round_nearest_even %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 9 in 0: 0.200926572 0.743696451 1.15094793 -0.02275493 1.48177791 -1.81543362 -0.661188304 1.03199565 -0.168142036 1.33307123
  // case 9 out 0: 0 1 1 -0 1 -2 -1 1 -0 1
  func.func @main10(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.sign %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 10 in 0: -0.252712697 0.863653004 1.2252878 -0.219269797 0.0640974268 1.1088357 0.893176079 -1.9298259 1.32867527 1.70157349
  // case 10 out 0: -1 1 1 -1 1 1 1 -1 1 1
  func.func @main11(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.sine %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 11 in 0: 1.07422078 -0.317155629 1.67942691 0.97254926 -1.97026932 -0.890908301 0.494331747 -0.523553073 -1.21576071 1.98970008
  // case 11 out 0: 0.879219174 -0.31186533 0.994105518 0.826324105 -0.921266079 -0.777643144 0.474443495 -0.499960423 -0.93763411 0.913535416
  func.func @main12(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.tan %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 12 in 0: 0.351286918 -0.459990054 -0.646847844 -0.606049359 1.24373603 1.7746532 0.989747822 -1.77930593 -1.87012923 -1.4208498
  // case 12 out 0: 0.366487563 -0.49543637 -0.755242467 -0.693054557 2.94773459 -4.8372612 1.52283943 4.72623634 3.24038339 -6.61898708
  func.func @main13(%a0: tensor<2x5xf32>) -> (tensor<2x5xf32>) {
    %r = stablehlo.tanh %a0 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    return %r : tensor<2x5xf32>
  }
  // case 13 in 0: -0.440964311 1.7039001 -1.94801295 -1.79150403 -0.850033045 -0.0875485763 -0.396473438 -0.651127696 0.861682355 1.64328599
  // case 13 out 0: -0.414443433 0.935894787 -0.960164547 -0.945919037 -0.691086769 -0.087325573 -0.376927465 -0.572428644 0.697123468 0.927930593
  func.func @main14(%a0: tensor<8xf32>) -> (tensor<8xf32>) {
    %r = stablehlo.sign %a0 : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  // case 14 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 14 out 0: 0 -0 1 -1 1 -1 nan 1
  func.func @main15(%a0: tensor<8xf32>) -> (tensor<8xf32>) {
    %r = stablehlo.abs %a0 : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  }
  // case 15 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 15 out 0: 0 0 1 1 inf inf nan 0.300000012
  func.func @main16(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
    %r = stablehlo.log %a0 : (tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  // case 16 in 0: 2.37980223 6.27434731 5.44485235 4.84314013 4.2844696 3.67959666 3.72290492
  // case 16 out 0: 0.867017388 1.83646941 1.69467068 1.57756329 1.45499682 1.30280316 1.31450427
  func.func @main17(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
    %r = stablehlo.log_plus_one %a0 : (tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  // case 17 in 0: 3.88599157 0.458036929 3.53810453 0.723391771 5.25137424 8.88359356 1.4801718
  // case 17 out 0: 1.58637226 0.377090931 1.51250947 0.544294298 1.83280134 2.29087615 0.908327818
  func.func @main18(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
    %r = stablehlo.rsqrt %a0 : (tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  // case 18 in 0: 3.48096871 5.69796276 6.81973505 0.300339967 4.69894695 0.477980882 3.42321873
  // case 18 out 0: 0.535981655 0.418928772 0.382927239 1.82470822 0.461317271 1.44642103 0.540483773
  func.func @main19(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
    %r = stablehlo.sqrt %a0 : (tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  // case 19 in 0: 1.92388272 7.68654346 4.89668417 1.88131952 5.64292622 5.33270311 5.97506046
  // case 19 out 0: 1.38704097 2.77246165 2.21284533 1.37161207 2.37548447 2.30926466 2.44439363
  func.func @main20(%a0: tensor<7xf32>) -> (tensor<7xf32>) {
    %r = stablehlo.cbrt %a0 : (tensor<7xf32>) -> tensor<7xf32>
    return %r : tensor<7xf32>
  }
  // case 20 in 0: 2.49561 2.59282184 3.45642591 2.71141171 7.61045837 6.34285498 2.05366349
  // case 20 out 0: 1.35641384 1.37380219 1.5119673 1.39443576 1.96699655 1.85109305 1.27109039
  func.func @main21(%a0: tensor<8xf32>) -> (tensor<8xi1>) {
    %r = stablehlo.is_finite %a0 : (tensor<8xf32>) -> tensor<8xi1>
    return %r : tensor<8xi1>
  }
  // case 21 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 21 out 0: 1 1 1 1 0 0 0 1
  func.func @main22(%a0: tensor<3xf64>) -> (tensor<3xf64>) {
    %r = stablehlo.tanh %a0 : (tensor<3xf64>) -> tensor<3xf64>
    return %r : tensor<3xf64>
  }
  // case 22 in 0: -1.5985583012398408 -0.89902357119029164 0.50553572243916145
  // case 22 out 0: -0.92145125111269588 -0.71582209744879099 0.46645956073666583
  func.func @main23(%a0: tensor<4xbf16>) -> (tensor<4xbf16>) {
    %r = stablehlo.exponential %a0 : (tensor<4xbf16>) -> tensor<4xbf16>
    return %r : tensor<4xbf16>
  }
  // case 23 in 0: 0.609375 0.466796875 -1.359375 1.7109375
  // case 23 out 0: 1.8359375 1.59375 0.255859375 5.53125
  func.func @main24(%a0: tensor<4xf16>) -> (tensor<4xf16>) {
    %r = stablehlo.exponential %a0 : (tensor<4xf16>) -> tensor<4xf16>
    return %r : tensor<4xf16>
  }
  // case 24 in 0: 1.21191406 -1.74511719 1.74707031 -0.498291016
  // case 24 out 0: 3.359375 0.174682617 5.73828125 0.607421875
  func.func @main25(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.abs %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 25 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 25 out 0: 0 1 1 2147483647 -2147483648 77
  func.func @main26(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.negate %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 26 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 26 out 0: 0 -1 1 -2147483647 -2147483648 -77
  func.func @main27(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.sign %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 27 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 27 out 0: 0 1 -1 1 -1 1
  func.func @main28(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.not %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 28 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 28 out 0: -1 -2 0 -2147483648 2147483647 -78
  func.func @main29(%a0: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.not %a0 : (tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 29 in 0: 0 1 255 128
  // case 29 out 0: 255 254 0 127
  func.func @main30(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.popcnt %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 30 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 30 out 0: 0 1 32 31 1 4
  func.func @main31(%a0: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.popcnt %a0 : (tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 31 in 0: 0 1 255 128
  // case 31 out 0: 0 1 8 1
  func.func @main32(%a0: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.count_leading_zeros %a0 : (tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 32 in 0: 0 1 -1 2147483647 -2147483648 77
  // case 32 out 0: 32 31 0 1 0 25
  func.func @main33(%a0: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.count_leading_zeros %a0 : (tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 33 in 0: 0 1 255 128
  // case 33 out 0: 8 7 0 0
  func.func @main34(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.add %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 34 in 0: 0.306173682 1.09144366 2.72954321 4.36477184 2.25241327 0.74587214 2.73423815 3.28784275
  // case 34 in 1: 3.61100936 1.33170104 3.87793255 4.43798923 0.671201706 1.49047911 4.71469498 2.76089191
  // case 34 out 0: 3.91718292 2.42314482 6.60747576 8.80276108 2.92361498 2.23635125 7.44893312 6.04873466
  func.func @main35(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.subtract %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 35 in 0: 1.96359313 0.574311316 1.02046013 2.21691775 4.57274103 0.529008448 3.46897316 0.393531799
  // case 35 in 1: 2.38762045 4.2149806 3.95409751 4.41272974 3.65048981 1.57967436 3.46991754 4.04782295
  // case 35 out 0: -0.424027324 -3.64066935 -2.93363738 -2.19581199 0.922251225 -1.05066586 -0.000944375992 -3.65429115
  func.func @main36(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 36 in 0: 1.2577517 4.11124945 1.82352424 3.96206808 1.01198363 3.87414122 3.74747777 1.21108472
  // case 36 in 1: 2.97134042 0.636739254 4.88381386 3.47689986 3.85667467 1.40762186 3.85247231 3.56557226
  // case 36 out 0: 3.73720837 2.6177938 8.90575314 13.7757139 3.90289164 5.45332575 14.4370546 4.31821012
  func.func @main37(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.divide %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 37 in 0: 4.12681198 4.79954386 0.255212396 0.915688872 4.32419538 2.85511279 1.68797886 0.767962098
  // case 37 in 1: 2.25673866 4.66013193 2.01402569 2.13080692 3.99906707 4.98085594 0.949465692 1.37163663
  // case 37 out 0: 1.82866192 1.02991593 0.126717553 0.429738075 1.08130109 0.573217273 1.77781975 0.559887409
  func.func @main38(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.maximum %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 38 in 0: 4.67618895 2.46426058 1.9134798 2.34719682 4.42141914 0.887044907 3.70518494 2.80446434
  // case 38 in 1: 3.60226941 4.76457739 0.555166364 3.88281083 0.843982756 1.33391547 2.10953069 4.14554596
  // case 38 out 0: 4.67618895 4.76457739 1.9134798 3.88281083 4.42141914 1.33391547 3.70518494 4.14554596
  func.func @main39(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.minimum %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 39 in 0: 2.047364 3.52182412 1.94656575 1.08460665 4.87679386 4.62075138 4.48883629 1.02591097
  // case 39 in 1: 3.68080187 4.63924646 0.976306021 4.62901926 0.913779676 1.63751578 0.61400485 0.551222026
  // case 39 out 0: 2.047364 3.52182412 0.976306021 1.08460665 0.913779676 1.63751578 0.61400485 0.551222026
  func.func @main40(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.power %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 40 in 0: 3.00904775 3.8345058 0.873292208 4.69528008 0.384870738 1.95661855 2.48091507 4.41353893
  // case 40 in 1: 2.77103496 3.85847235 0.526455343 3.66584921 1.90769482 4.53013039 4.923913 3.4346745
  // case 40 out 0: 21.171114 178.741989 0.931157529 289.874359 0.161773503 20.9199638 87.707077 163.920532
  func.func @main41(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.remainder %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 41 in 0: 0.433581978 4.52395296 4.8122015 4.88973236 2.55671072 3.0277524 4.07230473 4.56478691
  // case 41 in 1: 2.87938881 3.41398454 4.79336119 3.80581117 2.20054221 4.78099489 2.08483243 4.50885439
  // case 41 out 0: 0.433581978 1.10996842 0.018840313 1.08392119 0.356168509 3.0277524 1.9874723 0.0559325218
  func.func @main42(%a0: tensor<2x4xf32>, %a1: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = stablehlo.atan2 %a0, %a1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    return %r : tensor<2x4xf32>
  }
  // case 42 in 0: 1.43308127 4.94985962 1.15872908 2.57265782 4.64717197 0.677924633 1.61683095 4.12649536
  // case 42 in 1: 1.45509541 0.404843122 3.19930744 2.7008121 4.17655945 4.88203287 2.63385606 3.05395198
  // case 42 out 0: 0.777776122 1.48918915 0.347485185 0.761101246 0.838682532 0.137978792 0.550551713 0.933671951
  func.func @main43(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = stablehlo.maximum %a0, %a1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 43 in 0: nan 1 -inf -7.5 3
  // case 43 in 1: 1 nan inf 2 -2
  // case 43 out 0: nan nan inf 2 3
  func.func @main44(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = stablehlo.minimum %a0, %a1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 44 in 0: nan 1 -inf -7.5 3
  // case 44 in 1: 1 nan inf 2 -2
  // case 44 out 0: nan nan -inf -7.5 -2
  func.func @main45(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = stablehlo.add %a0, %a1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 45 in 0: nan 1 -inf -7.5 3
  // case 45 in 1: 1 nan inf 2 -2
  // case 45 out 0: nan nan nan -5.5 1
  func.func @main46(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = stablehlo.remainder %a0, %a1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 46 in 0: nan 1 -inf -7.5 3
  // case 46 in 1: 1 nan inf 2 -2
  // case 46 out 0: nan nan nan -1.5 1
  func.func @main47(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.add %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 47 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 47 in 1: 2 2 2 3 -3 -4
  // case 47 out 0: 9 -5 -2147483647 -2147483645 2 -13
  func.func @main48(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.subtract %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 48 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 48 in 1: 2 2 2 3 -3 -4
  // case 48 out 0: 5 -9 2147483645 2147483645 8 -5
  func.func @main49(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 49 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 49 in 1: 2 2 2 3 -3 -4
  // case 49 out 0: 14 -14 -2 -2147483648 -15 36
  func.func @main50(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.maximum %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 50 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 50 in 1: 2 2 2 3 -3 -4
  // case 50 out 0: 7 2 2147483647 3 5 -4
  func.func @main51(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.minimum %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 51 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 51 in 1: 2 2 2 3 -3 -4
  // case 51 out 0: 2 -7 2 -2147483648 -3 -9
  func.func @main52(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.and %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 52 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 52 in 1: 2 2 2 3 -3 -4
  // case 52 out 0: 2 0 2 0 5 -12
  func.func @main53(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.or %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 53 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 53 in 1: 2 2 2 3 -3 -4
  // case 53 out 0: 7 -5 2147483647 -2147483645 -3 -1
  func.func @main54(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.xor %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 54 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 54 in 1: 2 2 2 3 -3 -4
  // case 54 out 0: 5 -5 2147483645 -2147483645 -8 11
  func.func @main55(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.divide %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 55 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 55 in 1: 2 2 2 3 -3 -4
  // case 55 out 0: 3 -3 1073741823 -715827882 -1 2
  func.func @main56(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.remainder %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 56 in 0: 7 -7 2147483647 -2147483648 5 -9
  // case 56 in 1: 2 2 2 3 -3 -4
  // case 56 out 0: 1 -1 1 -2 2 -1
  func.func @main57(%a0: tensor<4xui8>, %a1: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.add %a0, %a1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 57 in 0: 250 3 200 17
  // case 57 in 1: 10 200 7 18
  // case 57 out 0: 4 203 207 35
  func.func @main58(%a0: tensor<4xui8>, %a1: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 58 in 0: 250 3 200 17
  // case 58 in 1: 10 200 7 18
  // case 58 out 0: 196 88 120 50
  func.func @main59(%a0: tensor<4xui8>, %a1: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.maximum %a0, %a1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 59 in 0: 250 3 200 17
  // case 59 in 1: 10 200 7 18
  // case 59 out 0: 250 200 200 18
  func.func @main60(%a0: tensor<4xui8>, %a1: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.divide %a0, %a1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 60 in 0: 250 3 200 17
  // case 60 in 1: 10 200 7 18
  // case 60 out 0: 25 0 28 0
  func.func @main61(%a0: tensor<4xui8>, %a1: tensor<4xui8>) -> (tensor<4xui8>) {
    %r = stablehlo.subtract %a0, %a1 : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    return %r : tensor<4xui8>
  }
  // case 61 in 0: 250 3 200 17
  // case 61 in 1: 10 200 7 18
  // case 61 out 0: 240 59 193 255
  func.func @main62(%a0: tensor<5xi32>, %a1: tensor<5xi32>) -> (tensor<5xi32>) {
    %r = stablehlo.power %a0, %a1 : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    return %r : tensor<5xi32>
  }
  // case 62 in 0: 2 -3 5 1 -1
  // case 62 in 1: 10 3 0 7 5
  // case 62 out 0: 1024 -27 1 1 -1
  func.func @main63(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.shift_left %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 63 in 0: 1 -8 2147483647 -2147483648 5 -1
  // case 63 in 1: 3 1 31 4 32 40
  // case 63 out 0: 8 -16 -2147483648 0 0 0
  func.func @main64(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.shift_right_arithmetic %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 64 in 0: 1 -8 2147483647 -2147483648 5 -1
  // case 64 in 1: 3 1 31 4 32 40
  // case 64 out 0: 0 -4 0 -134217728 0 -1
  func.func @main65(%a0: tensor<6xi32>, %a1: tensor<6xi32>) -> (tensor<6xi32>) {
    %r = stablehlo.shift_right_logical %a0, %a1 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 65 in 0: 1 -8 2147483647 -2147483648 5 -1
  // case 65 in 1: 3 1 31 4 32 40
  // case 65 out 0: 0 2147483644 0 134217728 0 0
  func.func @main66(%a0: tensor<4xi1>, %a1: tensor<4xi1>) -> (tensor<4xi1>) {
    %r = stablehlo.and %a0, %a1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 66 in 0: 0 0 1 1
  // case 66 in 1: 0 1 0 1
  // case 66 out 0: 0 0 0 1
  func.func @main67(%a0: tensor<4xi1>, %a1: tensor<4xi1>) -> (tensor<4xi1>) {
    %r = stablehlo.or %a0, %a1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 67 in 0: 0 0 1 1
  // case 67 in 1: 0 1 0 1
  // case 67 out 0: 0 1 1 1
  func.func @main68(%a0: tensor<4xi1>, %a1: tensor<4xi1>) -> (tensor<4xi1>) {
    %r = stablehlo.xor %a0, %a1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 68 in 0: 0 0 1 1
  // case 68 in 1: 0 1 0 1
  // case 68 out 0: 0 1 1 0
  func.func @main69(%a0: tensor<4xi1>, %a1: tensor<4xi1>) -> (tensor<4xi1>) {
    %r = stablehlo.add %a0, %a1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 69 in 0: 0 0 1 1
  // case 69 in 1: 0 1 0 1
  // case 69 out 0: 0 1 1 1
  func.func @main70(%a0: tensor<4xi1>, %a1: tensor<4xi1>) -> (tensor<4xi1>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 70 in 0: 0 0 1 1
  // case 70 in 1: 0 1 0 1
  // case 70 out 0: 0 0 0 1
  func.func @main71(%a0: tensor<8xbf16>, %a1: tensor<8xbf16>) -> (tensor<8xbf16>) {
    %r = stablehlo.add %a0, %a1 : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
    return %r : tensor<8xbf16>
  }
  // case 71 in 0: 76 -24.875 -45.25 76.5 -33.25 46.5 -73 -26
  // case 71 in 1: 100 -41.75 -43.75 6.125 59.25 -76.5 87.5 6.03125
  // case 71 out 0: 176 -66.5 -89 82.5 26 -30 14.5 -20
  func.func @main72(%a0: tensor<8xf16>, %a1: tensor<8xf16>) -> (tensor<8xf16>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
    return %r : tensor<8xf16>
  }
  // case 72 in 0: 285.5 -153.75 -107.0625 207.75 268.5 100.8125 -267.5 -298.5
  // case 72 in 1: -271.25 -250.5 75.625 -252.625 128.5 0.959960938 -58.6875 204.5
  // case 72 out 0: -inf 38528 -8096 -52480 34496 96.75 15696 -61056
  func.func @main73(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare EQ, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 73 in 0: 1 2 nan 0 4
  // case 73 in 1: 1 3 nan -0 2
  // case 73 out 0: 1 0 0 1 0
  func.func @main74(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare EQ, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 74 in 0: 1 9223372036854775809 5 6
  // case 74 in 1: 2 3 5 18446744073709551615
  // case 74 out 0: 0 0 1 0
  func.func @main75(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare NE, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 75 in 0: 1 2 nan 0 4
  // case 75 in 1: 1 3 nan -0 2
  // case 75 out 0: 0 1 1 0 1
  func.func @main76(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare NE, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 76 in 0: 1 9223372036854775809 5 6
  // case 76 in 1: 2 3 5 18446744073709551615
  // case 76 out 0: 1 1 0 1
  func.func @main77(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare GE, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 77 in 0: 1 2 nan 0 4
  // case 77 in 1: 1 3 nan -0 2
  // case 77 out 0: 1 0 0 1 1
  func.func @main78(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare GE, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 78 in 0: 1 9223372036854775809 5 6
  // case 78 in 1: 2 3 5 18446744073709551615
  // case 78 out 0: 0 1 1 0
  func.func @main79(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare GT, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 79 in 0: 1 2 nan 0 4
  // case 79 in 1: 1 3 nan -0 2
  // case 79 out 0: 0 0 0 0 1
  func.func @main80(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare GT, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 80 in 0: 1 9223372036854775809 5 6
  // case 80 in 1: 2 3 5 18446744073709551615
  // case 80 out 0: 0 1 0 0
  func.func @main81(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare LE, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 81 in 0: 1 2 nan 0 4
  // case 81 in 1: 1 3 nan -0 2
  // case 81 out 0: 1 1 0 1 0
  func.func @main82(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare LE, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 82 in 0: 1 9223372036854775809 5 6
  // case 82 in 1: 2 3 5 18446744073709551615
  // case 82 out 0: 1 0 1 1
  func.func @main83(%a0: tensor<5xf32>, %a1: tensor<5xf32>) -> (tensor<5xi1>) {
    %r = stablehlo.compare LT, %a0, %a1, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %r : tensor<5xi1>
  }
  // case 83 in 0: 1 2 nan 0 4
  // case 83 in 1: 1 3 nan -0 2
  // case 83 out 0: 0 1 0 0 0
  func.func @main84(%a0: tensor<4xui64>, %a1: tensor<4xui64>) -> (tensor<4xi1>) {
    %r = stablehlo.compare LT, %a0, %a1, UNSIGNED : (tensor<4xui64>, tensor<4xui64>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 84 in 0: 1 9223372036854775809 5 6
  // case 84 in 1: 2 3 5 18446744073709551615
  // case 84 out 0: 1 0 0 1
  func.func @main85(%a0: tensor<4xf32>, %a1: tensor<4xf32>) -> (tensor<4xi1>) {
    %r = stablehlo.compare LT, %a0, %a1, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  }
  // case 85 in 0: -0 nan 1 -inf
  // case 85 in 1: 0 1 nan inf
  // case 85 out 0: 1 0 1 1
  func.func @main86(%a0: tensor<4xi1>, %a1: tensor<4xf32>, %a2: tensor<4xf32>) -> (tensor<4xf32>) {
    %r = stablehlo.select %a0, %a1, %a2 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  // case 86 in 0: 0 1 1 1
  // case 86 in 1: 1.87013304 1.51982749 1.66818333 -1.51952505
  // case 86 in 2: -1.60819316 -0.618264675 0.510582089 1.94175684
  // case 86 out 0: -1.60819316 1.51982749 1.66818333 -1.51952505
  func.func @main87(%a0: tensor<i1>, %a1: tensor<4xf32>, %a2: tensor<4xf32>) -> (tensor<4xf32>) {
    %r = stablehlo.select %a0, %a1, %a2 : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  // case 87 in 0: 1
  // case 87 in 1: 1.28467035 0.556599557 -0.536368728 -1.16517532
  // case 87 in 2: 1.59260547 -1.19390631 -0.15111801 -1.62249851
  // case 87 out 0: 1.28467035 0.556599557 -0.536368728 -1.16517532
  func.func @main88(%a0: tensor<f32>, %a1: tensor<5xf32>, %a2: tensor<f32>) -> (tensor<5xf32>) {
    %r = stablehlo.clamp %a0, %a1, %a2 : (tensor<f32>, tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 88 in 0: -0.5
  // case 88 in 1: -2 -0.200000003 0 3 nan
  // case 88 in 2: 0.5
  // case 88 out 0: -0.5 -0.200000003 0 0.5 nan
  func.func @main89(%a0: tensor<3xi32>, %a1: tensor<3xi32>, %a2: tensor<3xi32>) -> (tensor<3xi32>) {
    %r = stablehlo.clamp %a0, %a1, %a2 : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
    return %r : tensor<3xi32>
  }
  // case 89 in 0: 0 0 0
  // case 89 in 1: -4 2 9
  // case 89 in 2: 5 5 5
  // case 89 out 0: 0 2 5
  func.func @main90(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = stablehlo.reduce_precision %a0, format = e5m2 : (tensor<6xf32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 90 in 0: 1.10000002 300000 9.99999997e-07 -7.30000019 inf 60000
  // case 90 out 0: 1 inf 0 -7 inf 57344
  func.func @main91(%a0: tensor<6xf32>) -> (tensor<6xi32>) {
    %r = stablehlo.convert %a0 : (tensor<6xf32>) -> tensor<6xi32>
    return %r : tensor<6xi32>
  }
  // case 91 in 0: 1.89999998 -1.89999998 3e+09 -3e+09 nan 0.5
  // case 91 out 0: 1 -1 2147483647 -2147483648 0 0
  func.func @main92(%a0: tensor<6xf32>) -> (tensor<6xui8>) {
    %r = stablehlo.convert %a0 : (tensor<6xf32>) -> tensor<6xui8>
    return %r : tensor<6xui8>
  }
  // case 92 in 0: 1.89999998 -1.89999998 300 255 nan 0.5
  // case 92 out 0: 1 0 255 255 0 0
  func.func @main93(%a0: tensor<6xf32>) -> (tensor<6xi1>) {
    %r = stablehlo.convert %a0 : (tensor<6xf32>) -> tensor<6xi1>
    return %r : tensor<6xi1>
  }
  // case 93 in 0: 0 1 -1 nan 0.5 -0
  // case 93 out 0: 0 1 1 1 1 0
  func.func @main94(%a0: tensor<6xi32>) -> (tensor<6xf32>) {
    %r = stablehlo.convert %a0 : (tensor<6xi32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 94 in 0: 1 -1 2147483647 5 0 7
  // case 94 out 0: 1 -1 2.14748365e+09 5 0 7
  func.func @main95(%a0: tensor<6xi32>) -> (tensor<6xi8>) {
    %r = stablehlo.convert %a0 : (tensor<6xi32>) -> tensor<6xi8>
    return %r : tensor<6xi8>
  }
  // case 95 in 0: 127 128 255 256 -129 5
  // case 95 out 0: 127 -128 -1 0 127 5
  func.func @main96(%a0: tensor<6xi1>) -> (tensor<6xf32>) {
    %r = stablehlo.convert %a0 : (tensor<6xi1>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 96 in 0: 0 1 1 0 1 0
  // case 96 out 0: 0 1 1 0 1 0
  func.func @main97(%a0: tensor<6xf32>) -> (tensor<6xbf16>) {
    %r = stablehlo.convert %a0 : (tensor<6xf32>) -> tensor<6xbf16>
    return %r : tensor<6xbf16>
  }
  // case 97 in 0: 1.00390625 1.01171875 3.29999997e+38 9.9999461e-41 -2.70000005 3
  // case 97 out 0: 1 1.015625 3.29648543e+38 9.18354962e-41 -2.703125 3
  func.func @main98(%a0: tensor<6xf64>) -> (tensor<6xf32>) {
    %r = stablehlo.convert %a0 : (tensor<6xf64>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 98 in 0: 1.0000000000000001e+300 0.10000000000000001 1 2 3 4
  // case 98 out 0: inf 0.100000001 1 2 3 4
  func.func @main99(%a0: tensor<6xf32>) -> (tensor<6xf16>) {
    %r = stablehlo.convert %a0 : (tensor<6xf32>) -> tensor<6xf16>
    return %r : tensor<6xf16>
  }
  // case 99 in 0: 65519 65520 5.99999979e-08 9.99999972e-10 2049 0.100000001
  // case 99 out 0: 65504 inf 5.96046448e-08 0 2048 0.0999755859
  func.func @main100(%a0: tensor<6xbf16>) -> (tensor<6xf32>) {
    %r = stablehlo.convert %a0 : (tensor<6xbf16>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 100 in 0: 1 2 3 4.5 5 6
  // case 100 out 0: 1 2 3 4.5 5 6
  func.func @main101(%a0: tensor<6xui32>) -> (tensor<6xf32>) {
    %r = stablehlo.convert %a0 : (tensor<6xui32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 101 in 0: 4294967295 0 1 2 3 4
  // case 101 out 0: 4.2949673e+09 0 1 2 3 4
  func.func @main102(%a0: tensor<6xi32>) -> (tensor<6xui32>) {
    %r = stablehlo.convert %a0 : (tensor<6xi32>) -> tensor<6xui32>
    return %r : tensor<6xui32>
  }
  // case 102 in 0: -1 1 2 3 4 5
  // case 102 out 0: 4294967295 1 2 3 4 5
  func.func @main103(%a0: tensor<3xcomplex<f32>>, %a1: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.add %a0, %a1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 103 in 0: -1.57673562 0.0466780625 1.31410837 -1.92911577 1.90823185 -0.87442255
  // case 103 in 1: -0.6543414 -1.63272429 -0.0180642344 0.481444091 -0.316542804 -0.277826369
  // case 103 out 0: -2.23107696 -1.58604622 1.29604411 -1.44767165 1.59168911 -1.15224886
  func.func @main104(%a0: tensor<3xcomplex<f32>>, %a1: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.subtract %a0, %a1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 104 in 0: -0.0692901686 -0.255084902 0.134013131 -1.08263445 1.93838584 1.58354664
  // case 104 in 1: -1.41101062 -0.324796945 1.4549551 -0.975385129 -0.376335591 1.52917802
  // case 104 out 0: 1.34172046 0.0697120428 -1.32094193 -0.10724932 2.31472135 0.0543686152
  func.func @main105(%a0: tensor<3xcomplex<f32>>, %a1: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.multiply %a0, %a1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 105 in 0: -0.343578339 0.448087215 -1.25298214 1.28166306 0.344468474 1.7915225
  // case 105 in 1: -0.499670297 0.618286848 0.578699887 -1.21471643 0.582411885 1.65138543
  // case 105 out 0: -0.105370551 -0.436325848 0.831756592 2.26371622 -2.75787163 1.61225426
  func.func @main106(%a0: tensor<3xcomplex<f32>>, %a1: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.divide %a0, %a1 : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 106 in 0: 0.22508505 1.16501737 0.97743845 -1.21833849 1.77493358 -0.296540618
  // case 106 in 1: 0.215131223 -0.589629412 -0.0196871292 -1.87914419 0.34668082 0.974393904
  // case 106 out 0: -1.62080216 0.973103046 0.642827511 0.526885509 0.305140764 -1.71301055
  func.func @main107(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.exponential %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 107 in 0: 0.95077908 -1.01915872 0.591748893 0.621470451 0.365816742 -0.233374342
  // case 107 out 0: 1.35618162 -2.20388103 1.46925175 1.05217707 1.40260911 -0.333407909
  func.func @main108(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.log %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 108 in 0: -1.09367001 1.36046922 -0.0900905132 0.560712814 0.875208855 1.36216426
  // case 108 out 0: 0.557077169 2.24790573 -0.565802574 1.73010612 0.481869936 0.999702096
  func.func @main109(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.sqrt %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 109 in 0: 0.719406426 -1.33120346 0.225779489 -1.73326755 -1.52376628 1.67928112
  // case 109 out 0: 1.05654263 -0.629980922 0.993400872 -0.872390807 0.609835327 1.37683165
  func.func @main110(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.tanh %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 110 in 0: -1.40544832 0.720907807 0.942682207 -1.65721238 0.638396621 -0.105401017
  // case 110 out 0: -0.977715552 0.117067739 1.34937978 0.0721011311 0.568095922 -0.0719079375
  func.func @main111(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.cosine %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 111 in 0: 1.44266403 -1.99016452 1.65113783 1.07446146 0.743344545 -1.30762243
  // case 111 out 0: 0.476205736 3.56060195 -0.13121295 -1.2892946 1.46057832 1.15958762
  func.func @main112(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.negate %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 112 in 0: -1.12508905 -1.35646653 0.965292156 -0.744181216 0.596747994 -0.00511186011
  // case 112 out 0: 1.12508905 1.35646653 -0.965292156 0.744181216 -0.596747994 0.00511186011
  func.func @main113(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xf32>) {
    %r = stablehlo.abs %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
  // case 113 in 0: -0.0401694253 -0.0692771897 0.40921551 0.722512603 -1.53355694 1.56423998
  // case 113 out 0: 0.0800806582 0.830350399 2.19058084
  func.func @main114(%a0: tensor<3xcomplex<f64>>) -> (tensor<3xf64>) {
    %r = stablehlo.real %a0 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
    return %r : tensor<3xf64>
  }
  // case 114 in 0: 1.6561210512994546 -0.65080067955916299 -1.5788545482860976 0.26975834026662415 -0.22269572475154442 -1.9248726724548573
  // case 114 out 0: 1.6561210512994546 -1.5788545482860976 -0.22269572475154442
  func.func @main115(%a0: tensor<3xcomplex<f32>>) -> (tensor<3xf32>) {
    %r = stablehlo.imag %a0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
  // case 115 in 0: -1.99550021 -0.853601635 -0.0394818932 -1.56209314 -0.460930318 1.68520522
  // case 115 out 0: -0.853601635 -1.56209314 1.68520522
  func.func @main116(%a0: tensor<3xf32>, %a1: tensor<3xf32>) -> (tensor<3xcomplex<f32>>) {
    %r = stablehlo.complex %a0, %a1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
    return %r : tensor<3xcomplex<f32>>
  }
  // case 116 in 0: -0.850818157 1.82500219 1.53175318
  // case 116 in 1: -0.428758323 1.61603534 1.83769751
  // case 116 out 0: -0.850818157 -0.428758323 1.82500219 1.61603534 1.53175318 1.83769751
  func.func @main117(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.acos %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 117 in 0: -0.496650845 0.791191995 -0.260463953 -0.619067073 -0.174768865 0.871725738
  // case 117 out 0: 2.09053206 0.658040702 1.83429897 2.23835063 1.74646735 0.512082994
  func.func @main118(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.asin %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 118 in 0: -0.219120204 0.833750248 0.204685032 -0.946164429 0.819253027 -0.745702624
  // case 118 out 0: -0.220912665 0.985865414 0.206141904 -1.24117339 0.960107148 -0.841588795
  func.func @main119(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.atanh %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 119 in 0: -0.631424308 -0.240854204 0.615041196 0.425868273 0.817495644 0.863474429
  // case 119 out 0: -0.743781328 -0.24568072 0.716989756 0.454838693 1.14922035 1.30684304
  func.func @main120(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.erf %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 120 in 0: -0.849442661 -0.341556937 -0.25304094 -0.722996473 -0.309766948 0.791602194
  // case 120 out 0: -0.770362556 -0.370928764 -0.279547364 -0.693442166 -0.33866927 0.737070739
  func.func @main121(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.erfc %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 121 in 0: 0.455702126 -0.201506555 0.851623297 -0.0612316392 -0.283163339 -0.107461028
  // case 121 out 0: 0.519277155 1.22433543 0.228443846 1.0690062 1.31117737 1.12079167
  func.func @main122(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.erf_inv %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 122 in 0: 0.678384066 -0.383182436 -0.455684513 -0.777004123 -0.858950675 -0.669812381
  // case 122 out 0: 0.700843573 -0.353812069 -0.428718954 -0.861680686 -1.04078686 -0.688535273
  func.func @main123(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.asinh %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 123 in 0: 0.515022695 1.60206091 -0.859502852 1.06741321 -0.510489583 -0.337231189
  // case 123 out 0: 0.494607985 1.2500751 -0.778461099 0.928247869 -0.490574241 -0.331145823
  func.func @main124(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.atan %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 124 in 0: -0.944517434 -1.85928559 0.19159019 -0.174175709 -1.88693392 -1.48509908
  // case 124 out 0: -0.756873071 -1.07733619 0.18929629 -0.172445759 -1.08346879 -0.97817719
  func.func @main125(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.cosh %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 125 in 0: -1.82065439 1.68952775 0.506875813 0.206426919 -0.0804397985 0.376910329
  // case 125 out 0: 3.16890907 2.80076432 1.1312356 1.02138186 1.00323701 1.07187557
  func.func @main126(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.sinh %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 126 in 0: 1.94678402 -1.57267272 1.56587732 -1.73539412 0.180231035 0.514417708
  // case 126 out 0: 3.43169379 -2.3060112 2.28898406 -2.74741602 0.181208357 0.537407756
  func.func @main127(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.square %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 127 in 0: -1.03203428 1.60869253 -1.81490576 -1.77748775 1.07219541 1.98589981
  // case 127 out 0: 1.06509471 2.58789158 3.29388285 3.15946269 1.14960301 3.94379807
  func.func @main128(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.tan %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 128 in 0: 1.57417107 0.117278531 -0.19471474 -0.995135903 -0.0475080349 -1.03719425
  // case 128 out 0: -296.318054 0.117819197 -0.197213441 -1.54087079 -0.0475438088 -1.69271779
  func.func @main129(%a0: tensor<6xf32>) -> (tensor<6xf32>) {
    %r = chlo.erf %a0 : tensor<6xf32> -> tensor<6xf32>
    return %r : tensor<6xf32>
  }
  // case 129 in 0: -0.585929573 -1.77325034 -0.0891814977 0.964930117 -1.96547067 1.71618187
  // case 129 out 0: -0.592685938 -0.987849951 -0.100364394 0.827626646 -0.994557321 0.984777689
  func.func @main130(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = chlo.acosh %a0 : tensor<5xf32> -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 130 in 0: 13.139739 10.4719028 9.89015865 2.39377952 1.52898097
  // case 130 out 0: 3.26733732 3.03955531 2.98212171 1.51922381 0.987906575
  func.func @main131(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = chlo.lgamma %a0 : tensor<5xf32> -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 131 in 0: 4.61656332 8.11667538 13.9529266 5.87494564 1.22283578
  // case 131 out 0: 2.61730266 8.76124191 22.4297199 4.57556438 -0.0916461945
  func.func @main132(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = chlo.digamma %a0 : tensor<5xf32> -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 132 in 0: 10.3822393 9.45610714 13.4119606 5.00479698 2.42146158
  // case 132 out 0: 2.29116535 2.19285393 2.55840373 1.50717902 0.663897514
  func.func @main133(%a0: tensor<8xf32>) -> (tensor<8xi1>) {
    %r = chlo.is_inf %a0 : tensor<8xf32> -> tensor<8xi1>
    return %r : tensor<8xi1>
  }
  // case 133 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 133 out 0: 0 0 0 0 1 1 0 0
  func.func @main134(%a0: tensor<8xf32>) -> (tensor<8xi1>) {
    %r = chlo.is_neg_inf %a0 : tensor<8xf32> -> tensor<8xi1>
    return %r : tensor<8xi1>
  }
  // case 134 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 134 out 0: 0 0 0 0 0 1 0 0
  func.func @main135(%a0: tensor<8xf32>) -> (tensor<8xi1>) {
    %r = chlo.is_pos_inf %a0 : tensor<8xf32> -> tensor<8xi1>
    return %r : tensor<8xi1>
  }
  // case 135 in 0: 0 -0 1 -1 inf -inf nan 0.300000012
  // case 135 out 0: 0 0 0 0 1 0 0 0
  func.func @main136(%a0: tensor<3xf32>, %a1: tensor<3xf32>) -> (tensor<3xf32>) {
    %r = chlo.next_after %a0, %a1 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
    return %r : tensor<3xf32>
  }
  // case 136 in 0: -0.774960577 1.66282761 -0.865490675
  // case 136 in 1: 1.74936604 1.64154053 -0.791143417
  // case 136 out 0: -0.774960518 1.66282749 -0.865490615
  func.func @main137(%a0: tensor<2x3xf32>, %a1: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.map"(%a0, %a1) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.multiply %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32>
  }
  // case 137 in 0: 0.220455468 -0.182473928 1.3002286 1.23769343 0.523017943 -1.92564809
  // case 137 in 1: -0.748939812 -0.257282138 -0.634708583 0.296348333 -0.708804011 0.125517055
  // case 137 out 0: -0.165107876 0.0469472818 -0.825266242 0.366788387 -0.370717227 -0.241701677
  func.func @main138(%a0: tensor<5xf32>) -> (tensor<5xf32>) {
    %r = stablehlo.custom_call @mhlo.erf(%a0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<5xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
  // case 138 in 0: 0.0282802656 -0.300186425 1.09981382 -1.92147553 0.624981225
  // case 138 out 0: 0.0319023542 -0.328818947 0.880142331 -0.993419886 0.623226464
}
