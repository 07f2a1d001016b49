#include "memplan_kernels.h"

#include <string.h>

void memplan_concat(const memplan_view *out, memplan_views in, int32_t count, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      unsigned char *to = memplan_pixel(out, r, c);
      for (int32_t k = 0; k < count; ++k) {
        memcpy(to, memplan_pixel(in[k], r, c), (size_t)in[k]->pixel);
        to += in[k]->pixel;
      }
    }
}

void memplan_nearest(const memplan_view *out, const memplan_view *in, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      int32_t from_row = (int32_t)((int64_t)r * in->rows / out->rows);
      int32_t from_column = (int32_t)((int64_t)c * in->columns / out->columns);
      memcpy(memplan_pixel(out, r, c), memplan_pixel(in, from_row, from_column), (size_t)out->pixel);
    }
}

void memplan_copy(const memplan_view *out, const memplan_view *in, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      memcpy(memplan_pixel(out, r, c), memplan_pixel(in, r, c), (size_t)out->pixel);
}

void memplan_average_begin(unsigned char *sums, int32_t channels) { memset(sums, 0, 4 * (size_t)channels); }
