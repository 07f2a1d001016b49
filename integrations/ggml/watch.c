/* SPDX-License-Identifier: Apache-2.0
 *
 * Watch any program of ggml, whose libraries are shared: `cc -shared -fPIC -O2 -I GGML/include watch.c -o watch.so`, then
 * LD_PRELOAD=watch.so. At its end the program writes a line of JSON into the file MEMPLAN_WATCH: a hash of every byte
 * that it read from a tensor, and of each allocator (a compute buffer, or one of each device) the bytes, and the
 * microseconds of planning the largest graph, CPU time, the median and the 99th percentile of 200 plans. With
 * GGML_MEMPLAN=log nothing is timed, and the allocator's number precedes its plan. MEMPLAN_CHUNK=BYTES is the largest
 * buffer that a device has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ggml-alloc.h>
#include <ggml-backend.h>

#define ORIGINAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
enum { ALLOCATORS = 256, TIMES = 200, DEVICES = 64 };

static struct { ggml_gallocr_t of; size_t bytes; int plans; double us[TIMES]; } seen[ALLOCATORS];
static int count;
static unsigned long long hash = 14695981039346656037u, bytes_read;

static double now_us(void) { /* of this thread, whatever else the machine does */
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double) time.tv_sec * 1e6 + (double) time.tv_nsec / 1e3;
}

static int by_value(const void * a, const void * b) {
    return (*(const double *) a > *(const double *) b) - (*(const double *) a < *(const double *) b);
}

bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, struct ggml_cgraph * graph, const int * nodes, const int * leaves) {
    int at = 0;
    while (at < count && seen[at].of != galloc) at++;
    if (at == ALLOCATORS) abort();
    if (at == count) seen[count++].of = galloc;
    seen[at].plans++;
    const char * mode = getenv("GGML_MEMPLAN");
    if (mode != NULL && strcmp(mode, "log") == 0) {
        fprintf(stderr, "\nwatch: allocator %d\n", at);
        return ORIGINAL(ggml_gallocr_reserve_n)(galloc, graph, nodes, leaves);
    }
    size_t sizes[DEVICES] = {0}, bytes = 0;
    double us[TIMES];
    for (int k = 0; k < TIMES; k++) {
        const double start = now_us();
        ggml_gallocr_reserve_n_size(galloc, graph, nodes, leaves, sizes);
        us[k] = now_us() - start;
    }
    for (int k = 0; k < DEVICES; k++) bytes += sizes[k];
    if (bytes > seen[at].bytes) {
        seen[at].bytes = bytes;
        memcpy(seen[at].us, us, sizeof us);
    }
    return ORIGINAL(ggml_gallocr_reserve_n)(galloc, graph, nodes, leaves);
}

void ggml_gallocr_free(ggml_gallocr_t galloc) { /* the address may come back as another one's */
    for (int k = 0; k < count; k++) if (seen[k].of == galloc) seen[k].of = NULL;
    ORIGINAL(ggml_gallocr_free)(galloc);
}

size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t type) {
    const char * chunk = getenv("MEMPLAN_CHUNK");
    return chunk != NULL ? (size_t) atoll(chunk) : ORIGINAL(ggml_backend_buft_get_max_size)(type);
}

static void add(const void * data, size_t size) {
    for (size_t k = 0; k < size; k++) hash = (hash ^ ((const unsigned char *) data)[k]) * 1099511628211u;
    bytes_read += size;
}

void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    ORIGINAL(ggml_backend_tensor_get)(tensor, data, offset, size);
    add(data, size);
}

void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data, size_t offset,
                                   size_t size) {
    ORIGINAL(ggml_backend_tensor_get_async)(backend, tensor, data, offset, size);
    ggml_backend_synchronize(backend);
    add(data, size);
}

__attribute__((destructor)) static void finish(void) {
    const char * path = getenv("MEMPLAN_WATCH");
    FILE * file = path != NULL && count > 0 ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "{\"hash\": \"%016llx\", \"read\": %llu, \"allocators\": [", hash, bytes_read);
    for (int k = 0; k < count; k++) {
        qsort(seen[k].us, TIMES, sizeof(double), by_value);
        fprintf(file, "%s{\"bytes\": %zu, \"plans\": %d, \"us\": [%.1f, %.1f]}", k > 0 ? ", " : "", seen[k].bytes,
                seen[k].plans, seen[k].us[TIMES / 2], seen[k].us[TIMES * 99 / 100]);
    }
    fputs("]}\n", file);
    fclose(file);
}
