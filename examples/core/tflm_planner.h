// A memory planner for TFLite Micro with two arenas: small and hot buffers in SRAM, the rest in a slower memory.
//
// The types below have the shape of TFLite Micro's, so that this compiles by itself; with MEMPLAN_IN_TFLM defined, its
// own are included. Offsets of the second arena are counted from the first one, as the interpreter adds one base address.
#pragma once
#ifdef MEMPLAN_IN_TFLM
#include "tensorflow/lite/micro/memory_planner/micro_memory_planner.h"
#else
#include <cstddef>

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };

namespace tflite {
class MicroMemoryPlanner {
 public:
  virtual ~MicroMemoryPlanner() {}
  virtual TfLiteStatus AddBuffer(int size, int first_time_used, int last_time_used) = 0;
  virtual TfLiteStatus AddBuffer(int, int, int, int) { return kTfLiteError; }
  virtual size_t GetMaximumMemorySize() = 0;
  virtual int GetBufferCount() = 0;
  virtual TfLiteStatus GetOffsetForBuffer(int buffer_index, int *offset) = 0;
  virtual TfLiteStatus Init(unsigned char *, int) { return kTfLiteOk; }
  virtual void PrintMemoryPlan() {}
};
}  // namespace tflite
#endif

#include "memplan.h"

namespace tflite {

class TwoArenaPlanner : public MicroMemoryPlanner {
 public:
  static constexpr int kMostBuffers = 256;

  // The fast arena has so many bytes; the slow one begins so many bytes behind its begin. Where both are one block, that
  // is the same number.
  TwoArenaPlanner(int fast_bytes, int slow_begin) : fast_bytes_(fast_bytes), slow_begin_(slow_begin) {}

  TfLiteStatus AddBuffer(int size, int first_time_used, int last_time_used) override;
  TfLiteStatus AddBuffer(int size, int first_time_used, int last_time_used, int offline_offset) override;
  size_t GetMaximumMemorySize() override;
  int GetBufferCount() override { return count_; }
  TfLiteStatus GetOffsetForBuffer(int buffer_index, int *offset) override;

  // The bytes that the plan takes of each arena.
  size_t fast_peak() { return plan() == kTfLiteOk ? static_cast<size_t>(fast_peak_) : 0; }
  size_t slow_peak() { return plan() == kTfLiteOk ? static_cast<size_t>(slow_peak_) : 0; }

 private:
  TfLiteStatus plan();
  bool fits();

  int fast_bytes_, slow_begin_;
  int count_ = 0;
  bool is_planned_ = false, is_possible_ = false;
  memplan_buffer buffers_[kMostBuffers];
  int hottest_[kMostBuffers];  // positions, those first that the fast arena takes first
  bool is_slow_[kMostBuffers];
  int64_t offsets_[kMostBuffers];
  int64_t fast_peak_ = 0, slow_peak_ = 0;
};

}  // namespace tflite
