#include "tflm_planner.h"

namespace tflite {
namespace {

constexpr int64_t kWork = 20'000;  // nodes: some 50 ms of a desktop's time, at the most
constexpr int64_t kAlignment = 16;

// Plan those buffers of a list that a mask has, or has not; return the peak, -1 where they do not fit.
int64_t plan_some(const memplan_buffer *buffers, const bool *is_slow, bool wanted, int count, int64_t capacity,
                  int64_t *offsets) {
  static memplan_buffer some[TwoArenaPlanner::kMostBuffers];
  static int64_t found[TwoArenaPlanner::kMostBuffers];
  memplan_problem problem = {};
  for (int i = 0; i < count; ++i)
    if (is_slow[i] == wanted) some[problem.count++] = buffers[i];
  problem.buffers = some, problem.capacity = capacity;
  memplan_options options = {};
  options.work = kWork;
  const memplan_result result = memplan_plan(&problem, &options, found);
  if (result.status != MEMPLAN_OPTIMAL && result.status != MEMPLAN_FEASIBLE) return -1;
  for (int i = 0, k = 0; i < count; ++i)
    if (is_slow[i] == wanted) offsets[i] = found[k++];
  return problem.count > 0 ? result.peak : 0;
}

}  // namespace

TfLiteStatus TwoArenaPlanner::AddBuffer(int size, int first_time_used, int last_time_used) {
  return AddBuffer(size, first_time_used, last_time_used, -1);
}

// An offset that is planned already is one of the fast arena, or of the slow one.
TfLiteStatus TwoArenaPlanner::AddBuffer(int size, int first_time_used, int last_time_used, int offline_offset) {
  if (count_ == kMostBuffers) return kTfLiteError;
  memplan_buffer &buffer = buffers_[count_];
  buffer = {};
  buffer.size = size, buffer.begin = first_time_used, buffer.end = int64_t{last_time_used} + 1;
  buffer.alignment = kAlignment, buffer.pin = MEMPLAN_FREE;
  is_slow_[count_] = offline_offset >= slow_begin_;
  if (offline_offset >= 0) buffer.pin = offline_offset - (is_slow_[count_] ? slow_begin_ : 0);
  ++count_;
  is_planned_ = false;
  return kTfLiteOk;
}

// Whether all that is not slow fits into the fast arena.
bool TwoArenaPlanner::fits() {
  const int64_t peak = plan_some(buffers_, is_slow_, false, count_, fast_bytes_, offsets_);
  if (peak >= 0) fast_peak_ = peak;
  return peak >= 0;
}

TfLiteStatus TwoArenaPlanner::plan() {
  if (is_planned_) return is_possible_ ? kTfLiteOk : kTfLiteError;
  is_planned_ = true, is_possible_ = false;
  // The smallest are the hottest: each byte of an operation's tensors is used about as often, and they take least room.
  for (int i = 0; i < count_; ++i) {
    int k = i;
    for (; k > 0 && buffers_[hottest_[k - 1]].size > buffers_[i].size; --k) hottest_[k] = hottest_[k - 1];
    hottest_[k] = i;
    if (buffers_[i].pin == MEMPLAN_FREE) is_slow_[i] = true;
  }
  if (!fits()) return kTfLiteError;
  for (int k = 0; k < count_; ++k) {
    const int i = hottest_[k];
    if (buffers_[i].pin != MEMPLAN_FREE) continue;
    is_slow_[i] = false;
    is_slow_[i] = !fits();
  }
  if (!fits()) return kTfLiteError;
  slow_peak_ = plan_some(buffers_, is_slow_, true, count_, MEMPLAN_UNLIMITED, offsets_);
  is_possible_ = slow_peak_ >= 0;
  return is_possible_ ? kTfLiteOk : kTfLiteError;
}

size_t TwoArenaPlanner::GetMaximumMemorySize() {
  if (plan() != kTfLiteOk) return 0;
  return static_cast<size_t>(slow_peak_ > 0 ? slow_begin_ + slow_peak_ : fast_peak_);
}

TfLiteStatus TwoArenaPlanner::GetOffsetForBuffer(int buffer_index, int *offset) {
  if (buffer_index < 0 || buffer_index >= count_ || plan() != kTfLiteOk) return kTfLiteError;
  *offset = static_cast<int>(offsets_[buffer_index]) + (is_slow_[buffer_index] ? slow_begin_ : 0);
  return kTfLiteOk;
}

}  // namespace tflite
