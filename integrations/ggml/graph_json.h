/* SPDX-License-Identifier: Apache-2.0
 * memplan_write_graph(graph, file, NULL, 0): what `memplan` reads of a graph of ggml, once that has its memory (after
 * ggml_gallocr_alloc_graph or ggml_backend_sched_alloc_graph): a line of JSON for the graph, each buffer, tensor, node.
 * memplan_write_graph(graph, file, "n_ctx", 512): the same at a size of a dimension, which is a symbol where the graph
 * at other sizes follows in the same file. Public functions of ggml only; C11 and C++. */
#ifndef MEMPLAN_GRAPH_JSON_H
#define MEMPLAN_GRAPH_JSON_H
#include <ggml-backend.h>
#include <ggml.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct memplan_graph_names {
  const void **rows;
  size_t count, room;
} memplan_graph_names;

/* The number of a tensor or buffer, in the order in which they are first named. A graph has some thousands. */
static size_t memplan_graph_number(memplan_graph_names *names, const void *of) {
  for (size_t k = names->count; k > 0; k--) {
    if (names->rows[k - 1] == of) return k - 1;
  }
  if (names->count == names->room) {
    names->rows = (const void **)realloc((void *)names->rows, (names->room = 2 * names->room + 64) * sizeof(void *));
    if (names->rows == NULL) abort();
  }
  names->rows[names->count] = of;
  return names->count++;
}

static const struct ggml_tensor *memplan_graph_root(const struct ggml_tensor *t) {
  return t->view_src ? t->view_src : t;
}
static void memplan_write_graph(struct ggml_cgraph *graph, FILE *file, const char *dim, long long size) {
  memplan_graph_names tensors = {NULL, 0, 0}, buffers = {NULL, 0, 0};
  fprintf(file, "{\"format\": \"ggml-graph/1\"");
  if (dim) fprintf(file, ", \"dim\": {\"%s\": %lld}", dim, size);
  fprintf(file, "}\n");
  for (int k = 0; k < ggml_graph_n_nodes(graph); k++) {
    const struct ggml_tensor *node = ggml_graph_node(graph, k);
    for (int s = 0; s <= GGML_MAX_SRC; s++) { /* the sources, then the node, each behind what it is a view of */
      const struct ggml_tensor *t = s < GGML_MAX_SRC ? node->src[s] : node;
      if (t) memplan_graph_number(&tensors, memplan_graph_root(t)), memplan_graph_number(&tensors, t);
    }
  }
  for (size_t k = 0; k < tensors.count; k++) {
    const struct ggml_tensor *t = (const struct ggml_tensor *)tensors.rows[k], *root = memplan_graph_root(t);
    const ggml_backend_buffer_t buffer = root->buffer;
    const size_t before = buffers.count, number = buffer ? memplan_graph_number(&buffers, buffer) : 0;
    if (buffers.count > before) {
      fprintf(file, "{\"buffer\": %zu, \"size\": %zu, \"type\": \"%s\", \"alignment\": %zu, \"computed\": %s}\n",
              number, ggml_backend_buffer_get_size(buffer), ggml_backend_buffer_name(buffer),
              ggml_backend_buffer_get_alignment(buffer),
              ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_COMPUTE ? "true" : "false");
    }
    fprintf(file, "{\"tensor\": %zu, \"name\": \"", k);
    for (const char *c = t->name; *c; c++) fputc(*c == '"' || *c == '\\' || *c < ' ' ? '_' : *c, file);
    fprintf(file, "\", \"type\": \"%s\", \"shape\": [%lld, %lld, %lld, %lld], \"bytes\": %zu", ggml_type_name(t->type),
            (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2], (long long)t->ne[3],
            buffer ? ggml_backend_buffer_get_alloc_size(buffer, t) : ggml_nbytes(t));
    if (t != root) {
      fprintf(file, ", \"view_of\": %zu, \"at\": %zu", memplan_graph_number(&tensors, root), t->view_offs);
    } else if (buffer) {
      fprintf(file, ", \"buffer\": %zu, \"offset\": %zu", number,
              (size_t)((const char *)t->data - (const char *)ggml_backend_buffer_get_base(buffer)));
    }
    fprintf(file, "%s%s}\n", t->flags & GGML_TENSOR_FLAG_INPUT ? ", \"input\": true" : "",
            t->flags & GGML_TENSOR_FLAG_OUTPUT ? ", \"output\": true" : "");
  }
  for (int k = 0; k < ggml_graph_n_nodes(graph); k++) {
    const struct ggml_tensor *node = ggml_graph_node(graph, k);
    fprintf(file, "{\"node\": %zu, \"op\": \"%s\", \"reads\": [", memplan_graph_number(&tensors, node),
            ggml_op_desc(node));
    for (int s = 0, any = 0; s < GGML_MAX_SRC; s++) {
      if (node->src[s]) fprintf(file, "%s%zu", any++ ? ", " : "", memplan_graph_number(&tensors, node->src[s]));
    }
    fprintf(file, "]}\n");
  }
  free((void *)tensors.rows), free((void *)buffers.rows);
}
#endif
