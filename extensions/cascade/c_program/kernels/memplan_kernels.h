/* Reference kernels: int8 as TensorFlow Lite Micro computes, and float. They make a part of a tensor, plainly. */
#ifndef MEMPLAN_KERNELS_H
#define MEMPLAN_KERNELS_H

#include "memplan_cascade.h"

/* Kernel, strides, dilations and padding before the first row and column, each for rows and columns; and channels. */
typedef struct {
  int32_t kernel[2], stride[2], dilation[2], before[2];
  int32_t in_channels, out_channels, groups;
} memplan_window;

/* The values of a convolution or dense layer. Weights: [out][kernel row][kernel column][in of its group]; of a
   depthwise one [kernel row][kernel column][out]; of a dense one [out][in]. An int8 sum is multiplied by
   multiplier * 2^(shift - 31) of its channel, rounded as TensorFlow Lite does. */
typedef struct {
  const int8_t *weights;
  const int32_t *bias, *multiplier, *shift;
  int32_t in_zero, out_zero, low, high;
} memplan_int8_values;
typedef struct {
  const float *weights, *bias;
  float low, high;
} memplan_float_values;

/* The values of a sum of two tensors: both are shifted left by 20 bits and multiplied before they are added. */
typedef struct {
  int32_t in_zero[2], multiplier[2], shift[2];
  int32_t out_zero, out_multiplier, out_shift, low, high;
} memplan_int8_sum;

typedef const memplan_view *const memplan_views[];

void memplan_conv_int8(const memplan_view *out, const memplan_view *in, memplan_part part, const memplan_window *window,
                       const memplan_int8_values *values);
void memplan_conv_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                        const memplan_window *window, const memplan_float_values *values);
void memplan_depthwise_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                            const memplan_window *window, const memplan_int8_values *values);
void memplan_depthwise_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                             const memplan_window *window, const memplan_float_values *values);
/* A convolution in sums of four bytes for each element of its output, of the channels of its input that a part has. */
void memplan_conv_add_int8(unsigned char *sums, const memplan_view *in, memplan_part part, const memplan_window *window,
                           const memplan_int8_values *values);
void memplan_conv_add_float(unsigned char *sums, const memplan_view *in, memplan_part part,
                            const memplan_window *window, const memplan_float_values *values);
void memplan_conv_end_int8(const memplan_view *out, const unsigned char *sums, const memplan_window *window,
                           const memplan_int8_values *values);
void memplan_conv_end_float(const memplan_view *out, const unsigned char *sums, const memplan_window *window,
                            const memplan_float_values *values);
/* Sums of four bytes are set to 0. */
void memplan_begin_sums(unsigned char *sums, int32_t count);
/* All elements of the input, in their order; it is whole. */
void memplan_dense_int8(const memplan_view *out, const memplan_view *in, const memplan_window *window,
                        const memplan_int8_values *values);
void memplan_dense_float(const memplan_view *out, const memplan_view *in, const memplan_window *window,
                         const memplan_float_values *values);
void memplan_max_pool_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                           const memplan_window *window);
void memplan_max_pool_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                            const memplan_window *window);
void memplan_average_pool_int8(const memplan_view *out, const memplan_view *in, memplan_part part,
                               const memplan_window *window);
void memplan_average_pool_float(const memplan_view *out, const memplan_view *in, memplan_part part,
                                const memplan_window *window);
void memplan_add_int8(const memplan_view *out, const memplan_view *a, const memplan_view *b, memplan_part part,
                      const memplan_int8_sum *values);
void memplan_add_float(const memplan_view *out, const memplan_view *a, const memplan_view *b, memplan_part part);
/* An average over all rows and columns, in sums of four bytes a channel; `whole` needs no sums. */
void memplan_average_add_int8(unsigned char *sums, const memplan_view *in, memplan_part part, int32_t channels);
void memplan_average_add_float(unsigned char *sums, const memplan_view *in, memplan_part part, int32_t channels);
void memplan_average_end_int8(const memplan_view *out, const memplan_view *in, const unsigned char *sums,
                              int32_t channels);
void memplan_average_end_float(const memplan_view *out, const memplan_view *in, const unsigned char *sums,
                               int32_t channels);
void memplan_average_whole_int8(const memplan_view *out, const memplan_view *in, memplan_part part, int32_t channels);
void memplan_average_whole_float(const memplan_view *out, const memplan_view *in, memplan_part part, int32_t channels);
/* Pixels that are moved, whatever their elements are: joined along channels, repeated, and the same. */
void memplan_concat(const memplan_view *out, memplan_views in, int32_t count, memplan_part part);
void memplan_nearest(const memplan_view *out, const memplan_view *in, memplan_part part);
void memplan_copy(const memplan_view *out, const memplan_view *in, memplan_part part);

#endif
