/* float; elements may lie unaligned. */
#include <float.h>
#include <string.h>

#include "memplan_kernels.h"

#define KERNEL(name) name##_float
#define LEAST (-FLT_MAX)
typedef float element, sum_of;
typedef memplan_float_values values_of;

static float loaded(const unsigned char *from, int32_t k) {
  float value;
  memcpy(&value, from + 4 * (size_t)k, 4);
  return value;
}

static void store(unsigned char *to, int32_t k, float value) { memcpy(to + 4 * (size_t)k, &value, 4); }

static float loaded_sum(const unsigned char *sums, int32_t k) { return loaded(sums, k); }

static void store_sum(unsigned char *sums, int32_t k, float sum) { store(sums, k, sum); }

static float input(const unsigned char *pixel, int32_t k, const values_of *v) {
  (void)v;
  return loaded(pixel, k);
}

static float ended(float sum, const values_of *v, int32_t o) {
  (void)o;
  return sum < v->low ? v->low : sum > v->high ? v->high : sum;
}

static float averaged(float sum, int32_t count) { return count ? sum / (float)count : 0.0f; }

#include "memplan_kernels_loops.h"

/* The sums may lie where the output does, whose pixels may be wider: from the end, none is overwritten unread. */
void memplan_conv_end_float(const memplan_view *out, const unsigned char *sums, const memplan_window *w,
                            const memplan_float_values *v) {
  int32_t left = out->rows * out->columns * w->out_channels;
  for (int32_t r = out->rows - 1; r >= 0; --r)
    for (int32_t c = out->columns - 1; c >= 0; --c)
      for (int32_t o = w->out_channels - 1; o >= 0; --o)
        store(memplan_pixel(out, r, c), o, ended(loaded(sums, --left) + bias_of(v, o), v, o));
}

void memplan_add_float(const memplan_view *out, const memplan_view *a, const memplan_view *b, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t k = part.first_channel; k < memplan_end_channel(part, (out->first_byte + out->pixel) / 4); ++k) {
        float one = loaded(memplan_pixel(a, r, c), k - first_element(a));
        store(memplan_pixel(out, r, c), k - first_element(out),
              one + loaded(memplan_pixel(b, r, c), k - first_element(b)));
      }
}
