module @jit_attention attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?xi32>, %arg1: tensor<?x?xf32>, %arg2: tensor<100x64xf32>, %arg3: tensor<3x64x64xf32>) -> (tensor<?x?x64xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<512> : tensor<i32>
    %c_1 = stablehlo.constant dense<-1> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?xi32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?xi32>) -> tensor<i32>
    %2 = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?x?xf32>) -> tensor<i32>
    %3 = stablehlo.get_dimension_size %arg1, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %4 = stablehlo.compare GE, %0, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, n),args[1].shape = (b, n). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %5 = stablehlo.compare GE, %1, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%5, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'n'. Using the following polymorphic shapes specifications: args[0].shape = (b, n),args[1].shape = (b, n). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'n' = {1} from specification 'n' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %6 = stablehlo.compare EQ, %2, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%6, %2, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[0] (= {0}) and the specification 'b' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (b, n),args[1].shape = (b, n). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'n' = {2} from specification 'n' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %7 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%7, %3, %1, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Found inconsistency between dimension size args[1].shape[1] (= {0}) and the specification 'n' (= {1}). Using the following polymorphic shapes specifications: args[0].shape = (b, n),args[1].shape = (b, n). Obtained dimension variables: 'b' = {2} from specification 'b' for dimension args[0].shape[0] (= {2}), 'n' = {1} from specification 'n' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %8 = stablehlo.convert %1 : tensor<i32>
    %9 = stablehlo.multiply %8, %c_1 : tensor<i32>
    %10 = stablehlo.add %9, %c_0 : tensor<i32>
    %11 = stablehlo.compare GE, %10, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %12 = stablehlo.convert %1 : tensor<i32>
    %13 = stablehlo.multiply %12, %c_1 : tensor<i32>
    %14 = stablehlo.add %13, %c_0 : tensor<i32>
    stablehlo.custom_call @shape_assertion(%11, %14, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint n<=512. Expected '- n + 512' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, n),args[1].shape = (b, n). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'n' = {2} from specification 'n' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %15 = call @_wrapped_jax_export_main(%0, %1, %arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<i32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<100x64xf32>, tensor<3x64x64xf32>) -> tensor<?x?x64xf32>
    return %15 : tensor<?x?x64xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "n"}, %arg2: tensor<?x?xi32>, %arg3: tensor<?x?xf32>, %arg4: tensor<100x64xf32>, %arg5: tensor<3x64x64xf32>) -> (tensor<?x?x64xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<64> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_1 = stablehlo.constant dense<16> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_3 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_4 = stablehlo.constant dense<100> : tensor<i32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %c_5, %2, dims = [] : (tensor<i32>, tensor<2xi32>) -> tensor<?x?xi32>
    %4 = stablehlo.compare LT, %arg2, %3, SIGNED : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi1>
    %5 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.concatenate %5, %6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = stablehlo.dynamic_broadcast_in_dim %c_4, %7, dims = [] : (tensor<i32>, tensor<2xi32>) -> tensor<?x?xi32>
    %9 = stablehlo.add %arg2, %8 : tensor<?x?xi32>
    %10 = stablehlo.select %4, %9, %arg2 : tensor<?x?xi1>, tensor<?x?xi32>
    %11 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %13 = stablehlo.concatenate %11, %12, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %14 = stablehlo.dynamic_broadcast_in_dim %10, %13, dims = [0, 1] : (tensor<?x?xi32>, tensor<3xi32>) -> tensor<?x?x1xi32>
    %15 = "stablehlo.gather"(%arg4, %14) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 64>}> : (tensor<100x64xf32>, tensor<?x?x1xi32>) -> tensor<?x?x64xf32>
    %16 = stablehlo.slice %arg5 [0:1, 0:64, 0:64] : (tensor<3x64x64xf32>) -> tensor<1x64x64xf32>
    %17 = stablehlo.reshape %16 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %18 = stablehlo.dot_general %15, %17, contracting_dims = [2] x [0] : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
    %19 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %20 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %21 = stablehlo.concatenate %19, %20, %c_2, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %22 = stablehlo.dynamic_reshape %18, %21 : (tensor<?x?x64xf32>, tensor<4xi32>) -> tensor<?x?x4x16xf32>
    %23 = stablehlo.transpose %22, dims = [0, 2, 1, 3] : (tensor<?x?x4x16xf32>) -> tensor<?x4x?x16xf32>
    %24 = stablehlo.slice %arg5 [1:2, 0:64, 0:64] : (tensor<3x64x64xf32>) -> tensor<1x64x64xf32>
    %25 = stablehlo.reshape %24 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %26 = stablehlo.dot_general %15, %25, contracting_dims = [2] x [0] : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
    %27 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %28 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %29 = stablehlo.concatenate %27, %28, %c_2, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %30 = stablehlo.dynamic_reshape %26, %29 : (tensor<?x?x64xf32>, tensor<4xi32>) -> tensor<?x?x4x16xf32>
    %31 = stablehlo.transpose %30, dims = [0, 2, 1, 3] : (tensor<?x?x4x16xf32>) -> tensor<?x4x?x16xf32>
    %32 = stablehlo.slice %arg5 [2:3, 0:64, 0:64] : (tensor<3x64x64xf32>) -> tensor<1x64x64xf32>
    %33 = stablehlo.reshape %32 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %34 = stablehlo.dot_general %15, %33, contracting_dims = [2] x [0] : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
    %35 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %36 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %37 = stablehlo.concatenate %35, %36, %c_2, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %38 = stablehlo.dynamic_reshape %34, %37 : (tensor<?x?x64xf32>, tensor<4xi32>) -> tensor<?x?x4x16xf32>
    %39 = stablehlo.transpose %38, dims = [0, 2, 1, 3] : (tensor<?x?x4x16xf32>) -> tensor<?x4x?x16xf32>
    %40 = stablehlo.dot_general %23, %31, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>) -> tensor<?x4x?x?xf32>
    %41 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %42 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %43 = stablehlo.concatenate %41, %c_3, %c_3, %42, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %44 = stablehlo.dynamic_broadcast_in_dim %arg3, %43, dims = [0, 3] : (tensor<?x?xf32>, tensor<4xi32>) -> tensor<?x1x1x?xf32>
    %45 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %46 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %47 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %48 = stablehlo.concatenate %45, %c_2, %46, %47, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %49 = stablehlo.dynamic_broadcast_in_dim %44, %48, dims = [0, 1, 2, 3] : (tensor<?x1x1x?xf32>, tensor<4xi32>) -> tensor<?x4x?x?xf32>
    %50 = stablehlo.add %40, %49 : tensor<?x4x?x?xf32>
    %51 = stablehlo.reduce(%50 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?xf32>
    %52 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %53 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %54 = stablehlo.concatenate %52, %c_2, %53, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %55 = stablehlo.dynamic_broadcast_in_dim %cst_0, %54, dims = [] : (tensor<f32>, tensor<3xi32>) -> tensor<?x4x?xf32>
    %56 = stablehlo.maximum %55, %51 : tensor<?x4x?xf32>
    %57 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %58 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %59 = stablehlo.concatenate %57, %c_2, %58, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %60 = stablehlo.dynamic_broadcast_in_dim %56, %59, dims = [0, 1, 2] : (tensor<?x4x?xf32>, tensor<4xi32>) -> tensor<?x4x?x1xf32>
    %61 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %62 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %63 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %64 = stablehlo.concatenate %61, %c_2, %62, %63, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %65 = stablehlo.dynamic_broadcast_in_dim %60, %64, dims = [0, 1, 2, 3] : (tensor<?x4x?x1xf32>, tensor<4xi32>) -> tensor<?x4x?x?xf32>
    %66 = stablehlo.subtract %50, %65 : tensor<?x4x?x?xf32>
    %67 = stablehlo.exponential %66 : tensor<?x4x?x?xf32>
    %68 = stablehlo.reduce(%67 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?xf32>
    %69 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %70 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %71 = stablehlo.concatenate %69, %c_2, %70, %c_3, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %72 = stablehlo.dynamic_broadcast_in_dim %68, %71, dims = [0, 1, 2] : (tensor<?x4x?xf32>, tensor<4xi32>) -> tensor<?x4x?x1xf32>
    %73 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %74 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %75 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %76 = stablehlo.concatenate %73, %c_2, %74, %75, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %77 = stablehlo.dynamic_broadcast_in_dim %72, %76, dims = [0, 1, 2, 3] : (tensor<?x4x?x1xf32>, tensor<4xi32>) -> tensor<?x4x?x?xf32>
    %78 = stablehlo.divide %67, %77 : tensor<?x4x?x?xf32>
    %79 = stablehlo.dot_general %78, %39, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<?x4x?x?xf32>, tensor<?x4x?x16xf32>) -> tensor<?x4x?x16xf32>
    %80 = stablehlo.transpose %79, dims = [0, 2, 1, 3] : (tensor<?x4x?x16xf32>) -> tensor<?x?x4x16xf32>
    %81 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %82 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %83 = stablehlo.concatenate %81, %82, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
    %84 = stablehlo.dynamic_reshape %80, %83 : (tensor<?x?x4x16xf32>, tensor<3xi32>) -> tensor<?x?x64xf32>
    %85 = stablehlo.add %15, %84 : tensor<?x?x64xf32>
    return %85 : tensor<?x?x64xf32>
  }
}
