/* float: sums in the order of kernel rows, kernel columns and channels; elements may lie unaligned. */
#include "memplan_kernels.h"

#include <float.h>
#include <string.h>

static float loaded(const unsigned char *from, int32_t k) {
  float value;
  memcpy(&value, from + 4 * (size_t)k, 4);
  return value;
}

static void store(unsigned char *to, int32_t k, float value) { memcpy(to + 4 * (size_t)k, &value, 4); }

static float between(float value, float low, float high) { return value < low ? low : value > high ? high : value; }

/* Adds to a sum the channels [first, end) of a group that the window of an output reads. */
static float sum_of_window(float sum, const memplan_view *in, const memplan_window *w, const memplan_float_values *v,
                           int32_t r, int32_t c, int32_t o, int32_t first, int32_t end, int is_depthwise) {
  int32_t inside = is_depthwise ? 1 : w->in_channels / w->groups;
  int32_t skipped = in->first_byte / 4;
  int32_t from = is_depthwise ? o / (w->out_channels / w->in_channels) : o / (w->out_channels / w->groups) * inside;
  for (int32_t i = 0; i < w->kernel[0]; ++i) {
    int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
    if (y < 0 || y >= in->rows) continue;
    for (int32_t j = 0; j < w->kernel[1]; ++j) {
      int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
      if (x < 0 || x >= in->columns) continue;
      const unsigned char *pixel = memplan_pixel(in, y, x);
      size_t tap = (size_t)i * (size_t)w->kernel[1] + (size_t)j;
      if (is_depthwise) {
        sum += loaded(pixel, from - skipped) * v->weights[tap * (size_t)w->out_channels + (size_t)o];
        continue;
      }
      const float *weight =
          v->weights + ((size_t)o * (size_t)w->kernel[0] * (size_t)w->kernel[1] + tap) * (size_t)inside;
      for (int32_t k = first; k < end && k < inside; ++k) sum += loaded(pixel, from + k - skipped) * weight[k];
    }
  }
  return sum;
}

static void make_windows(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                         const memplan_float_values *v, int is_depthwise) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        float sum = sum_of_window(v->bias ? v->bias[o] : 0.0f, in, w, v, r, c, o, 0, INT32_MAX, is_depthwise);
        store(memplan_pixel(out, r, c), o - out->first_byte / 4, between(sum, v->low, v->high));
      }
}

void memplan_conv_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                        const memplan_window *window, const memplan_float_values *values) {
  make_windows(out, in, part, window, values, 0);
}

void memplan_depthwise_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                             const memplan_window *window, const memplan_float_values *values) {
  make_windows(out, in, part, window, values, 1);
}

void memplan_conv_add_float(unsigned char *sums, const memplan_view *in, memplan_part part, const memplan_window *w,
                            const memplan_float_values *v) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = 0; o < w->out_channels; ++o, sums += 4)
        store(sums, 0, sum_of_window(loaded(sums, 0), in, w, v, r, c, o, part.first_channel, part.end_channel, 0));
}

/* The sums may lie where the output does, whose pixels may be wider: from the end, none is overwritten unread. */
void memplan_conv_end_float(const memplan_view *out, const unsigned char *sums, const memplan_window *w,
                            const memplan_float_values *v) {
  int32_t left = out->rows * out->columns * w->out_channels;
  for (int32_t r = out->rows - 1; r >= 0; --r)
    for (int32_t c = out->columns - 1; c >= 0; --c)
      for (int32_t o = w->out_channels - 1; o >= 0; --o) {
        float sum = loaded(sums, --left) + (v->bias ? v->bias[o] : 0.0f);
        store(memplan_pixel(out, r, c), o, between(sum, v->low, v->high));
      }
}

void memplan_dense_float(const memplan_view *out, const memplan_view *in, const memplan_window *window,
                         const memplan_float_values *values) {
  for (int32_t o = 0; o < window->out_channels; ++o) {
    const float *weight = values->weights + (size_t)o * (size_t)window->in_channels;
    float sum = values->bias ? values->bias[o] : 0.0f;
    for (int32_t k = 0; k < window->in_channels; ++k) sum += loaded(in->data, k) * weight[k];
    store(out->data, o, between(sum, values->low, values->high));
  }
}

static void pool(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                 int is_max) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        float sum = 0.0f, most = -FLT_MAX;
        int32_t count = 0;
        for (int32_t i = 0; i < w->kernel[0]; ++i)
          for (int32_t j = 0; j < w->kernel[1]; ++j) {
            int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
            int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
            if (y < 0 || y >= in->rows || x < 0 || x >= in->columns) continue;
            float value = loaded(memplan_pixel(in, y, x), o - in->first_byte / 4);
            sum += value, ++count;
            if (value > most) most = value;
          }
        sum = count ? sum / (float)count : 0.0f;
        store(memplan_pixel(out, r, c), o - out->first_byte / 4, is_max ? most : sum);
      }
}

void memplan_max_pool_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                            const memplan_window *window) {
  pool(out, in, part, window, 1);
}

void memplan_average_pool_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                                const memplan_window *window) {
  pool(out, in, part, window, 0);
}

void memplan_add_float(const memplan_view *out, const memplan_view *a, const memplan_view *b, memplan_part part) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t k = part.first_channel; k < memplan_end_channel(part, (out->first_byte + out->pixel) / 4); ++k) {
        float one = loaded(memplan_pixel(a, r, c), k - a->first_byte / 4);
        store(memplan_pixel(out, r, c), k - out->first_byte / 4,
              one + loaded(memplan_pixel(b, r, c), k - b->first_byte / 4));
      }
}

void memplan_average_add_float(unsigned char *sums, const memplan_view *in, memplan_part part, int32_t channels) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t k = 0; k < channels; ++k) store(sums, k, loaded(sums, k) + loaded(memplan_pixel(in, r, c), k));
}

void memplan_average_end_float(const memplan_view *out, const memplan_view *in, const unsigned char *sums,
                               int32_t channels) {
  for (int32_t k = 0; k < channels; ++k) store(out->data, k, loaded(sums, k) / (float)(in->rows * in->columns));
}

void memplan_average_whole_float(const memplan_view *out, const memplan_view *in, memplan_part part, int32_t channels) {
  for (int32_t k = part.first_channel; k < memplan_end_channel(part, channels); ++k) {
    float sum = 0.0f;
    for (int32_t r = 0; r < in->rows; ++r)
      for (int32_t c = 0; c < in->columns; ++c) sum += loaded(memplan_pixel(in, r, c), k - in->first_byte / 4);
    store(out->data, k - out->first_byte / 4, sum / (float)(in->rows * in->columns));
  }
}
