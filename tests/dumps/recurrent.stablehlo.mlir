module @jit_recurrent attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<?x5xf32>) -> (tensor<?x?x32xf32> {jax.result_info = "result[0]"}, tensor<?x5xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<-2> : tensor<i32>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?x32xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?x32xf32>) -> tensor<i32>
    %2 = stablehlo.get_dimension_size %arg2, dim = 0 : (tensor<?x5xf32>) -> tensor<i32>
    %3 = stablehlo.compare GE, %0, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 't'. Using the following polymorphic shapes specifications: args[0].shape = (t, b, 32),args[2].shape = (2*b, 5). Obtained dimension variables: 't' = {0} from specification 't' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %4 = stablehlo.compare GE, %1, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (t, b, 32),args[2].shape = (2*b, 5). Obtained dimension variables: 't' = {0} from specification 't' for dimension args[0].shape[0] (= {0}), 'b' = {1} from specification 'b' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %5 = stablehlo.convert %1 : tensor<i32>
    %6 = stablehlo.multiply %5, %c_1 : tensor<i32>
    %7 = stablehlo.compare EQ, %2, %6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %8 = stablehlo.convert %1 : tensor<i32>
    %9 = stablehlo.multiply %8, %c_1 : tensor<i32>
    stablehlo.custom_call @shape_assertion(%7, %2, %9, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[2].shape[0] (= {0}) and the specification '2*b' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (t, b, 32),args[2].shape = (2*b, 5). Obtained dimension variables: 't' = {2} from specification 't' for dimension args[0].shape[0] (= {2}), 'b' = {3} from specification 'b' for dimension args[0].shape[1] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %10 = stablehlo.convert %0 : tensor<i32>
    %11 = stablehlo.add %10, %c_0 : tensor<i32>
    %12 = stablehlo.compare GE, %11, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %13 = stablehlo.convert %0 : tensor<i32>
    %14 = stablehlo.add %13, %c_0 : tensor<i32>
    stablehlo.custom_call @shape_assertion(%12, %14, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint t>=2. Expected 't - 2' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (t, b, 32),args[2].shape = (2*b, 5). Obtained dimension variables: 't' = {1} from specification 't' for dimension args[0].shape[0] (= {1}), 'b' = {2} from specification 'b' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %15:2 = call @_wrapped_jax_export_main(%1, %0, %arg0, %arg1, %arg2) : (tensor<i32>, tensor<i32>, tensor<?x?x32xf32>, tensor<32x32xf32>, tensor<?x5xf32>) -> (tensor<?x?x32xf32>, tensor<?x5xf32>)
    return %15#0, %15#1 : tensor<?x?x32xf32>, tensor<?x5xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "t"}, %arg2: tensor<?x?x32xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<?x5xf32>) -> (tensor<?x?x32xf32> {jax.result_info = "result[0]"}, tensor<?x5xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<1xi32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %c_0 = stablehlo.constant dense<5> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %c_5 = stablehlo.constant dense<32> : tensor<1xi32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %0, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %cst_6, %1, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %3 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.concatenate %3, %4, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %6 = stablehlo.dynamic_broadcast_in_dim %cst_6, %5, dims = [] : (tensor<f32>, tensor<3xi32>) -> tensor<?x?x32xf32>
    %7:5 = stablehlo.while(%iterArg = %arg2, %iterArg_7 = %arg3, %iterArg_8 = %c_4, %iterArg_9 = %2, %iterArg_10 = %6) : tensor<?x?x32xf32>, tensor<32x32xf32>, tensor<i32>, tensor<?x32xf32>, tensor<?x?x32xf32>
    cond {
      %24 = stablehlo.compare LT, %iterArg_8, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %24 : tensor<i1>
    } do {
      %24 = func.call @dynamic_index_in_dim(%arg0, %arg1, %iterArg, %iterArg_8) : (tensor<i32>, tensor<i32>, tensor<?x?x32xf32>, tensor<i32>) -> tensor<?x32xf32>
      %25:2 = func.call @closed_call(%arg0, %arg1, %iterArg_7, %iterArg_9, %24) : (tensor<i32>, tensor<i32>, tensor<32x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>)
      %26 = func.call @dynamic_update_index_in_dim(%arg0, %arg1, %iterArg_10, %25#1, %iterArg_8) : (tensor<i32>, tensor<i32>, tensor<?x?x32xf32>, tensor<?x32xf32>, tensor<i32>) -> tensor<?x?x32xf32>
      %27 = stablehlo.add %iterArg_8, %c_3 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_7, %27, %25#0, %26 : tensor<?x?x32xf32>, tensor<32x32xf32>, tensor<i32>, tensor<?x32xf32>, tensor<?x?x32xf32>
    }
    %8 = stablehlo.reduce(%arg4 init: %cst_6) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x5xf32>, tensor<f32>) -> tensor<f32>
    %9 = stablehlo.compare GT, %8, %cst_6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %10 = stablehlo.convert %9 : (tensor<i1>) -> tensor<i32>
    %11 = "stablehlo.case"(%10) ({
      %24 = stablehlo.convert %arg0 : tensor<i32>
      %25 = stablehlo.multiply %24, %c_1 : tensor<i32>
      %26 = stablehlo.reshape %25 : (tensor<i32>) -> tensor<1xi32>
      %27 = stablehlo.concatenate %26, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %28 = stablehlo.dynamic_broadcast_in_dim %cst_2, %27, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x5xf32>
      %29 = stablehlo.add %arg4, %28 : tensor<?x5xf32>
      stablehlo.return %29 : tensor<?x5xf32>
    }, {
      %24 = func.call @_flip(%arg0, %arg1, %arg4) : (tensor<i32>, tensor<i32>, tensor<?x5xf32>) -> tensor<?x5xf32>
      %25 = stablehlo.convert %arg0 : tensor<i32>
      %26 = stablehlo.multiply %25, %c_1 : tensor<i32>
      %27 = stablehlo.reshape %26 : (tensor<i32>) -> tensor<1xi32>
      %28 = stablehlo.concatenate %27, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %29 = stablehlo.dynamic_broadcast_in_dim %cst, %28, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x5xf32>
      %30 = stablehlo.multiply %24, %29 : tensor<?x5xf32>
      stablehlo.return %30 : tensor<?x5xf32>
    }) : (tensor<i32>) -> tensor<?x5xf32>
    %12 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %13 = stablehlo.dynamic_iota %12, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    %14 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %15 = stablehlo.dynamic_broadcast_in_dim %c_1, %14, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
    %16 = stablehlo.multiply %15, %13 : tensor<?xi32>
    %17 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %18 = stablehlo.dynamic_broadcast_in_dim %c_3, %17, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
    %19 = stablehlo.add %18, %16 : tensor<?xi32>
    %20 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %21 = stablehlo.concatenate %20, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %22 = stablehlo.dynamic_broadcast_in_dim %19, %21, dims = [0] : (tensor<?xi32>, tensor<2xi32>) -> tensor<?x1xi32>
    %23 = "stablehlo.gather"(%11, %22) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 5>}> : (tensor<?x5xf32>, tensor<?x1xi32>) -> tensor<?x5xf32>
    return %7#4, %23 : tensor<?x?x32xf32>, tensor<?x5xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "t"}, %arg2: tensor<?x?x32xf32>, %arg3: tensor<i32>) -> tensor<?x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<32> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %c_2, %0, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %2 = stablehlo.concatenate %c, %c, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %3 = stablehlo.reshape %arg3 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %c_1 : (tensor<i32>) -> tensor<1xi32>
    %5 = stablehlo.reshape %c_1 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.concatenate %3, %4, %5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %7 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %9 = stablehlo.concatenate %7, %8, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %10 = stablehlo.subtract %9, %1 : tensor<3xi32>
    %11 = stablehlo.clamp %2, %6, %10 : tensor<3xi32>
    %12 = stablehlo.add %11, %1 : tensor<3xi32>
    %13 = stablehlo.concatenate %c_2, %c_2, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %14 = stablehlo.real_dynamic_slice %arg2, %11, %12, %13 : (tensor<?x?x32xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<1x?x32xf32>
    %15 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %16 = stablehlo.concatenate %15, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %17 = stablehlo.dynamic_reshape %14, %16 : (tensor<1x?x32xf32>, tensor<2xi32>) -> tensor<?x32xf32>
    return %17 : tensor<?x32xf32>
  }
  func.func private @closed_call(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "t"}, %arg2: tensor<32x32xf32>, %arg3: tensor<?x32xf32>, %arg4: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
    %c = stablehlo.constant dense<32> : tensor<1xi32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [1] x [0] : (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
    %1 = stablehlo.add %0, %arg4 : tensor<?x32xf32>
    %2 = stablehlo.tanh %1 : tensor<?x32xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.concatenate %3, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %5 = stablehlo.dynamic_broadcast_in_dim %cst, %4, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x32xf32>
    %6 = stablehlo.multiply %2, %5 : tensor<?x32xf32>
    return %2, %6 : tensor<?x32xf32>, tensor<?x32xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "t"}, %arg2: tensor<?x?x32xf32>, %arg3: tensor<?x32xf32>, %arg4: tensor<i32>) -> tensor<?x?x32xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<32> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.concatenate %c_1, %0, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %2 = stablehlo.dynamic_broadcast_in_dim %arg3, %1, dims = [1, 2] : (tensor<?x32xf32>, tensor<3xi32>) -> tensor<1x?x32xf32>
    %3 = stablehlo.dynamic_update_slice %arg2, %2, %arg4, %c, %c : (tensor<?x?x32xf32>, tensor<1x?x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<?x?x32xf32>
    return %3 : tensor<?x?x32xf32>
  }
  func.func private @_flip(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "t"}, %arg2: tensor<?x5xf32>) -> tensor<?x5xf32> {
    %0 = stablehlo.reverse %arg2, dims = [0] : tensor<?x5xf32>
    return %0 : tensor<?x5xf32>
  }
}
