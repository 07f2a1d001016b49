/* SPDX-License-Identifier: Apache-2.0
 *
 * ggml on plans of memplan. edit.py includes this file in ggml-alloc.c behind `struct ggml_gallocr`, and has
 * ggml_gallocr_reserve_n_impl call memplan_finish once a graph has been walked.
 *
 * ggml walks the graph as it always does, and decides what is in place, a view, an output, or of which buffer type. Each
 * tensor then has ggml's own address and a row here, with the times of its allocation and release; what ggml holds as the
 * address until the walk is over is the row's number. memplan_finish plans the rows of each buffer type and writes
 * memplan's addresses where they need fewer bytes, and ggml's own ones everywhere else. Where ggml is at the live-set
 * bound already, nothing is planned. GGML_MEMPLAN=0 leaves all plans to ggml; GGML_MEMPLAN=log prints each plan.
 *
 * Where tensors need more than the largest buffer of a type, none crosses a multiple of that size, and each multiple
 * begins a chunk. */
#include "memplan.h"

typedef struct memplan_row {
    struct ggml_dyn_tallocr * of;
    struct buffer_address addr; /* ggml's own, then the one that the tensor gets */
    int64_t size, begin, end;
} memplan_row;

/* Rows of the graph that this thread walks; numbers at and above GGML_VBUFFER_MAX_CHUNKS stand for rows in `chunk`. */
static _Thread_local struct { memplan_row * rows; size_t count, room; int64_t clock; } memplan_walk;

static struct buffer_address memplan_alloc(struct ggml_dyn_tallocr * alloc, size_t size, const struct ggml_tensor * tensor) {
    const struct buffer_address own = ggml_dyn_tallocr_alloc(alloc, size, tensor);
    if (memplan_walk.count == memplan_walk.room) {
        memplan_walk.room = 2 * memplan_walk.room + 64;
        memplan_walk.rows = realloc(memplan_walk.rows, memplan_walk.room * sizeof(memplan_row));
        GGML_ASSERT(memplan_walk.rows != NULL);
    }
    memplan_walk.rows[memplan_walk.count++] = (memplan_row) {
        alloc, own, (int64_t) aligned_offset(NULL, size, alloc->alignment), memplan_walk.clock++, INT64_MAX };
    return (struct buffer_address) { GGML_VBUFFER_MAX_CHUNKS + (int) memplan_walk.count - 1, 0 };
}

static void memplan_free_bytes(struct ggml_dyn_tallocr * alloc, struct buffer_address addr, size_t size) {
    memplan_row * row = &memplan_walk.rows[addr.chunk - GGML_VBUFFER_MAX_CHUNKS];
    const struct buffer_address own = { row->addr.chunk, row->addr.offset + addr.offset };
    /* the end of a row whose place a smaller tensor took is free earlier for ggml; here it stays with the rest */
    if (addr.offset == 0) row->end = memplan_walk.clock++;
    ggml_dyn_tallocr_free_bytes(alloc, own, size);
}

/* The bytes of all chunks. */
static size_t memplan_total(const size_t * chunks) {
    size_t total = 0;
    for (int c = 0; c < GGML_VBUFFER_MAX_CHUNKS; c++) total += chunks[c];
    return total;
}

/* The bytes of a buffer type that are alive at one time, below which no plan can be. */
static size_t memplan_live(const struct ggml_dyn_tallocr * alloc) {
    int64_t alive = 0, most = 0;
    int64_t * change = calloc((size_t) memplan_walk.clock + 1, sizeof(int64_t));
    GGML_ASSERT(change != NULL);
    for (size_t k = 0; k < memplan_walk.count; k++) {
        const memplan_row * row = &memplan_walk.rows[k];
        if (row->of != alloc) continue;
        change[row->begin] += row->size;
        if (row->end != INT64_MAX) change[row->end] -= row->size;
    }
    for (int64_t t = 0; t < memplan_walk.clock; t++) {
        alive += change[t];
        most = MAX(most, alive);
    }
    free(change);
    return (size_t) most;
}

/* Plan one buffer type where ggml is above its bound, and write the addresses of its rows where they need fewer bytes. */
static void memplan_plan_type(struct ggml_dyn_tallocr * alloc, bool log) {
    size_t own[GGML_VBUFFER_MAX_CHUNKS] = {0}, ours[GGML_VBUFFER_MAX_CHUNKS] = {0};
    for (int c = 0; c < alloc->n_chunks; c++) own[c] = alloc->chunks[c]->max_size;
    const size_t live = memplan_live(alloc);
    if (memplan_total(own) <= live && !log) return;
    memplan_buffer * buffers = malloc((memplan_walk.count + 1) * sizeof(memplan_buffer));
    int64_t * offsets = malloc((memplan_walk.count + 1) * sizeof(int64_t));
    GGML_ASSERT(buffers != NULL && offsets != NULL);
    memplan_problem problem = MEMPLAN_PROBLEM_INIT;
    problem.buffers = buffers;
    const bool chunks = alloc->n_chunks > 1;
    if (chunks) problem.capacity = (int64_t) alloc->max_chunk_size * GGML_VBUFFER_MAX_CHUNKS;
    for (size_t k = 0; k < memplan_walk.count; k++) {
        const memplan_row * row = &memplan_walk.rows[k];
        if (row->of != alloc) continue;
        buffers[problem.count++] = (memplan_buffer) {
            row->size, row->begin, row->end == INT64_MAX ? memplan_walk.clock : row->end,
            (int64_t) alloc->alignment, MEMPLAN_FREE, 0, 0, chunks ? (int64_t) alloc->max_chunk_size : 0 };
    }
    /* quick orders, which most graphs are done with; else a search of a tenth of a millisecond */
    const memplan_options quick = { .work = 0 }, search = { .work = 1000 };
    memplan_result result = memplan_plan(&problem, &quick, offsets);
    if (result.status == MEMPLAN_FEASIBLE || result.status == MEMPLAN_UNKNOWN) {
        result = memplan_plan(&problem, &search, offsets);
    }
    const bool planned = result.status <= MEMPLAN_FEASIBLE;
    const size_t most = chunks ? alloc->max_chunk_size : SIZE_MAX;
    for (size_t k = 0; planned && k < problem.count; k++) {
        size_t * end = &ours[(size_t) offsets[k] / most];
        *end = MAX(*end, (size_t) offsets[k] % most + (size_t) buffers[k].size);
    }
    const bool better = planned && memplan_total(ours) < memplan_total(own);
    for (size_t k = 0, at = 0; better && k < memplan_walk.count; k++) {
        memplan_row * row = &memplan_walk.rows[k];
        if (row->of != alloc) continue;
        row->addr = (struct buffer_address) { (int) ((size_t) offsets[at] / most), (size_t) offsets[at] % most };
        at++;
    }
    for (int c = 0; better && c < GGML_VBUFFER_MAX_CHUNKS; c++) {
        if (ours[c] > 0 && c >= alloc->n_chunks) ggml_dyn_tallocr_new_chunk(alloc, 0);
        if (c < alloc->n_chunks) alloc->chunks[c]->max_size = ours[c];
    }
    for (int c = alloc->n_chunks - 1; better && c > 0 && ours[c] == 0; c--) {
        free(alloc->chunks[c]);
        alloc->chunks[alloc->n_chunks = c] = NULL;
    }
    if (log) fprintf(stderr, "memplan: %zu tensors, ggml %zu, memplan %zu, bound %zu\n", problem.count,
                     memplan_total(own), memplan_total(better ? ours : own), live);
    free(buffers);
    free(offsets);
}

static void memplan_finish(ggml_gallocr_t galloc) {
    const char * mode = getenv("GGML_MEMPLAN");
    const bool log = mode != NULL && strcmp(mode, "log") == 0;
    for (int i = 0; i < galloc->n_buffers && !(mode != NULL && strcmp(mode, "0") == 0); i++) {
        bool first = true;
        for (int j = 0; j < i; j++) first = first && galloc->buf_tallocs[j] != galloc->buf_tallocs[i];
        if (first) memplan_plan_type(galloc->buf_tallocs[i], log);
    }
    for (size_t i = 0; i < galloc->hash_set.size; i++) {
        struct buffer_address * addr = &galloc->hash_values[i].addr;
        if (!ggml_bitset_get(galloc->hash_set.used, i) || addr->chunk < GGML_VBUFFER_MAX_CHUNKS) continue;
        *addr = memplan_walk.rows[addr->chunk - GGML_VBUFFER_MAX_CHUNKS].addr;
    }
    free(memplan_walk.rows);
    memset(&memplan_walk, 0, sizeof(memplan_walk));
}

#define ggml_dyn_tallocr_alloc memplan_alloc
#define ggml_dyn_tallocr_free_bytes memplan_free_bytes
