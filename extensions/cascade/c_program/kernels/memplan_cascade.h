/* Views of tensors, or of the rows and columns of them that are kept; and the parts of them that a run makes. */
#ifndef MEMPLAN_CASCADE_H
#define MEMPLAN_CASCADE_H

#include <stddef.h>
#include <stdint.h>

/* A tensor of rows x columns of pixels of so many bytes; the pixel of row r and column c lies in the buffer at row
   r % kept_rows and column c % kept_columns. Of a whole tensor, all are kept. Where some channels are kept, `pixel` are
   their bytes, and byte `first_byte` of a pixel is the first one that is there. Buffers begin where the plan has them:
   elements of several bytes may lie unaligned, unless the alignment of the plan says otherwise. */
typedef struct {
  unsigned char *data;
  int32_t rows, columns, pixel;
  int32_t kept_rows, kept_columns;
  int32_t first_byte;
} memplan_view;

/* Rows [first_row, end_row) and columns [first_column, end_column) of what is made, and channels [first_channel,
   end_channel); `end_channel` is INT32_MAX for all of them. */
typedef struct {
  int32_t first_row, end_row, first_column, end_column, first_channel, end_channel;
} memplan_part;

static inline int32_t memplan_clamp(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}

static inline unsigned char *memplan_pixel(const memplan_view *view, int32_t row, int32_t column) {
  size_t place = (size_t)(row % view->kept_rows) * (size_t)view->kept_columns + (size_t)(column % view->kept_columns);
  return view->data + place * (size_t)view->pixel;
}

/* The end of the channels of a part, of a tensor that has so many. */
static inline int32_t memplan_end_channel(memplan_part part, int32_t channels) {
  return part.end_channel < channels ? part.end_channel : channels;
}

/* A view whose pixels begin with another byte. */
static inline memplan_view memplan_from_byte(memplan_view view, int32_t first_byte) {
  view.first_byte = first_byte;
  return view;
}

static inline int memplan_is_some(memplan_part part) {
  return part.first_row < part.end_row && part.first_column < part.end_column;
}

#endif
