module @jit_convolution attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?x?x3xf32>, %arg1: tensor<3x3x3x8xf32>) -> (tensor<?x8xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<-4> : tensor<i32>
    %c_0 = stablehlo.constant dense<-32> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<8> : tensor<i32>
    %c_3 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?x?x3xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?x?x3xf32>) -> tensor<i32>
    %2 = stablehlo.get_dimension_size %arg0, dim = 2 : (tensor<?x?x?x3xf32>) -> tensor<i32>
    %3 = stablehlo.compare GE, %0, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %4 = stablehlo.compare GE, %1, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'h'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %5:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %6 = stablehlo.compare EQ, %5#1, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%6, %7#1, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Division had remainder {0} when computing the value of 'w'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %8:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %9 = stablehlo.compare GE, %8#0, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%9, %0, %1, %10#0, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'w'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[1] (= {1}), 'w' = {2} from specification '8*w' for dimension args[0].shape[2] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %11 = stablehlo.convert %1 : tensor<i32>
    %12 = stablehlo.add %11, %c_0 : tensor<i32>
    %13 = stablehlo.compare GE, %12, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %14 = stablehlo.convert %1 : tensor<i32>
    %15 = stablehlo.add %14, %c_0 : tensor<i32>
    %16:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%13, %15, %0, %1, %16#0, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint h>=32. Expected 'h - 32' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), 'w' = {3} from specification '8*w' for dimension args[0].shape[2] (= {4}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %17:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %18 = stablehlo.add %17#0, %c : tensor<i32>
    %19 = stablehlo.compare GE, %18, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %20:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %21 = stablehlo.add %20#0, %c : tensor<i32>
    %22:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    stablehlo.custom_call @shape_assertion(%19, %21, %0, %1, %22#0, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint w>=4. Expected 'w - 4' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, h, 8*w, 3). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), 'w' = {3} from specification '8*w' for dimension args[0].shape[2] (= {4}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %23:2 = call @divmod_0(%2, %c_2) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %24 = call @_wrapped_jax_export_main(%0, %1, %23#0, %arg0, %arg1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<?x?x?x3xf32>, tensor<3x3x3x8xf32>) -> tensor<?x8xf32>
    return %24 : tensor<?x8xf32>
  }
  func.func @reduce_window_float32_reducer(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<?x?x?x3xf32>, %arg4: tensor<3x3x3x8xf32>) -> (tensor<?x8xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<8> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c_0 = stablehlo.constant dense<12> : tensor<i32>
    %c_1 = stablehlo.constant dense<-4> : tensor<i32>
    %c_2 = stablehlo.constant dense<2> : tensor<1xi32>
    %c_3 = stablehlo.constant dense<3> : tensor<1xi32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_5 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %c_8 = stablehlo.constant dense<1> : tensor<i32>
    %c_9 = stablehlo.constant dense<-2> : tensor<i32>
    %c_10 = stablehlo.constant dense<2> : tensor<i32>
    %c_11 = stablehlo.constant dense<-1> : tensor<i32>
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.multiply %0, %c_11 : tensor<i32>
    %2:2 = call @divmod(%arg0, %arg1, %arg2, %1, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %3 = stablehlo.multiply %2#0, %c_9 : tensor<i32>
    %4 = stablehlo.convert %arg1 : tensor<i32>
    %5 = stablehlo.multiply %4, %c_11 : tensor<i32>
    %6 = stablehlo.add %3, %5 : tensor<i32>
    %7 = stablehlo.add %6, %c_8 : tensor<i32>
    %8:2 = call @divmod(%arg0, %arg1, %arg2, %7, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %9 = stablehlo.convert %arg1 : tensor<i32>
    %10 = stablehlo.multiply %9, %c_11 : tensor<i32>
    %11:2 = call @divmod(%arg0, %arg1, %arg2, %10, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %12 = stablehlo.multiply %11#0, %c_9 : tensor<i32>
    %13 = stablehlo.convert %arg1 : tensor<i32>
    %14 = stablehlo.multiply %13, %c_11 : tensor<i32>
    %15 = stablehlo.add %12, %14 : tensor<i32>
    %16 = stablehlo.add %15, %c_8 : tensor<i32>
    %17:2 = call @divmod(%arg0, %arg1, %arg2, %16, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %18 = stablehlo.multiply %17#0, %c_11 : tensor<i32>
    %19 = stablehlo.convert %arg1 : tensor<i32>
    %20 = stablehlo.multiply %19, %c_11 : tensor<i32>
    %21:2 = call @divmod(%arg0, %arg1, %arg2, %20, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %22 = stablehlo.multiply %21#0, %c_9 : tensor<i32>
    %23 = stablehlo.convert %arg1 : tensor<i32>
    %24 = stablehlo.multiply %23, %c_11 : tensor<i32>
    %25 = stablehlo.add %18, %22 : tensor<i32>
    %26 = stablehlo.add %25, %24 : tensor<i32>
    %27 = stablehlo.add %26, %c_8 : tensor<i32>
    %28 = stablehlo.reshape %8#0 : (tensor<i32>) -> tensor<1xi32>
    %29 = stablehlo.reshape %27 : (tensor<i32>) -> tensor<1xi32>
    %30 = stablehlo.concatenate %28, %29, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %31 = stablehlo.reshape %30 : (tensor<2xi32>) -> tensor<1x2xi32>
    %32 = stablehlo.concatenate %c_6, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %33 = stablehlo.reshape %32 : (tensor<2xi32>) -> tensor<1x2xi32>
    %34 = stablehlo.concatenate %31, %33, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
    %35 = "stablehlo.dynamic_conv"(%arg3, %arg4, %34) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>}> : (tensor<?x?x?x3xf32>, tensor<3x3x3x8xf32>, tensor<2x2xi32>) -> tensor<?x?x?x8xf32>
    %36 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<f32>
    %37 = stablehlo.concatenate %c_6, %c_6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %38 = stablehlo.reshape %37 : (tensor<2xi32>) -> tensor<1x2xi32>
    %39 = stablehlo.convert %arg1 : tensor<i32>
    %40 = stablehlo.multiply %39, %c_11 : tensor<i32>
    %41:2 = call @divmod(%arg0, %arg1, %arg2, %40, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %42:2 = call @divmod(%arg0, %arg1, %arg2, %41#0, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %43 = stablehlo.multiply %42#0, %c_9 : tensor<i32>
    %44 = stablehlo.convert %arg1 : tensor<i32>
    %45 = stablehlo.multiply %44, %c_11 : tensor<i32>
    %46:2 = call @divmod(%arg0, %arg1, %arg2, %45, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %47 = stablehlo.add %43, %46#0 : tensor<i32>
    %48 = stablehlo.add %47, %c_8 : tensor<i32>
    %49:2 = call @divmod(%arg0, %arg1, %arg2, %48, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %50 = stablehlo.convert %arg1 : tensor<i32>
    %51 = stablehlo.multiply %50, %c_11 : tensor<i32>
    %52:2 = call @divmod(%arg0, %arg1, %arg2, %51, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %53:2 = call @divmod(%arg0, %arg1, %arg2, %52#0, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %54 = stablehlo.multiply %53#0, %c_9 : tensor<i32>
    %55 = stablehlo.convert %arg1 : tensor<i32>
    %56 = stablehlo.multiply %55, %c_11 : tensor<i32>
    %57:2 = call @divmod(%arg0, %arg1, %arg2, %56, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %58 = stablehlo.add %54, %57#0 : tensor<i32>
    %59 = stablehlo.add %58, %c_8 : tensor<i32>
    %60:2 = call @divmod(%arg0, %arg1, %arg2, %59, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %61 = stablehlo.multiply %60#0, %c_11 : tensor<i32>
    %62 = stablehlo.convert %arg1 : tensor<i32>
    %63 = stablehlo.multiply %62, %c_11 : tensor<i32>
    %64:2 = call @divmod(%arg0, %arg1, %arg2, %63, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %65:2 = call @divmod(%arg0, %arg1, %arg2, %64#0, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %66 = stablehlo.multiply %65#0, %c_9 : tensor<i32>
    %67 = stablehlo.convert %arg1 : tensor<i32>
    %68 = stablehlo.multiply %67, %c_11 : tensor<i32>
    %69:2 = call @divmod(%arg0, %arg1, %arg2, %68, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %70 = stablehlo.add %61, %66 : tensor<i32>
    %71 = stablehlo.add %70, %69#0 : tensor<i32>
    %72 = stablehlo.add %71, %c_8 : tensor<i32>
    %73 = stablehlo.reshape %49#0 : (tensor<i32>) -> tensor<1xi32>
    %74 = stablehlo.reshape %72 : (tensor<i32>) -> tensor<1xi32>
    %75 = stablehlo.concatenate %73, %74, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %76 = stablehlo.reshape %75 : (tensor<2xi32>) -> tensor<1x2xi32>
    %77 = stablehlo.concatenate %c_6, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %78 = stablehlo.reshape %77 : (tensor<2xi32>) -> tensor<1x2xi32>
    %79 = stablehlo.concatenate %c_6, %c_6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %80 = stablehlo.reshape %79 : (tensor<2xi32>) -> tensor<1x2xi32>
    %81 = stablehlo.concatenate %38, %76, %78, %80, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %82 = stablehlo.concatenate %c_5, %c_3, %c_3, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %83 = stablehlo.concatenate %c_5, %c_2, %c_2, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %84 = stablehlo.concatenate %c_5, %c_5, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %85 = stablehlo.concatenate %c_5, %c_5, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %86 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%35, %36, %82, %83, %84, %85, %81) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer]} : (tensor<?x?x?x8xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x8xf32>
    %87 = call @_pad(%arg0, %arg1, %arg2, %86, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<?x?x?x8xf32>, tensor<i32>) -> tensor<?x?x?x8xf32>
    %88 = stablehlo.concatenate %87, %87, dim = 2 : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xf32>
    %89 = stablehlo.convert %arg1 : tensor<i32>
    %90 = stablehlo.multiply %89, %c_11 : tensor<i32>
    %91:2 = call @divmod(%arg0, %arg1, %arg2, %90, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %92:2 = call @divmod(%arg0, %arg1, %arg2, %91#0, %c_10) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %93 = stablehlo.convert %arg2 : tensor<i32>
    %94 = stablehlo.multiply %92#0, %93 : tensor<i32>
    %95 = stablehlo.multiply %94, %c_1 : tensor<i32>
    %96 = stablehlo.convert %arg2 : tensor<i32>
    %97 = stablehlo.multiply %96, %c_0 : tensor<i32>
    %98 = stablehlo.add %95, %97 : tensor<i32>
    %99 = stablehlo.convert %98 : (tensor<i32>) -> tensor<f32>
    %100 = stablehlo.reduce(%88 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<?x?x?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
    %101 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %102 = stablehlo.concatenate %101, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %103 = stablehlo.dynamic_broadcast_in_dim %99, %102, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x8xf32>
    %104 = stablehlo.divide %100, %103 : tensor<?x8xf32>
    return %104 : tensor<?x8xf32>
  }
  func.func private @divmod(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = call @floor_divide(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @remainder(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0, %1 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg3, %arg4 : tensor<i32>
    %1 = stablehlo.sign %arg3 : tensor<i32>
    %2 = stablehlo.sign %arg4 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg3, %arg4 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where(%arg0, %arg1, %arg2, %6, %7, %0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i1>, %arg4: tensor<i32>, %arg5: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg3, %arg4, %arg5 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %arg2, %0, %c, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg3, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
  func.func private @_pad(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<?x?x?x8xf32>, %arg4: tensor<i32>) -> tensor<?x?x?x8xf32> {
    %0 = stablehlo.convert %arg4 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg3, %0, low = [0, 1, 0, 0], high = [0, 2, 0, 0], interior = [0, 0, 0, 0] : (tensor<?x?x?x8xf32>, tensor<f32>) -> tensor<?x?x?x8xf32>
    return %1 : tensor<?x?x?x8xf32>
  }
  func.func private @divmod_0(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.convert %arg0 : tensor<i32>
    %1 = call @floor_divide_1(%0, %arg1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = call @remainder_3(%0, %arg1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    return %1, %2 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide_1(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg0, %arg1 : tensor<i32>
    %1 = stablehlo.sign %arg0 : tensor<i32>
    %2 = stablehlo.sign %arg1 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where_2(%6, %7, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where_2(%arg0: tensor<i1> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}, %arg2: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder_3(%arg0: tensor<i32> {jax.global_constant = ""}, %arg1: tensor<i32> {jax.global_constant = ""}) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where_2(%0, %c, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
}
