// 20 networks with random weights, as graphs of ggml: what its users run, in sizes that run in a second on one core.
#pragma once
#include <ggml-backend.h>
#include <ggml.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

using Tensor = ggml_tensor *;

// The size of the dimension that a graph is written at (graphs.cpp); 0 for the usual one.
inline int kSize = 0;
inline int sized(int usual) { return kSize ? kSize : usual; }

struct Network {
  ggml_context *weights = ggml_init({size_t(16) << 20, nullptr, true});
  ggml_context *ctx = ggml_init({size_t(64) << 20, nullptr, true});
  ggml_cgraph *graph = ggml_new_graph_custom(ctx, 16384, true);
  std::vector<Tensor> inputs, outputs;

  ~Network() { ggml_free(ctx), ggml_free(weights); }

  Tensor weight(int64_t a, int64_t b = 1, int64_t c = 1, int64_t d = 1, ggml_type type = GGML_TYPE_F32) {
    return ggml_new_tensor_4d(weights, type, a, b, c, d);
  }
  Tensor input(int64_t a, int64_t b = 1, int64_t c = 1, int64_t d = 1, ggml_type type = GGML_TYPE_F32) {
    Tensor t = ggml_new_tensor_4d(ctx, type, a, b, c, d);
    ggml_set_input(t), inputs.push_back(t);
    return t;
  }
  void output(Tensor t) { ggml_set_output(t), outputs.push_back(t), ggml_build_forward_expand(graph, t); }

  // Layers.
  Tensor add(Tensor a, Tensor b) { return ggml_add(ctx, a, b); }
  Tensor mul(Tensor a, Tensor b) { return ggml_mul(ctx, a, b); }
  Tensor matmul(Tensor x, int64_t to) { return ggml_mul_mat(ctx, weight(x->ne[0], to), x); }
  Tensor linear(Tensor x, int64_t to) { return add(matmul(x, to), weight(to)); }
  Tensor norm(Tensor x) { return add(mul(ggml_norm(ctx, x, 1e-5f), weight(x->ne[0])), weight(x->ne[0])); }
  Tensor rms(Tensor x) { return mul(ggml_rms_norm(ctx, x, 1e-5f), weight(x->ne[0])); }
  Tensor relu(Tensor x) { return ggml_relu(ctx, x); }
  Tensor silu(Tensor x) { return ggml_silu(ctx, x); }
  Tensor cont(Tensor x) { return ggml_cont(ctx, x); }
  Tensor conv(Tensor x, int64_t to, int k, int stride = 1) {
    x = ggml_conv_2d(ctx, weight(k, k, x->ne[2], to, GGML_TYPE_F16), x, stride, stride, k / 2, k / 2, 1, 1);
    return add(x, weight(1, 1, to));
  }
  Tensor depthwise(Tensor x, int k, int stride = 1) {
    x = ggml_conv_2d_dw_direct(ctx, weight(k, k, 1, x->ne[2]), x, stride, stride, k / 2, k / 2, 1, 1);
    return add(x, weight(1, 1, x->ne[2]));
  }
  Tensor group(Tensor x, int groups) { return mul(ggml_group_norm(ctx, x, groups, 1e-5f), weight(1, 1, x->ne[2])); }
  Tensor pool(Tensor x, int k, int stride, int pad = 0, ggml_op_pool kind = GGML_OP_POOL_MAX) {
    return ggml_pool_2d(ctx, x, kind, k, k, stride, stride, pad, pad);
  }
  Tensor average(Tensor x) { return pool(x, int(x->ne[0]), int(x->ne[0]), 0, GGML_OP_POOL_AVG); }
  Tensor upscale(Tensor x) { return ggml_upscale(ctx, x, 2, GGML_SCALE_MODE_NEAREST); }
  Tensor channels(Tensor a, Tensor b) { return ggml_concat(ctx, a, b, 2); }
  Tensor flat(Tensor x) { return ggml_reshape_1d(ctx, cont(x), ggml_nelements(x)); }

  struct Attention {
    int heads, kv_heads = 0;
    Tensor positions = nullptr, mask = nullptr, from = nullptr; // rope; added to scores; keys of another sequence
    int past = 0;                                               // tokens in a cache of keys and values
  };
  // Of `x`, which is (width, tokens).
  Tensor attention(Tensor x, Attention a) {
    const int kv_heads = a.kv_heads ? a.kv_heads : a.heads;
    const int64_t n = x->ne[1], head = x->ne[0] / a.heads, kv = head * kv_heads;
    Tensor from = a.from ? a.from : x;
    const int64_t all = a.past + from->ne[1];
    Tensor q = a.positions ? matmul(x, x->ne[0]) : linear(x, x->ne[0]);
    Tensor k = matmul(from, kv), v = a.positions ? matmul(from, kv) : linear(from, kv);
    q = ggml_reshape_3d(ctx, q, head, a.heads, n), k = ggml_reshape_3d(ctx, k, head, kv_heads, from->ne[1]);
    if (a.positions) {
      q = ggml_rope(ctx, q, a.positions, int(head), 0), k = ggml_rope(ctx, k, a.positions, int(head), 0);
    }
    if (a.past) {
      Tensor cache_k = weight(kv, all), cache_v = weight(kv, all);
      for (auto [part, cache] : {std::pair{ggml_reshape_2d(ctx, k, kv, n), cache_k}, std::pair{v, cache_v}}) {
        ggml_build_forward_expand(graph, ggml_cpy(ctx, part, ggml_view_2d(ctx, cache, kv, n, kv * 4, a.past * kv * 4)));
      }
      k = ggml_reshape_3d(ctx, cache_k, head, kv_heads, all), v = cache_v;
    }
    v = ggml_reshape_3d(ctx, v, head, kv_heads, all);
    q = ggml_permute(ctx, q, 0, 2, 1, 3), k = ggml_permute(ctx, k, 0, 2, 1, 3);
    const float scale = 1 / std::sqrt(float(head));
    v = cont(ggml_permute(ctx, v, 1, 2, 0, 3));
    Tensor scores = ggml_soft_max_ext(ctx, ggml_mul_mat(ctx, k, q), a.mask, scale, 0);
    x = cont(ggml_permute(ctx, ggml_mul_mat(ctx, v, scores), 0, 2, 1, 3));
    x = ggml_reshape_2d(ctx, x, head * a.heads, n);
    return a.positions ? matmul(x, x->ne[0]) : linear(x, x->ne[0]);
  }
  Tensor gelu_mlp(Tensor x, int64_t hidden) { return linear(ggml_gelu(ctx, linear(x, hidden)), x->ne[0]); }
  Tensor gated(Tensor x, int64_t hidden) {
    return matmul(mul(silu(matmul(x, hidden)), matmul(x, hidden)), x->ne[0]);
  }
  // A layer of a transformer, with norms before its two parts.
  Tensor layer(Tensor x, Attention a) {
    x = add(x, attention(norm(x), a));
    return add(x, gelu_mlp(norm(x), 4 * x->ne[0]));
  }
  Tensor layers(Tensor x, int count, int heads) {
    for (int k = 0; k < count; ++k) x = layer(x, {heads});
    return norm(x);
  }
  Tensor residual(Tensor x, int64_t to, int stride) {
    Tensor y = conv(relu(conv(x, to, 3, stride)), to, 3);
    return relu(add(stride > 1 || x->ne[2] != to ? conv(x, to, 1, stride) : x, y));
  }
  Tensor inverted(Tensor x, int64_t to, int stride) { // of MobileNet
    Tensor y = silu(depthwise(silu(conv(x, 4 * x->ne[2], 1)), 3, stride));
    y = conv(y, to, 1);
    return stride == 1 && x->ne[2] == to ? add(x, y) : y;
  }
  Tensor time_block(Tensor x, Tensor time, int64_t to) { // of a diffusion U-Net
    Tensor y = conv(silu(group(x, 8)), to, 3);
    y = add(y, ggml_reshape_3d(ctx, linear(silu(time), to), 1, 1, to));
    y = conv(silu(group(y, 8)), to, 3);
    return add(x->ne[2] == to ? x : conv(x, to, 1), y);
  }
  Tensor tokens(Tensor x) { // pixels of an image, as (channels, pixels)
    return cont(ggml_transpose(ctx, ggml_reshape_2d(ctx, x, x->ne[0] * x->ne[1], x->ne[2])));
  }
  Tensor spatial(Tensor x, int heads) { // attention over the pixels of an image
    Tensor y = tokens(group(x, 8));
    y = add(y, attention(norm(y), {heads}));
    y = add(y, gelu_mlp(norm(y), 4 * x->ne[2]));
    y = cont(ggml_transpose(ctx, y));
    return add(x, ggml_reshape_3d(ctx, y, x->ne[0], x->ne[1], x->ne[2]));
  }
  Tensor embedded(int tokens, int width) {
    return ggml_get_rows(ctx, weight(width, 1000), input(tokens, 1, 1, 1, GGML_TYPE_I32));
  }
  Tensor patches(int side, int patch, int width) { return tokens(conv(input(side, side, 3), width, patch, patch)); }
};

inline void gpt(Network &n, int tokens, int past, int layers, int width) {
  Tensor x = n.embedded(tokens, width), mask = tokens > 1 ? n.input(past + tokens, tokens) : nullptr;
  x = n.add(x, n.weight(width, tokens));
  for (int k = 0; k < layers; ++k) x = n.layer(x, {.heads = 8, .mask = mask, .past = past});
  n.output(n.matmul(n.norm(x), 1000));
}

inline void llama(Network &n, int tokens, int past, int layers, int width) {
  Tensor x = n.embedded(tokens, width), at = n.input(tokens, 1, 1, 1, GGML_TYPE_I32);
  Tensor mask = tokens > 1 ? n.input(past + tokens, tokens) : nullptr;
  for (int k = 0; k < layers; ++k) {
    x = n.add(x, n.attention(n.rms(x), {8, 4, at, mask, nullptr, past}));
    x = n.add(x, n.gated(n.rms(x), width * 11 / 4));
  }
  n.output(n.matmul(n.rms(x), 1000));
}

// A loss and a step of SGD for the parameters.
inline void train(Network &n, Tensor logits, const std::vector<Tensor> &parameters) {
  Tensor loss = ggml_cross_entropy_loss(n.ctx, logits, n.input(logits->ne[0], logits->ne[1])), rate = n.input(2);
  ggml_set_loss(loss), n.output(loss);
  ggml_build_backward_expand(n.ctx, n.graph, nullptr);
  for (Tensor p : parameters) {
    ggml_build_forward_expand(n.graph, ggml_opt_step_sgd(n.ctx, p, ggml_graph_get_grad(n.graph, p), rate));
  }
}

inline Tensor trained(Network &n, Tensor x, int64_t to, std::vector<Tensor> &parameters) {
  for (Tensor p : {n.weight(x->ne[0], to), n.weight(to)}) ggml_set_param(p), parameters.push_back(p);
  return n.add(ggml_mul_mat(n.ctx, parameters[parameters.size() - 2], x), parameters.back());
}

inline const std::map<std::string, std::function<void(Network &)>> kNetworks = {
    {"mlp", [](Network &n) {
       Tensor x = n.input(784, 64);
       for (int width : {512, 256, 256, 128}) x = n.relu(n.linear(x, width));
       n.output(ggml_soft_max(n.ctx, n.linear(x, 10)));
     }},
    {"lenet", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(28, 28, 1, 16), 8, 3)), 2, 2);
       x = n.pool(n.relu(n.conv(x, 16, 3)), 2, 2);
       n.output(n.linear(ggml_reshape_2d(n.ctx, n.cont(x), 784, 16), 10));
     }},
    {"resnet18", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(112, 112, 3), 64, 7, 2)), 3, 2, 1);
       for (int width : {64, 128, 256, 512}) x = n.residual(n.residual(x, width, width > 64 ? 2 : 1), width, 1);
       n.output(n.linear(n.flat(n.average(x)), 1000));
     }},
    {"densenet", [](Network &n) {
       Tensor x = n.conv(n.input(64, 64, 3), 16, 3);
       for (int block = 0; block < 3; ++block) {
         for (int k = 0; k < 6; ++k) x = n.channels(x, n.conv(n.relu(n.group(x, 4)), 12, 3));
         x = n.pool(n.conv(x, x->ne[2] / 8 * 4, 1), 2, 2, 0, GGML_OP_POOL_AVG);
       }
       n.output(n.linear(n.flat(x), 10));
     }},
    {"mobilenet_v2", [](Network &n) {
       Tensor x = n.conv(n.input(96, 96, 3), 16, 3, 2);
       for (int width : {16, 24, 24, 32, 32, 64, 64, 96}) x = n.inverted(x, width, x->ne[2] < width ? 2 : 1);
       n.output(n.linear(n.flat(n.average(x)), 100));
     }},
    {"yolo", [](Network &n) {
       Tensor x = n.input(160, 160, 3);
       std::vector<Tensor> scales;
       for (int width : {16, 32, 64, 128, 256}) {
         scales.push_back(x = ggml_leaky_relu(n.ctx, n.conv(x, width, 3), 0.1f, true));
         x = n.pool(x, 2, 2);
       }
       x = ggml_leaky_relu(n.ctx, n.conv(x, 256, 3), 0.1f, true);
       n.output(n.conv(x, 75, 1));
       n.output(n.conv(n.channels(n.upscale(n.conv(x, 128, 1)), scales[4]), 75, 3));
     }},
    {"feature_pyramid", [](Network &n) {
       Tensor x = n.relu(n.conv(n.input(128, 128, 3), 16, 3, 2));
       std::vector<Tensor> levels;
       for (int width : {32, 64, 128}) levels.push_back(x = n.residual(x, width, 2));
       x = nullptr;
       for (int k = 2; k >= 0; --k) {
         Tensor side = n.conv(levels[k], 32, 1);
         x = x ? n.add(n.upscale(x), side) : side;
         n.output(n.conv(n.relu(n.conv(x, 32, 3)), 18, 1));
       }
     }},
    {"unet", [](Network &n) {
       Tensor x = n.input(128, 128, 3);
       std::vector<Tensor> skips;
       const auto twice = [&](int width) { x = n.relu(n.conv(n.relu(n.conv(x, width, 3)), width, 3)); };
       for (int level = 0; level < 4; ++level) twice(8 << level), skips.push_back(x), x = n.pool(x, 2, 2);
       for (int level = 3; level >= 0; --level)
         x = n.channels(n.upscale(n.conv(x, 8 << level, 1)), skips[level]), twice(8 << level);
       n.output(n.conv(x, 2, 1));
     }},
    {"super_resolution", [](Network &n) {
       Tensor x = n.conv(n.input(48, 48, 3), 32, 3), first = x;
       for (int k = 0; k < 6; ++k) x = n.add(x, n.conv(n.relu(n.conv(x, 32, 3)), 32, 3));
       n.output(n.conv(n.relu(n.conv(n.upscale(n.add(x, first)), 32, 3)), 3, 3));
     }},
    {"vae_decoder", [](Network &n) {
       Tensor x = n.conv(n.input(sized(16), sized(16), 4), 64, 3), time = n.input(64);
       x = n.spatial(n.time_block(x, time, 64), 1);
       for (int width : {64, 32, 16}) {
         x = n.time_block(n.time_block(x, time, width), time, width);
         if (width > 16) x = n.conv(n.upscale(x), width, 3);
       }
       n.output(n.conv(n.silu(n.group(x, 8)), 3, 3));
     }},
    {"vae_block", [](Network &n) {
       Tensor x = n.conv(n.input(sized(16), sized(16), 4), 32, 3);
       x = n.conv(n.upscale(n.conv(n.silu(n.group(x, 8)), 32, 3)), 16, 3);
       n.output(n.conv(n.silu(n.group(x, 8)), 3, 3));
     }},
    {"gpt2", [](Network &n) { gpt(n, 128, 0, 6, 256); }},
    {"gpt2_step", [](Network &n) { gpt(n, 1, 127, 6, 256); }},
    {"llama", [](Network &n) { llama(n, 128, 128, 6, 256); }},
    {"llama_block", [](Network &n) { llama(n, 1, sized(64) - 1, 1, 64); }},
    {"llama_step", [](Network &n) { llama(n, 1, sized(256) - 1, 6, 256); }},
    {"bert", [](Network &n) {
       Tensor x = n.norm(n.add(n.embedded(96, 192), n.weight(192, 96)));
       for (int k = 0; k < 6; ++k) {
         x = n.norm(n.add(x, n.attention(x, {6}))), x = n.norm(n.add(x, n.gelu_mlp(x, 768)));
       }
       n.output(n.linear(x, 192));
     }},
    {"vit", [](Network &n) {
       Tensor x = ggml_concat(n.ctx, n.weight(192), n.patches(112, 16, 192), 1);
       x = n.layers(n.add(x, n.weight(192, x->ne[1])), 6, 3);
       n.output(n.linear(ggml_view_2d(n.ctx, x, 192, 1, x->nb[1], 0), 1000));
     }},
    {"detr", [](Network &n) {
       Tensor x = n.relu(n.conv(n.input(96, 96, 3), 32, 7, 2));
       for (int width : {64, 128}) x = n.residual(x, width, 2);
       x = n.layers(n.tokens(x), 3, 4);
       Tensor y = n.input(128, 20);
       for (int k = 0; k < 3; ++k) {
         y = n.add(y, n.attention(n.norm(y), {4})), y = n.add(y, n.attention(n.norm(y), {.heads = 4, .from = x}));
         y = n.add(y, n.gelu_mlp(n.norm(y), 256));
       }
       n.output(n.linear(y, 92)), n.output(ggml_sigmoid(n.ctx, n.linear(n.relu(n.linear(y, 128)), 4)));
     }},
    {"mlp_train", [](Network &n) {
       std::vector<Tensor> parameters;
       Tensor x = n.input(256, 64);
       for (int width : {512, 256, 256, 128}) x = n.relu(trained(n, x, width, parameters));
       train(n, trained(n, x, 10, parameters), parameters);
     }},
};
