// graphs [NAME [DUMP]]: a network of networks.hpp through ggml's allocator and its CPU backend, in four ways; a line of
// JSON with the bytes of each, the time of a plan, and a hash of what was computed. Without NAME: the names.
// `graphs NAME DUMP DIM SIZE...` runs nothing: DUMP gets the graph at each size of its dimension.
//
//   plain    ggml_gallocr of one buffer type; DUMP gets the graph (graph_json.h), DUMP.types that of `types`
//   chunks   the same where no buffer is larger than a third of that, or the largest tensor
//   types    two buffer types in turns, node by node
//   devices  the scheduler over two backends, each with a buffer type that the other cannot read; every node is hashed
//
// Each way counts the pairs of tensors alive together that share bytes, from the addresses alone.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include "ggml-backend-impl.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

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

struct Hash {
  uint64_t value = 14695981039346656037u;
  void add(Tensor t) {
    std::vector<unsigned char> bytes(ggml_nbytes(t));
    ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    for (unsigned char byte : bytes) value = (value ^ byte) * 1099511628211u;
  }
};

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

struct Way {
  const char *name;
  size_t bytes = 0;
  uint64_t hash = 0;
  int overlaps = 0;
};

// Inputs, two runs, a hash of outputs and weights.
template <typename Run> static uint64_t hash_of(Network &net, Run &&run) {
  Hash hash;
  uint64_t state = 7;
  for (int k = 0; k < 2; ++k) {
    for (Tensor t : net.inputs)
      if (t->buffer) fill(t, state);
    ggml_graph_reset(net.graph); // the gradient of a loss is 1
    run(hash);
    for (Tensor t : net.outputs) hash.add(t);
    for (Tensor t = ggml_get_first_tensor(net.weights); t; t = ggml_get_next_tensor(net.weights, t)) hash.add(t);
  }
  return hash.value;
}

struct Made { // a network whose weights have memory and values
  Network net;
  ggml_backend_buffer_t buffer;
  Made(const char *name, ggml_backend_t backend) {
    kNetworks.at(name)(net);
    buffer = ggml_backend_alloc_ctx_tensors(net.weights, backend);
    ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    uint64_t state = 1;
    const bool run = !strchr(name, '+');
    for (Tensor t = ggml_get_first_tensor(net.weights); t && run; t = ggml_get_next_tensor(net.weights, t)) fill(t, state);
  }
  ~Made() { ggml_backend_buffer_free(buffer); }
};

static Way allocated(const char *way, const char *name, ggml_backend_t cpu, std::vector<ggml_backend_buffer_type_t> types,
                     const char *dump) {
  Made made(name, cpu);
  ggml_cgraph *graph = made.net.graph;
  const int count = int(types.size());
  std::vector<int> nodes(ggml_graph_n_nodes(graph)), leaves(16384);
  for (size_t k = 0; k < nodes.size(); ++k) nodes[k] = int(k) % count;
  ggml_gallocr_t allocator = ggml_gallocr_new_n(types.data(), count);
  Way result{way};
  if (!ggml_gallocr_reserve_n(allocator, graph, nodes.data(), leaves.data()) || !ggml_gallocr_alloc_graph(allocator, graph))
    return puts("no memory"), exit(1), result;
  for (int k = 0; k < count; ++k) result.bytes += ggml_gallocr_get_buffer_size(allocator, k);
  if (dump) {
    FILE *file = fopen(dump, "w");
    memplan_write_graph(graph, file, nullptr, 0), fclose(file);
  }
  result.overlaps = overlaps(graph);
  result.hash = hash_of(made.net, [&](Hash &) { ggml_backend_graph_compute(cpu, graph); });
  ggml_gallocr_free(allocator);
  return result;
}

static ggml_backend_buffer_type type_like(ggml_backend_buffer_type_t cpu) { return *cpu; }

static Way scheduled(const char *name, ggml_backend_t cpu) {
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
  Hash *hash_now = nullptr;
  const auto look = [](Tensor t, bool ask, void *to) {
    if (!ask && ggml_is_contiguous(t) && !ggml_is_empty(t)) (*static_cast<Hash **>(to))->add(t);
    return true;
  };
  ggml_backend_sched_set_eval_callback(scheduler, look, &hash_now);
  Way result{"devices"};
  if (!ggml_backend_sched_alloc_graph(scheduler, graph)) return puts("no memory"), exit(1), result;
  for (ggml_backend_t each : backends) result.bytes += ggml_backend_sched_get_buffer_size(scheduler, each);
  result.hash = hash_of(made.net, [&](Hash &hash) { hash_now = &hash, ggml_backend_sched_graph_compute(scheduler, graph); });
  ggml_backend_sched_free(scheduler);
  return result;
}

static void written(const char *name, ggml_backend_t cpu, FILE *file, const char *dim) {
  Made made(name, cpu);
  ggml_gallocr_t allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(cpu));
  if (!ggml_gallocr_alloc_graph(allocator, made.net.graph)) puts("no memory"), exit(1);
  memplan_write_graph(made.net.graph, file, dim, kSize);
  ggml_gallocr_free(allocator);
}

static double now_us() { // of this thread, whatever else the machine does
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
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
  std::vector<double> times;
  size_t size = 0, own = 0, tensor = 0;
  int nodes = 0;
  const std::string mode = getenv("GGML_MEMPLAN") ? getenv("GGML_MEMPLAN") : "";
  {
    Made made(name, cpu);
    ggml_gallocr_t allocator = ggml_gallocr_new(type);
    for (int k = 0; k < 500; ++k) {
      const double start = now_us();
      ggml_gallocr_reserve_n_size(allocator, made.net.graph, nullptr, nullptr, &size);
      times.push_back(now_us() - start);
    }
    setenv("GGML_MEMPLAN", "0", true); // chunks are the same, whoever plans
    ggml_gallocr_reserve_n_size(allocator, made.net.graph, nullptr, nullptr, &own);
    mode.empty() ? unsetenv("GGML_MEMPLAN") : setenv("GGML_MEMPLAN", mode.c_str(), true);
    nodes = ggml_graph_n_nodes(made.net.graph);
    for (int k = 0; k < nodes; ++k) tensor = std::max(tensor, ggml_nbytes(ggml_graph_node(made.net.graph, k)));
    ggml_gallocr_free(allocator);
  }
  std::sort(times.begin(), times.end());
  printf("{\"network\": \"%s\", \"nodes\": %d, \"bytes\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f", name, nodes, size,
         times[times.size() / 2], times[times.size() * 99 / 100]);
  if (!strchr(name, '+')) {
    static size_t largest;
    largest = (std::max(own / 3, tensor) + 4095) / 4096 * 4096;
    ggml_backend_buffer_type small = *type, other = *type;
    other.iface.get_name = [](ggml_backend_buffer_type_t) { return "OTHER"; };
    const std::string types_file = std::string(dump ? dump : "") + ".types";
    const char *types = dump ? types_file.c_str() : nullptr;
    small.iface.get_max_size = [](ggml_backend_buffer_type_t) { return largest; };
    for (const Way &way : {allocated("plain", name, cpu, {type}, dump), allocated("chunks", name, cpu, {&small}, nullptr),
                           allocated("types", name, cpu, {type, &other}, types), scheduled(name, cpu)})
      printf(", \"%s\": {\"bytes\": %zu, \"hash\": \"%016llx\", \"overlaps\": %d}", way.name, way.bytes,
             (unsigned long long)way.hash, way.overlaps);
  }
  puts("}");
  ggml_backend_free(cpu);
  return 0;
}
