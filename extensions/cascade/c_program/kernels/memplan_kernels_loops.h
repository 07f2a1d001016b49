/* The loops of kernels of one type, for a file that says before it what its elements are and how they are computed:
   KERNEL(name), the kernel's name; element, of weights; sum_of, of sums and biases; values_of, of a window; LEAST; and
   loaded, store, loaded_sum, store_sum, input, ended and averaged. Sums are in the order of kernel rows, kernel columns
   and channels. */
#include "memplan_kernels.h"

static int32_t first_element(const memplan_view *view) { return view->first_byte / (int32_t)sizeof(element); }

/* Adds to a sum the channels [first, end) of a group that the window of an output reads. */
static sum_of sum_of_window(sum_of sum, const memplan_view *in, const memplan_window *w, const values_of *v, int32_t r,
                            int32_t c, int32_t o, int32_t first, int32_t end, int is_depthwise) {
  int32_t inside = is_depthwise ? 1 : w->in_channels / w->groups;
  int32_t from = is_depthwise ? o / (w->out_channels / w->in_channels) : o / (w->out_channels / w->groups) * inside;
  from -= first_element(in);
  for (int32_t i = 0; i < w->kernel[0]; ++i) {
    int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
    if (y < 0 || y >= in->rows) continue;
    for (int32_t j = 0; j < w->kernel[1]; ++j) {
      int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
      if (x < 0 || x >= in->columns) continue;
      const unsigned char *pixel = memplan_pixel(in, y, x);
      size_t tap = (size_t)i * (size_t)w->kernel[1] + (size_t)j;
      if (is_depthwise) {
        sum += input(pixel, from, v) * v->weights[tap * (size_t)w->out_channels + (size_t)o];
        continue;
      }
      const element *weight =
          v->weights + ((size_t)o * (size_t)w->kernel[0] * (size_t)w->kernel[1] + tap) * (size_t)inside;
      for (int32_t k = first; k < end && k < inside; ++k) sum += input(pixel, from + k, v) * weight[k];
    }
  }
  return sum;
}

static sum_of bias_of(const values_of *v, int32_t o) { return v->bias ? v->bias[o] : 0; }

static void make_windows(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                         const values_of *v, int is_depthwise) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        sum_of sum = sum_of_window(bias_of(v, o), in, w, v, r, c, o, 0, INT32_MAX, is_depthwise);
        store(memplan_pixel(out, r, c), o - first_element(out), ended(sum, v, o));
      }
}

void KERNEL(memplan_conv)(const memplan_view *out, const memplan_view *in, memplan_part part,
                          const memplan_window *window, const values_of *values) {
  make_windows(out, in, part, window, values, 0);
}

void KERNEL(memplan_depthwise)(const memplan_view *out, const memplan_view *in, memplan_part part,
                               const memplan_window *window, const values_of *values) {
  make_windows(out, in, part, window, values, 1);
}

void KERNEL(memplan_conv_add)(unsigned char *sums, const memplan_view *in, memplan_part part, const memplan_window *w,
                              const values_of *v) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = 0; o < w->out_channels; ++o, sums += 4)
        store_sum(sums, 0,
                  sum_of_window(loaded_sum(sums, 0), in, w, v, r, c, o, part.first_channel, part.end_channel, 0));
}

void KERNEL(memplan_dense)(const memplan_view *out, const memplan_view *in, const memplan_window *w,
                           const values_of *v) {
  for (int32_t o = 0; o < w->out_channels; ++o) {
    const element *weight = v->weights + (size_t)o * (size_t)w->in_channels;
    sum_of sum = bias_of(v, o);
    for (int32_t k = 0; k < w->in_channels; ++k) sum += input(in->data, k, v) * weight[k];
    store(out->data, o, ended(sum, v, o));
  }
}

static void pool(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *w,
                 int is_max) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t o = part.first_channel; o < memplan_end_channel(part, w->out_channels); ++o) {
        sum_of sum = 0, most = LEAST;
        int32_t count = 0;
        for (int32_t i = 0; i < w->kernel[0]; ++i)
          for (int32_t j = 0; j < w->kernel[1]; ++j) {
            int32_t y = r * w->stride[0] - w->before[0] + i * w->dilation[0];
            int32_t x = c * w->stride[1] - w->before[1] + j * w->dilation[1];
            if (y < 0 || y >= in->rows || x < 0 || x >= in->columns) continue;
            sum_of value = loaded(memplan_pixel(in, y, x), o - first_element(in));
            sum += value, ++count;
            if (value > most) most = value;
          }
        store(memplan_pixel(out, r, c), o - first_element(out), is_max ? most : averaged(sum, count));
      }
}

void KERNEL(memplan_max_pool)(const memplan_view *out, const memplan_view *in, memplan_part part,
                              const memplan_window *window) {
  pool(out, in, part, window, 1);
}

void KERNEL(memplan_average_pool)(const memplan_view *out, const memplan_view *in, memplan_part part,
                                  const memplan_window *window) {
  pool(out, in, part, window, 0);
}

void KERNEL(memplan_average_add)(unsigned char *sums, const memplan_view *in, memplan_part part, int32_t channels) {
  for (int32_t r = part.first_row; r < part.end_row; ++r)
    for (int32_t c = part.first_column; c < part.end_column; ++c)
      for (int32_t k = 0; k < channels; ++k)
        store_sum(sums, k, loaded_sum(sums, k) + loaded(memplan_pixel(in, r, c), k));
}

void KERNEL(memplan_average_end)(const memplan_view *out, const memplan_view *in, const unsigned char *sums,
                                 int32_t channels) {
  for (int32_t k = 0; k < channels; ++k) store(out->data, k, averaged(loaded_sum(sums, k), in->rows * in->columns));
}

void KERNEL(memplan_average_whole)(const memplan_view *out, const memplan_view *in, memplan_part part,
                                   int32_t channels) {
  for (int32_t k = part.first_channel; k < memplan_end_channel(part, channels); ++k) {
    sum_of sum = 0;
    for (int32_t r = 0; r < in->rows; ++r)
      for (int32_t c = 0; c < in->columns; ++c) sum += loaded(memplan_pixel(in, r, c), k - first_element(in));
    store(out->data, k - first_element(out), averaged(sum, in->rows * in->columns));
  }
}
