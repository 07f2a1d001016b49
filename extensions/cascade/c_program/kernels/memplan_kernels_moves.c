#include "memplan_kernels.h"

#include <string.h>

static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

void memplan_concat(const memplan_view *out, memplan_views in, int32_t count, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      unsigned char *to = memplan_pixel(out, r, c);
      int32_t passed = 0, end = out->first_byte + out->pixel;
      for (int32_t k = 0; k < count; passed += in[k++]->pixel) {
        int32_t first = passed < out->first_byte ? out->first_byte : passed, last = least(end, passed + in[k]->pixel);
        if (first < last)
          memcpy(to + (first - out->first_byte), memplan_pixel(in[k], r, c) + (first - passed), (size_t)(last - first));
      }
    }
}

/* What two views have both of a pixel. */
static void move(const memplan_view *out, int32_t r, int32_t c, const memplan_view *in, int32_t y, int32_t x) {
  int32_t first = out->first_byte < in->first_byte ? in->first_byte : out->first_byte;
  int32_t end = least(out->first_byte + out->pixel, in->first_byte + in->pixel);
  memcpy(memplan_pixel(out, r, c) + (first - out->first_byte), memplan_pixel(in, y, x) + (first - in->first_byte),
         (size_t)(end - first));
}

void memplan_nearest(const memplan_view *out, const memplan_view *in, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      move(out, r, c, in, (int32_t)((int64_t)r * in->rows / out->rows),
           (int32_t)((int64_t)c * in->columns / out->columns));
}

void memplan_copy(const memplan_view *out, const memplan_view *in, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) move(out, r, c, in, r, c);
}

void memplan_begin_sums(unsigned char *sums, int32_t count) { memset(sums, 0, 4 * (size_t)count); }
