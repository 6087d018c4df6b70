// Written by tests/verify/generate.py; expected values are XLA's on one CPU device.
module {
  func.func @main0(%x: tensor<3xf32>, %n: tensor<i32>) -> (tensor<3xf32>, tensor<i32>, tensor<4xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %f = stablehlo.constant dense<0.0> : tensor<4xf32>
    %r:3 = stablehlo.while(%i = %z, %v = %x, %log = %f) : tensor<i32>, tensor<3xf32>, tensor<4xf32>
     cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %w = stablehlo.multiply %v, %x : tensor<3xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.slice %w [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %l = stablehlo.dynamic_update_slice %log, %s, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
      stablehlo.return %j, %w, %l : tensor<i32>, tensor<3xf32>, tensor<4xf32>
    }
    return %r#1, %r#0, %r#2 : tensor<3xf32>, tensor<i32>, tensor<4xf32>
  }
  // case 0 in 0: 1.82476175 0.19704923 0.0182390269
  // case 0 in 1: 3
  // case 0 out 0: 11.0872717 0.00150764454 1.10664082e-07
  // case 0 out 1: 3
  // case 0 out 2: 3.32975554 6.0760107 11.0872717 0
  func.func private @twice1(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @main1(%x: tensor<3xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
    %r = "stablehlo.case"(%n) ({
      %0 = stablehlo.negate %x : tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %1 = func.call @twice1(%x) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %1 : tensor<3xf32>
    }, {
      stablehlo.return %x : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %s = "stablehlo.if"(%p) ({
      stablehlo.return %r : tensor<3xf32>
    }, {
      %2 = func.call @twice1(%r) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %2 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %t:2 = stablehlo.optimization_barrier %r, %s : tensor<3xf32>, tensor<3xf32>
    return %t#0, %t#1 : tensor<3xf32>, tensor<3xf32>
  }
  // case 1 in 0: 0.334477454 -1.74257827 0.969709158
  // case 1 in 1: 0
  // case 1 in 2: 0
  // case 1 out 0: -0.334477454 1.74257827 -0.969709158
  // case 1 out 1: -0.668954909 3.48515654 -1.93941832
  func.func private @twice2(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @main2(%x: tensor<3xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
    %r = "stablehlo.case"(%n) ({
      %0 = stablehlo.negate %x : tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %1 = func.call @twice2(%x) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %1 : tensor<3xf32>
    }, {
      stablehlo.return %x : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %s = "stablehlo.if"(%p) ({
      stablehlo.return %r : tensor<3xf32>
    }, {
      %2 = func.call @twice2(%r) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %2 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %t:2 = stablehlo.optimization_barrier %r, %s : tensor<3xf32>, tensor<3xf32>
    return %t#0, %t#1 : tensor<3xf32>, tensor<3xf32>
  }
  // case 2 in 0: -1.31940794 1.32569361 1.01387429
  // case 2 in 1: 1
  // case 2 in 2: 1
  // case 2 out 0: -2.63881588 2.65138721 2.02774858
  // case 2 out 1: -2.63881588 2.65138721 2.02774858
  func.func private @twice3(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @main3(%x: tensor<3xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
    %r = "stablehlo.case"(%n) ({
      %0 = stablehlo.negate %x : tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %1 = func.call @twice3(%x) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %1 : tensor<3xf32>
    }, {
      stablehlo.return %x : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %s = "stablehlo.if"(%p) ({
      stablehlo.return %r : tensor<3xf32>
    }, {
      %2 = func.call @twice3(%r) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %2 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %t:2 = stablehlo.optimization_barrier %r, %s : tensor<3xf32>, tensor<3xf32>
    return %t#0, %t#1 : tensor<3xf32>, tensor<3xf32>
  }
  // case 3 in 0: 1.62986672 1.5688287 -1.32489884
  // case 3 in 1: 5
  // case 3 in 2: 0
  // case 3 out 0: 1.62986672 1.5688287 -1.32489884
  // case 3 out 1: 3.25973344 3.1376574 -2.64979768
}
