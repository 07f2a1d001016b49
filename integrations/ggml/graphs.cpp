// graphs [NAME [DUMP]]: a network of networks.hpp through ggml's allocator and its CPU backend, in four ways, each with an
// allocator of its own: watch.c measures it, and hashes all that is read here. Without NAME: the names.
// `graphs NAME DUMP DIM SIZE...` runs nothing: DUMP gets the graph at each size of its dimension.
//
//   plain    ggml_gallocr of one buffer type; DUMP gets the graph (graph_json.h), DUMP.types that of `types`
//   chunks   the same where no buffer is larger than a third of that, or the largest tensor
//   types    two buffer types in turns, node by node
//   devices  the scheduler over two backends, each with a buffer type that the other cannot read; every node is read
//
// Where tensors that are alive together share bytes, from the addresses alone, it ends with exit status 3.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include "ggml-backend-impl.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "graph_json.h"
#include "networks.hpp"

static void fill(Tensor t, uint64_t &state) {
  const int64_t n = ggml_nelements(t);
  std::vector<char> bytes(ggml_nbytes(t));
  const float scale = t->ne[1] > 1 ? 2 / std::sqrt(float(t->ne[0] * t->ne[1])) : 1;
  for (int64_t k = 0; k < n; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const float value = scale * float(int64_t(state >> 40) - (1 << 23)) / (1 << 23);
    if (t->type == GGML_TYPE_I32) reinterpret_cast<int32_t *>(bytes.data())[k] = int32_t(k * 7 % 16);
    if (t->type == GGML_TYPE_F32) reinterpret_cast<float *>(bytes.data())[k] = value;
    if (t->type == GGML_TYPE_F16) reinterpret_cast<ggml_fp16_t *>(bytes.data())[k] = ggml_fp32_to_fp16(value);
  }
  ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
}

static void read(Tensor t) {
  std::vector<char> bytes(ggml_nbytes(t));
  ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
}

// Pairs of tensors that share bytes and are alive together: from the node that makes one (leaves: from before the first)
// to its last reader, or the end of the graph for outputs. A node may take the place of a source that it reads last.
static int overlaps(ggml_cgraph *graph) {
  struct Life {
    char *low, *high;
    int first, last;
  };
  std::map<Tensor, Life> lives;
  const auto root = [](Tensor t) { return t->view_src ? t->view_src : t; };
  const int count = ggml_graph_n_nodes(graph);
  const auto use = [&](Tensor t, int node) {
    t = root(t);
    const bool computed = t->buffer && ggml_backend_buffer_get_usage(t->buffer) == GGML_BACKEND_BUFFER_USAGE_COMPUTE;
    if (!computed || t->data == nullptr) return;
    char *low = static_cast<char *>(t->data);
    Life &life = lives.emplace(t, Life{low, low + ggml_nbytes(t), node, node}).first->second;
    life.last = t->flags & GGML_TENSOR_FLAG_OUTPUT ? count : std::max(life.last, node);
  };
  for (int k = 0; k < count; ++k) {
    Tensor node = ggml_graph_node(graph, k);
    for (Tensor source : node->src)
      if (source) use(source, lives.count(root(source)) || root(source)->op != GGML_OP_NONE ? k : -1), use(source, k);
    if (node->op != GGML_OP_NONE && !ggml_is_empty(node)) use(node, k);
  }
  int pairs = 0;
  for (const auto &[a, x] : lives)
    for (const auto &[b, y] : lives)
      if (x.first < y.first && y.first < x.last + (x.low != y.low) && x.low < y.high && y.low < x.high) ++pairs;
  return pairs;
}

// Inputs, two runs; outputs and weights are read.
template <typename Run> static void run_twice(Network &net, Run &&run) {
  uint64_t state = 7;
  for (int k = 0; k < 2; ++k) {
    for (Tensor t : net.inputs)
      if (t->buffer) fill(t, state);
    ggml_graph_reset(net.graph); // the gradient of a loss is 1
    run();
    for (Tensor t : net.outputs) read(t);
    for (Tensor t = ggml_get_first_tensor(net.weights); t; t = ggml_get_next_tensor(net.weights, t)) read(t);
  }
}

struct Made { // a network whose weights have memory and values
  Network net;
  ggml_backend_buffer_t buffer;
  Made(const char *name, ggml_backend_t backend) {
    kNetworks.at(name)(net);
    buffer = ggml_backend_alloc_ctx_tensors(net.weights, backend);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    uint64_t state = 1;
    for (Tensor t = ggml_get_first_tensor(net.weights); t; t = ggml_get_next_tensor(net.weights, t)) fill(t, state);
  }
  ~Made() { ggml_backend_buffer_free(buffer); }
};

static void allocated(const char *name, ggml_backend_t cpu, std::vector<ggml_backend_buffer_type_t> types,
                      const char *dump) {
  Made made(name, cpu);
  ggml_cgraph *graph = made.net.graph;
  const int count = int(types.size());
  std::vector<int> nodes(ggml_graph_n_nodes(graph)), leaves(16384);
  for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = int(k) % count;
  ggml_gallocr_t allocator = ggml_gallocr_new_n(types.data(), count);
  if (!ggml_gallocr_reserve_n(allocator, graph, nodes.data(), leaves.data()) || !ggml_gallocr_alloc_graph(allocator, graph))
    puts("no memory"), exit(1);
  if (dump) {
    FILE *file = fopen(dump, "w");
    memplan_write_graph(graph, file, nullptr, 0), fclose(file);
  }
  if (overlaps(graph)) puts("tensors that are alive together share bytes"), exit(3);
  run_twice(made.net, [&] { ggml_backend_graph_compute(cpu, graph); });
  ggml_gallocr_free(allocator);
}

static void scheduled(const char *name, ggml_backend_t cpu) {
  Made made(name, cpu);
  ggml_cgraph *graph = made.net.graph;
  // Two copies of the CPU's backend: one can read both buffer types, the other its own and the weights' only.
  static ggml_backend_buffer_type_t weights, own;
  weights = ggml_backend_get_default_buffer_type(cpu);
  ggml_backend_buffer_type first_type = *weights;
  ggml_backend_device device = *cpu->device;
  ggml_backend first = *cpu;
  own = &first_type, first_type.device = first.device = &device;
  first_type.iface.is_host = [](ggml_backend_buffer_type_t) { return false; };
  device.iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == own; };
  ggml_backend_t backends[] = {&first, cpu};
  ggml_backend_buffer_type_t types[] = {own, weights};
  ggml_backend_sched_t scheduler = ggml_backend_sched_new(backends, types, 2, 16384, false, true);
  for (int k = 0; k < ggml_graph_n_nodes(graph); ++k) {
    Tensor node = ggml_graph_node(graph, k);
    if (!node->view_src) ggml_backend_sched_set_tensor_backend(scheduler, node, backends[k / 8 % 2]);
  }
  const auto look = [](Tensor t, bool ask, void *) {
    if (!ask && ggml_is_contiguous(t) && !ggml_is_empty(t)) read(t);
    return true;
  };
  ggml_backend_sched_set_eval_callback(scheduler, look, nullptr);
  if (!ggml_backend_sched_alloc_graph(scheduler, graph)) puts("no memory"), exit(1);
  run_twice(made.net, [&] { ggml_backend_sched_graph_compute(scheduler, graph); });
  ggml_backend_sched_free(scheduler);
}

static void written(const char *name, ggml_backend_t cpu, FILE *file, const char *dim) {
  Made made(name, cpu);
  ggml_gallocr_t allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu));
  if (!ggml_gallocr_alloc_graph(allocator, made.net.graph)) puts("no memory"), exit(1);
  memplan_write_graph(made.net.graph, file, dim, kSize);
  ggml_gallocr_free(allocator);
}

int main(int count, char **arguments) {
  if (count < 2 || !kNetworks.count(arguments[1])) {
    for (const auto &[name, build] : kNetworks) printf("%s\n", name.c_str());
    return count < 2 ? 0 : 2;
  }
  const char *name = arguments[1], *dump = count > 2 ? arguments[2] : nullptr;
  ggml_backend_t cpu = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(cpu, 1);
  if (count > 3) {
    FILE *file = fopen(dump, "w");
    for (int k = 4; k < count; ++k) kSize = atoi(arguments[k]), written(name, cpu, file, arguments[3]);
    return fclose(file), ggml_backend_free(cpu), 0;
  }
  ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(cpu);
  static size_t largest;
  {
    Made made(name, cpu);
    ggml_gallocr_t allocator = ggml_gallocr_new(type);
    const std::string mode = getenv("GGML_MEMPLAN") ? getenv("GGML_MEMPLAN") : "";
    setenv("GGML_MEMPLAN", "0", true); // chunks are the same, whoever plans
    ggml_gallocr_reserve_n_size(allocator, made.net.graph, nullptr, nullptr, &largest);
    mode.empty() ? unsetenv("GGML_MEMPLAN") : setenv("GGML_MEMPLAN", mode.c_str(), true);
    largest /= 3;
    for (int k = 0; k < ggml_graph_n_nodes(made.net.graph); ++k)
      largest = std::max(largest, ggml_nbytes(ggml_graph_node(made.net.graph, k)));
    largest = (largest + 4095) / 4096 * 4096;
    ggml_gallocr_free(allocator);
  }
  ggml_backend_buffer_type small = *type, other = *type;
  other.iface.get_name = [](ggml_backend_buffer_type_t) { return "OTHER"; };
  small.iface.get_max_size = [](ggml_backend_buffer_type_t) { return largest; };
  const std::string types = std::string(dump ? dump : "") + ".types";
  allocated(name, cpu, {type}, dump);
  allocated(name, cpu, {&small}, nullptr);
  allocated(name, cpu, {type, &other}, dump ? types.c_str() : nullptr);
  scheduled(name, cpu);
  ggml_backend_free(cpu);
  return 0;
}
