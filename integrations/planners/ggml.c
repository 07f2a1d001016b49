/* ggml < inputs: as planners.cpp, with the allocator of ggml-alloc.c, which is included: compile with ggml's folders
 * `include` and `src`, and link its library. 32 bytes of alignment, one chunk. */
#include "ggml-alloc.c"

#define MOST 4096

typedef struct event { long time, starts, row; } event;

static int compare(const void * a, const void * b) {
    const event * x = a, * y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->starts != y->starts) return x->starts < y->starts ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

int main(void) {
    static char line[1 << 20];
    static long rows[MOST][3];
    static event events[2 * MOST];
    static struct buffer_address at[MOST];
    while (fgets(line, sizeof(line), stdin)) {
        struct ggml_dyn_tallocr * alloc = ggml_dyn_tallocr_new(32, SIZE_MAX);
        long count = 0;
        char * next = line;
        for (char * field = next; count < 3 * MOST; count++, field = next) {
            const long value = strtol(field, &next, 10);
            if (next == field) break;
            rows[count / 3][count % 3] = value;
        }
        for (long k = 0; k < count / 3; k++) {
            events[2 * k] = (event) { rows[k][1], 1, k };
            events[2 * k + 1] = (event) { rows[k][2], 0, k };
        }
        qsort(events, 2 * (size_t) (count / 3), sizeof(event), compare);
        for (long k = 0; k < 2 * (count / 3); k++) {
            const long row = events[k].row;
            if (events[k].starts) at[row] = ggml_dyn_tallocr_alloc(alloc, (size_t) rows[row][0], NULL);
            else ggml_dyn_tallocr_free_bytes(alloc, at[row], (size_t) rows[row][0]);
        }
        for (long k = 0; k < count / 3; k++) printf("%s%zu", k ? " " : "", at[k].offset);
        puts("");
        ggml_dyn_tallocr_free(alloc);
    }
    return 0;
}
