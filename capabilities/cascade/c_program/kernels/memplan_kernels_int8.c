/* int8 with 32-bit sums. The rounding is that of TensorFlow Lite: a high product of doubled factors, rounded, then a
   shift that rounds half away from zero. */
#include "memplan_kernels.h"

#include <string.h>

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

/* Adds to a sum the channels [first, end) of a group that the window of an output reads. */
static int32_t sum_of_window(int32_t sum, const memplan_view *in, const memplan_window *w, const memplan_int8_values *v,
                             int32_t r, int32_t c, int32_t o, int32_t first, int32_t end, int is_depthwise) {
  int32_t inside = is_depthwise ? 1 : w->in_channels / w->groups;
  int32_t from = is_depthwise ? o / (w->out_channels / w->in_channels) : o / (w->out_channels / w->groups) * inside;
  for (int32_t i = 0; i < w->kernel[0]; ++i) {
    int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
    if (y < 0 || y >= in->rows) continue;
    for (int32_t j = 0; j < w->kernel[1]; ++j) {
      int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
      if (x < 0 || x >= in->columns) continue;
      const int8_t *pixel = (const int8_t *)memplan_pixel(in, y, x) + (from + first - in->first_byte);
      size_t tap = (size_t)i * (size_t)w->kernel[1] + (size_t)j;
      if (is_depthwise) {
        sum += (pixel[0] - v->in_zero) * v->weights[tap * (size_t)w->out_channels + (size_t)o];
        continue;
      }
      const int8_t *weight =
          v->weights + ((size_t)o * (size_t)w->kernel[0] * (size_t)w->kernel[1] + tap) * (size_t)inside;
      for (int32_t k = first; k < end && k < inside; ++k) sum += (pixel[k - first] - v->in_zero) * weight[k];
    }
  }
  return sum;
}

static int8_t stored(int32_t sum, const memplan_int8_values *v, int32_t o) {
  return (int8_t)memplan_clamp(multiplied(sum, v->multiplier[o], v->shift[o]) + v->out_zero, v->low, v->high);
}

static void make_windows(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                         const memplan_int8_values *v, int is_depthwise) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      int8_t *to = (int8_t *)memplan_pixel(out, r, c);
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        int32_t sum = sum_of_window(v->bias ? v->bias[o] : 0, in, w, v, r, c, o, 0, INT32_MAX, is_depthwise);
        to[o - out->first_byte] = stored(sum, v, o);
      }
    }
}

void memplan_conv_int8(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *window,
                       const memplan_int8_values *values) {
  make_windows(out, in, part, window, values, 0);
}

void memplan_depthwise_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                            const memplan_window *window, const memplan_int8_values *values) {
  make_windows(out, in, part, window, values, 1);
}

void memplan_conv_add_int8(unsigned char *sums, const memplan_view *in, memplan_part part, const memplan_window *w,
                           const memplan_int8_values *v) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = 0; o < w->out_channels; ++o, sums += 4) {
        int32_t sum;
        memcpy(&sum, sums, 4);
        sum = sum_of_window(sum, in, w, v, r, c, o, part.first_channel, part.end_channel, 0);
        memcpy(sums, &sum, 4);
      }
}

void memplan_conv_end_int8(const memplan_view *out, const unsigned char *sums, const memplan_window *w,
                           const memplan_int8_values *v) {
  for (int32_t r = 0; r < out->rows; ++r)
    for (int32_t c = 0; c < out->columns; ++c)
      for (int32_t o = 0; o < w->out_channels; ++o, sums += 4) {
        int32_t sum;
        memcpy(&sum, sums, 4);
        ((int8_t *)memplan_pixel(out, r, c))[o] = stored(sum + (v->bias ? v->bias[o] : 0), v, o);
      }
}

void memplan_dense_int8(const memplan_view *out, const memplan_view *in, const memplan_window *window,
                        const memplan_int8_values *values) {
  int8_t *to = (int8_t *)out->data;
  const int8_t *from = (const int8_t *)in->data;
  for (int32_t o = 0; o < window->out_channels; ++o) {
    const int8_t *weight = values->weights + (size_t)o * (size_t)window->in_channels;
    int32_t sum = values->bias ? values->bias[o] : 0;
    for (int32_t k = 0; k < window->in_channels; ++k) sum += (from[k] - values->in_zero) * weight[k];
    to[o] = stored(sum, values, o);
  }
}

/* The average of a sum, rounded half away from zero. */
static int8_t averaged(int32_t sum, int32_t count) {
  if (count == 0) return 0;
  return (int8_t)memplan_clamp(sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count, -128, 127);
}

static void pool(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                 int is_max) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      int8_t *to = (int8_t *)memplan_pixel(out, r, c);
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        int32_t sum = 0, count = 0, most = -128;
        for (int32_t i = 0; i < w->kernel[0]; ++i)
          for (int32_t j = 0; j < w->kernel[1]; ++j) {
            int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
            int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
            if (y < 0 || y >= in->rows || x < 0 || x >= in->columns) continue;
            int32_t value = ((const int8_t *)memplan_pixel(in, y, x))[o - in->first_byte];
            sum += value, ++count;
            if (value > most) most = value;
          }
        to[o - out->first_byte] = is_max ? (int8_t)most : averaged(sum, count);
      }
    }
}

void memplan_max_pool_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                           const memplan_window *window) {
  pool(out, in, part, window, 1);
}

void memplan_average_pool_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                               const memplan_window *window) {
  pool(out, in, part, window, 0);
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

void memplan_average_add_int8(unsigned char *sums, const memplan_view *in, memplan_part part, int32_t channels) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c) {
      const int8_t *from = (const int8_t *)memplan_pixel(in, r, c);
      for (int32_t k = 0; k < channels; ++k) {
        int32_t sum;
        memcpy(&sum, sums + 4 * (size_t)k, 4);
        sum += from[k];
        memcpy(sums + 4 * (size_t)k, &sum, 4);
      }
    }
}

void memplan_average_end_int8(const memplan_view *out, const memplan_view *in, const unsigned char *sums,
                              int32_t channels) {
  int8_t *to = (int8_t *)out->data;
  for (int32_t k = 0; k < channels; ++k) {
    int32_t sum;
    memcpy(&sum, sums + 4 * (size_t)k, 4);
    to[k] = averaged(sum, in->rows * in->columns);
  }
}

void memplan_average_whole_int8(const memplan_view *out, const memplan_view *in, memplan_part part, int32_t channels) {
  int8_t *to = (int8_t *)out->data;
  for (int32_t k = part.first_channel; k < memplan_end_channel(part, channels); ++k) {
    int32_t sum = 0;
    for (int32_t r = 0; r < in->rows; ++r)
      for (int32_t c = 0; c < in->columns; ++c) sum += ((const int8_t *)memplan_pixel(in, r, c))[k - in->first_byte];
    to[k - out->first_byte] = averaged(sum, in->rows * in->columns);
  }
}
