/* int8 with 32-bit sums. The rounding is that of TensorFlow Lite: a high product of doubled factors, rounded, then a
   shift that rounds half away from zero. */
#include <string.h>

#include "memplan_kernels.h"

#define KERNEL(name) name##_int8
#define LEAST (-128)
typedef int8_t element;
typedef int32_t sum_of;
typedef memplan_int8_values values_of;

static int32_t loaded(const unsigned char *from, int32_t k) { return ((const int8_t *)from)[k]; }

static void store(unsigned char *to, int32_t k, int32_t value) { ((int8_t *)to)[k] = (int8_t)value; }

static int32_t loaded_sum(const unsigned char *sums, int32_t k) {
  int32_t sum;
  memcpy(&sum, sums + 4 * (size_t)k, 4);
  return sum;
}

static void store_sum(unsigned char *sums, int32_t k, int32_t sum) { memcpy(sums + 4 * (size_t)k, &sum, 4); }

static int32_t input(const unsigned char *pixel, int32_t k, const values_of *v) { return loaded(pixel, k) - v->in_zero; }

static int32_t high_product(int32_t a, int32_t b) {
  if (a == INT32_MIN && b == INT32_MIN) return INT32_MAX;
  int64_t product = (int64_t)a * b;
  return (int32_t)((product + (product >= 0 ? (1 << 30) : 1 - (1 << 30))) / ((int64_t)1 << 31));
}

static int32_t shifted_right(int32_t value, int32_t shift) {
  int32_t mask = (int32_t)(((int64_t)1 << shift) - 1), rest = value & mask;
  int32_t half = (mask >> 1) + (value < 0 ? 1 : 0);
  int32_t floor = (int32_t)(((int64_t)value - rest) / ((int64_t)1 << shift));
  return floor + (rest > half ? 1 : 0);
}

static int32_t multiplied(int32_t value, int32_t multiplier, int32_t shift) {
  int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
  return shifted_right(high_product((int32_t)((uint32_t)value << left), multiplier), right);
}

static int32_t ended(int32_t sum, const values_of *v, int32_t o) {
  return memplan_clamp(multiplied(sum, v->multiplier[o], v->shift[o]) + v->out_zero, v->low, v->high);
}

/* The average of a sum, rounded half away from zero. */
static int32_t averaged(int32_t sum, int32_t count) {
  if (count == 0) return 0;
  return memplan_clamp(sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count, -128, 127);
}

#include "memplan_kernels_loops.h"

void memplan_conv_end_int8(const memplan_view *out, const unsigned char *sums, const memplan_window *w,
                           const memplan_int8_values *v) {
  for (int32_t r = 0; r < out->rows; ++r)
    for (int32_t c = 0; c < out->columns; ++c)
      for (int32_t o = 0; o < w->out_channels; ++o, sums += 4)
        store(memplan_pixel(out, r, c), o, ended(loaded_sum(sums, 0) + bias_of(v, o), v, o));
}

void memplan_add_int8(const memplan_view *out, const memplan_view *a, const memplan_view *b, memplan_part part,
                      const memplan_int8_sum *v) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      int8_t *to = (int8_t *)memplan_pixel(out, r, c);
      const int8_t *one = (const int8_t *)memplan_pixel(a, r, c), *other = (const int8_t *)memplan_pixel(b, r, c);
      for (int32_t k = part.first_channel; k < memplan_end_channel(part, out->first_byte + out->pixel); ++k) {
        int32_t first = one[k - a->first_byte] - v->in_zero[0], second = other[k - b->first_byte] - v->in_zero[1];
        first = multiplied(first * (1 << 20), v->multiplier[0], v->shift[0]);
        second = multiplied(second * (1 << 20), v->multiplier[1], v->shift[1]);
        int32_t sum = multiplied(first + second, v->out_multiplier, v->out_shift) + v->out_zero;
        to[k - out->first_byte] = (int8_t)memplan_clamp(sum, v->low, v->high);
      }
    }
}
