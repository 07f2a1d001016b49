// 43 networks with random weights, as graphs of ggml: what its users run, in sizes that run in a second on one core.
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
  Tensor conv_1d(Tensor x, int64_t to, int stride) {
    return add(ggml_conv_1d(ctx, weight(3, x->ne[1], to, 1, GGML_TYPE_F16), x, stride, 1, 1), weight(1, to));
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
    bool flash = false;
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
    if (a.flash) {
      v = cont(ggml_permute(ctx, v, 0, 2, 1, 3));
      x = ggml_flash_attn_ext(ctx, q, cont(k), v, nullptr, scale, 0, 0);
      x = ggml_reshape_2d(ctx, x, head * a.heads, n);
    } else {
      v = cont(ggml_permute(ctx, v, 1, 2, 0, 3));
      Tensor scores = ggml_soft_max_ext(ctx, ggml_mul_mat(ctx, k, q), a.mask, scale, 0);
      x = cont(ggml_permute(ctx, ggml_mul_mat(ctx, v, scores), 0, 2, 1, 3));
      x = ggml_reshape_2d(ctx, x, head * a.heads, n);
    }
    return a.positions ? matmul(x, x->ne[0]) : linear(x, x->ne[0]);
  }
  Tensor gelu_mlp(Tensor x, int64_t hidden) { return linear(ggml_gelu(ctx, linear(x, hidden)), x->ne[0]); }
  Tensor gated(Tensor x, int64_t hidden, bool gelu = false) {
    Tensor gate = matmul(x, hidden);
    gate = gelu ? ggml_gelu(ctx, gate) : silu(gate);
    return matmul(mul(gate, matmul(x, hidden)), x->ne[0]);
  }
  Tensor experts(Tensor x, int64_t hidden, int count, int used) {
    Tensor chosen = ggml_soft_max(ctx, matmul(x, count)), ids = ggml_argsort_top_k(ctx, chosen, used);
    Tensor share = ggml_get_rows(ctx, ggml_reshape_3d(ctx, chosen, 1, count, x->ne[1]), ids);
    Tensor in = ggml_reshape_3d(ctx, x, x->ne[0], 1, x->ne[1]);
    const auto each = [&](Tensor from, int64_t to) {
      return ggml_mul_mat_id(ctx, weight(from->ne[0], to, count), from, ids);
    };
    Tensor down = mul(each(mul(silu(each(in, hidden)), each(in, hidden)), x->ne[0]), share), sum = nullptr;
    for (int k = 0; k < used; ++k) {
      Tensor one = ggml_view_2d(ctx, down, x->ne[0], x->ne[1], down->nb[2], k * down->nb[1]);
      sum = sum ? add(sum, one) : one;
    }
    return sum;
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
  Tensor bottleneck(Tensor x, int64_t to, int stride) {
    Tensor y = conv(relu(conv(relu(conv(x, to / 4, 1)), to / 4, 3, stride)), to, 1);
    return relu(add(stride > 1 || x->ne[2] != to ? conv(x, to, 1, stride) : x, y));
  }
  Tensor inverted(Tensor x, int64_t to, int stride, bool excite) { // of MobileNet and EfficientNet
    Tensor y = silu(depthwise(silu(conv(x, 4 * x->ne[2], 1)), 3, stride));
    if (excite) y = mul(y, ggml_sigmoid(ctx, conv(silu(conv(average(y), 8, 1)), y->ne[2], 1)));
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
  Tensor spatial(Tensor x, int heads, Tensor text) { // attention over the pixels of an image, and to a text
    Tensor y = tokens(group(x, 8));
    y = add(y, attention(norm(y), {heads}));
    if (text) y = add(y, attention(norm(y), {.heads = heads, .from = text}));
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

inline void llama(Network &n, int tokens, int past, int layers, int width, bool moe = false, bool flash = false,
                  bool gemma = false) {
  Tensor x = n.embedded(tokens, width), at = n.input(tokens, 1, 1, 1, GGML_TYPE_I32);
  Tensor mask = tokens > 1 && !flash ? n.input(past + tokens, tokens) : nullptr;
  for (int k = 0; k < layers; ++k) {
    Tensor y = n.attention(n.rms(x), {8, 4, at, mask, nullptr, past, flash});
    x = n.add(x, gemma ? n.rms(y) : y);
    y = moe ? n.experts(n.rms(x), width, 8, 2) : n.gated(n.rms(x), width * 11 / 4, gemma);
    x = n.add(x, gemma ? n.rms(y) : y);
  }
  n.output(n.matmul(n.rms(x), 1000));
}

inline void diffusion(Network &n, int side, int width, int levels, Tensor text = nullptr) {
  Tensor x = n.conv(n.input(side, side, 4), width, 3), time = n.linear(n.input(width), 2 * width);
  std::vector<Tensor> skips = {x};
  for (int level = 0; level < levels; ++level) {
    for (int k = 0; k < 2; ++k) {
      x = n.time_block(x, time, width << level);
      if (level) x = n.spatial(x, 4, text);
      skips.push_back(x);
    }
    if (level < levels - 1) skips.push_back(x = n.conv(x, width << level, 3, 2));
  }
  x = n.time_block(n.spatial(n.time_block(x, time, x->ne[2]), 4, text), time, x->ne[2]);
  for (int level = levels - 1; level >= 0; --level) {
    for (int k = 0; k < 3; ++k) {
      x = n.time_block(n.channels(x, skips.back()), time, width << level), skips.pop_back();
      if (level) x = n.spatial(x, 4, text);
    }
    if (level) x = n.conv(n.upscale(x), width << level, 3);
  }
  n.output(n.conv(n.silu(n.group(x, 8)), 4, 3));
}

inline void unet(Network &n, int side, int width, bool twice) {
  Tensor x = n.input(side, side, 3);
  std::vector<Tensor> skips;
  for (int level = 0; level < 4; ++level) {
    x = n.relu(n.conv(x, width << level, 3));
    if (twice) x = n.relu(n.conv(x, width << level, 3));
    skips.push_back(x), x = n.pool(x, 2, 2);
  }
  for (int level = 3; level >= 0; --level) {
    x = n.channels(n.upscale(n.conv(x, width << level, 1)), skips[level]);
    x = n.relu(n.conv(x, width << level, 3));
    if (twice) x = n.relu(n.conv(x, width << level, 3));
  }
  n.output(n.conv(x, 2, 1));
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
    {"mlp_mixer", [](Network &n) {
       Tensor x = n.patches(112, 16, 128);
       for (int k = 0; k < 4; ++k) {
         Tensor y = n.gelu_mlp(n.cont(ggml_transpose(n.ctx, n.norm(x))), 64);
         x = n.add(x, n.cont(ggml_transpose(n.ctx, y))), x = n.add(x, n.gelu_mlp(n.norm(x), 512));
       }
       n.output(n.linear(x, 100));
     }},
    {"autoencoder", [](Network &n) {
       Tensor x = n.input(640, 32);
       for (int width : {128, 128, 8, 128, 128}) x = n.relu(n.linear(x, width));
       n.output(n.linear(x, 640));
     }},
    {"lstm", [](Network &n) {
       Tensor h = n.input(128), c = n.input(128), x = n.input(64, 12);
       Tensor w = n.weight(64, 512), u = n.weight(128, 512), all = ggml_mul_mat(n.ctx, w, x);
       for (int t = 0; t < 12; ++t) {
         Tensor g = n.add(ggml_mul_mat(n.ctx, u, h), ggml_view_1d(n.ctx, all, 512, t * all->nb[1]));
         const auto part = [&](int k) { return ggml_view_1d(n.ctx, g, 128, k * 512); };
         c = n.add(n.mul(ggml_sigmoid(n.ctx, part(0)), c), n.mul(ggml_sigmoid(n.ctx, part(1)), ggml_tanh(n.ctx, part(2))));
         h = n.mul(ggml_sigmoid(n.ctx, part(3)), ggml_tanh(n.ctx, c));
       }
       n.output(n.linear(h, 10));
     }},
    {"lenet", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(28, 28, 1, 16), 8, 3)), 2, 2);
       x = n.pool(n.relu(n.conv(x, 16, 3)), 2, 2);
       n.output(n.linear(ggml_reshape_2d(n.ctx, n.cont(x), 784, 16), 10));
     }},
    {"vgg11", [](Network &n) {
       Tensor x = n.input(64, 64, 3);
       for (int width : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0})
         x = width ? n.relu(n.conv(x, width, 3)) : n.pool(x, 2, 2);
       n.output(n.linear(n.relu(n.linear(n.flat(x), 512)), 100));
     }},
    {"squeezenet", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(96, 96, 3), 64, 3, 2)), 3, 2);
       for (int squeeze : {16, 16, 32, 32}) {
         Tensor s = n.relu(n.conv(x, squeeze, 1));
         x = n.channels(n.relu(n.conv(s, 4 * squeeze, 1)), n.relu(n.conv(s, 4 * squeeze, 3)));
       }
       n.output(n.average(n.conv(x, 100, 1)));
     }},
    {"inception", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(64, 64, 3), 64, 3)), 3, 2);
       for (int k = 0; k < 3; ++k) {
         Tensor a = n.relu(n.conv(x, 32, 1)), b = n.relu(n.conv(n.relu(n.conv(x, 32, 1)), 64, 3));
         Tensor c = n.relu(n.conv(n.relu(n.conv(x, 16, 1)), 32, 5)), d = n.relu(n.conv(n.pool(x, 3, 1, 1), 32, 1));
         x = n.channels(n.channels(n.channels(a, b), c), d);
       }
       n.output(n.linear(n.flat(n.average(x)), 100));
     }},
    {"resnet18", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(112, 112, 3), 64, 7, 2)), 3, 2, 1);
       for (int width : {64, 128, 256, 512}) x = n.residual(n.residual(x, width, width > 64 ? 2 : 1), width, 1);
       n.output(n.linear(n.flat(n.average(x)), 1000));
     }},
    {"resnet50", [](Network &n) {
       Tensor x = n.pool(n.relu(n.conv(n.input(64, 64, 3), 64, 7, 2)), 3, 2, 1);
       for (auto [width, count] : {std::pair{256, 3}, {512, 4}, {1024, 6}})
         for (int k = 0; k < count; ++k) x = n.bottleneck(x, width, k == 0 && width > 256 ? 2 : 1);
       n.output(n.linear(n.flat(n.average(x)), 100));
     }},
    {"densenet", [](Network &n) {
       Tensor x = n.conv(n.input(64, 64, 3), 16, 3);
       for (int block = 0; block < 3; ++block) {
         for (int k = 0; k < 6; ++k) x = n.channels(x, n.conv(n.relu(n.group(x, 4)), 12, 3));
         x = n.pool(n.conv(x, x->ne[2] / 8 * 4, 1), 2, 2, 0, GGML_OP_POOL_AVG);
       }
       n.output(n.linear(n.flat(x), 10));
     }},
    {"mobilenet_v1", [](Network &n) {
       Tensor x = n.relu(n.conv(n.input(96, 96, 3), 16, 3, 2));
       for (int width : {32, 64, 64, 128, 128, 256})
         x = n.relu(n.conv(n.relu(n.depthwise(x, 3, x->ne[2] < width && width > 32 ? 2 : 1)), width, 1));
       n.output(n.linear(n.flat(n.average(x)), 10));
     }},
    {"mobilenet_v2", [](Network &n) {
       Tensor x = n.conv(n.input(96, 96, 3), 16, 3, 2);
       for (int width : {16, 24, 24, 32, 32, 64, 64, 96}) x = n.inverted(x, width, x->ne[2] < width ? 2 : 1, false);
       n.output(n.linear(n.flat(n.average(x)), 100));
     }},
    {"efficientnet", [](Network &n) {
       Tensor x = n.silu(n.conv(n.input(96, 96, 3), 16, 3, 2));
       for (int width : {16, 24, 24, 40, 40, 80}) x = n.inverted(x, width, x->ne[2] < width ? 2 : 1, true);
       n.output(n.linear(n.flat(n.average(x)), 100));
     }},
    {"convnext", [](Network &n) {
       Tensor x = n.conv(n.input(96, 96, 3), 32, 4, 4);
       for (int width : {32, 32, 64, 64, 128}) {
         if (x->ne[2] < width) x = n.conv(x, width, 2, 2);
         Tensor y = n.gelu_mlp(n.norm(n.tokens(n.depthwise(x, 7))), 4 * width);
         y = n.cont(ggml_transpose(n.ctx, y));
         x = n.add(x, ggml_reshape_3d(n.ctx, y, x->ne[0], x->ne[1], width));
       }
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
    {"hourglass", [](Network &n) {
       Tensor x = n.relu(n.conv(n.input(96, 96, 3), 32, 7, 2));
       for (int stack = 0; stack < 2; ++stack) {
         std::vector<Tensor> skips;
         for (int k = 0; k < 3; ++k) skips.push_back(n.residual(x, 32, 1)), x = n.residual(n.pool(x, 2, 2), 32, 1);
         for (int k = 2; k >= 0; --k) x = n.add(n.upscale(n.residual(x, 32, 1)), skips[k]);
         n.output(n.conv(x, 16, 1)), x = n.conv(x, 32, 1);
       }
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
    {"unet", [](Network &n) { unet(n, 128, 8, true); }},
    {"unet_small", [](Network &n) { unet(n, 64, 4, false); }},
    {"super_resolution", [](Network &n) {
       Tensor x = n.conv(n.input(48, 48, 3), 32, 3), first = x;
       for (int k = 0; k < 6; ++k) x = n.add(x, n.conv(n.relu(n.conv(x, 32, 3)), 32, 3));
       n.output(n.conv(n.relu(n.conv(n.upscale(n.add(x, first)), 32, 3)), 3, 3));
     }},
    {"style", [](Network &n) {
       Tensor x = n.relu(n.group(n.conv(n.input(96, 96, 3), 16, 9), 16));
       for (int width : {32, 64}) x = n.relu(n.group(n.conv(x, width, 3, 2), width));
       for (int k = 0; k < 3; ++k) x = n.residual(x, 64, 1);
       for (int width : {32, 16}) x = n.relu(n.group(n.conv(n.upscale(x), width, 3), width));
       n.output(ggml_tanh(n.ctx, n.conv(x, 3, 9)));
     }},
    {"diffusion", [](Network &n) { diffusion(n, 32, 64, 3); }},
    {"diffusion_text", [](Network &n) { diffusion(n, 16, 32, 3, n.input(96, 20)); }},
    {"vae_decoder", [](Network &n) {
       Tensor x = n.conv(n.input(sized(16), sized(16), 4), 64, 3), time = n.input(64);
       x = n.spatial(n.time_block(x, time, 64), 1, nullptr);
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
    {"llama_flash", [](Network &n) { llama(n, 128, 128, 6, 256, false, true); }},
    {"mixtral", [](Network &n) { llama(n, 64, 64, 4, 256, true); }},
    {"gemma", [](Network &n) { llama(n, 64, 64, 6, 256, false, false, true); }},
    {"bert", [](Network &n) {
       Tensor x = n.norm(n.add(n.embedded(96, 192), n.weight(192, 96)));
       for (int k = 0; k < 6; ++k) {
         x = n.norm(n.add(x, n.attention(x, {6}))), x = n.norm(n.add(x, n.gelu_mlp(x, 768)));
       }
       n.output(n.linear(x, 192));
     }},
    {"clip_text", [](Network &n) {
       n.output(n.matmul(n.layers(n.add(n.embedded(77, 128), n.weight(128, 77)), 6, 4), 128));
     }},
    {"t5", [](Network &n) {
       Tensor x = n.embedded(48, 128), y = n.embedded(16, 128), bias = n.input(48, 48), mask = n.input(16, 16);
       for (int k = 0; k < 4; ++k) {
         x = n.add(x, n.attention(n.rms(x), {.heads = 4, .mask = bias})), x = n.add(x, n.gated(n.rms(x), 320, true));
       }
       x = n.rms(x);
       for (int k = 0; k < 4; ++k) {
         y = n.add(y, n.attention(n.rms(y), {.heads = 4, .mask = mask}));
         y = n.add(y, n.attention(n.rms(y), {.heads = 4, .from = x})), y = n.add(y, n.gated(n.rms(y), 320, true));
       }
       n.output(n.matmul(n.rms(y), 1000));
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
    {"whisper", [](Network &n) {
       Tensor x = ggml_gelu(n.ctx, n.conv_1d(n.input(400, 80), 192, 1));
       x = n.cont(ggml_transpose(n.ctx, ggml_gelu(n.ctx, n.conv_1d(x, 192, 2))));
       n.output(n.layers(n.add(x, n.weight(192, x->ne[1])), 4, 6));
     }},
    {"whisper_decoder", [](Network &n) {
       Tensor x = n.embedded(16, 192), audio = n.input(192, 200), mask = n.input(16, 16);
       for (int k = 0; k < 4; ++k) {
         x = n.add(x, n.attention(n.norm(x), {.heads = 6, .mask = mask}));
         x = n.add(x, n.attention(n.norm(x), {.heads = 6, .from = audio})), x = n.add(x, n.gelu_mlp(n.norm(x), 768));
       }
       n.output(n.matmul(n.norm(x), 1000));
     }},
    {"mlp_train", [](Network &n) {
       std::vector<Tensor> parameters;
       Tensor x = n.input(256, 64);
       for (int width : {512, 256, 256, 128}) x = n.relu(trained(n, x, width, parameters));
       train(n, trained(n, x, 10, parameters), parameters);
     }},
    {"mlp_train_wide", [](Network &n) {
       std::vector<Tensor> parameters;
       Tensor x = n.input(64, 256), first = x = n.relu(trained(n, x, 512, parameters));
       for (int k = 0; k < 4; ++k) x = n.add(first, n.silu(trained(n, x, 512, parameters)));
       train(n, trained(n, x, 10, parameters), parameters);
     }},
};
