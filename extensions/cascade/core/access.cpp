#include "access.hpp"

namespace memplan::cascade {

void Ranges::count_made(i64 slot) {
  Slot made{0, 0};
  for (i64 y = 0; y < steps_; ++y) {
    const i64 length = (*this)[slot][y].end - (*this)[slot][y].first;
    made.total += length;
    if (length > 0) ++made.runs;
  }
  slots[slot] = made;
}

void Ranges::cut_in_steps(i64 size, i64 stride, i64 warm_up) {
  parts_ = std::max<i64>(1, -stride);
  stride = std::max<i64>(1, stride);
  const auto row = [&](i64 up) { return std::min(std::max<i64>(floor_div(up, parts_), 0), size); };
  for (i64 y = 0; y < steps_; ++y) {
    const i64 up = (y - warm_up + 1) * stride;
    (*this)[0][y] = {row(up - stride), row(up), std::min(up, size * parts_)};
  }
  count_made(0);
}

void Ranges::add_need(i64 edge, i64 slot) {
  const Reads reads(*access_, edge, axis_);
  for (i64 y = 0; y < steps_; ++y) {
    auto [a, b, c] = (*this)[slot][y];
    if (!reads.is_sum) {
      c = floor_div((c - parts_) * reads.window.scale + reads.window.high * parts_, reads.window.divisor) + parts_;
      if (b > a) a = reads.first(a), b = reads.end(b);
    }
    Need &need = need_[y];
    if (b > a) need.low = std::min(need.low, a), need.high = std::max(need.high, b);
    need.up = std::max(need.up, std::min(std::max(c, -kFarthest), kFarthest));
  }
}

i64 Ranges::read_by(i64 tensor, i64 first) {
  need_.fill({kNever, -1, -kNever});
  i64 latest = -1;
  for (i64 k = access_->reader_first[tensor]; k < access_->reader_first[tensor + 1]; ++k) {
    const i64 edge = access_->reading[k], reader = access_->reader[edge];
    if (reader < first || reader >= j_) continue;
    add_need(edge, j_ - 1 - reader);
    latest = std::max(latest, reader);
  }
  return latest;
}

i64 Ranges::make(i64 slot, Mode mode, i64 size) {
  Range *made = (*this)[slot];
  i64 capacity = 0;
  bool is_kept = false;
  if (mode == kRecompute) {
    for (i64 y = 0; y < steps_; ++y) {
      const Need &need = need_[y];
      made[y] = {need.is_some() ? need.low : 0, need.is_some() ? need.high : 0, need.up};
      capacity = std::max(capacity, made[y].end - made[y].first);
    }
  } else {
    // 1. As far as it is made after each step.
    for_each_top([&](i64 y, i64 top) { made[y].end = top, made[y].reach = need_[y].up; });
    if (mode == kFull) made[steps_ - 1].end = size;
    // 2. Begin at the first row that is needed, now or later; rows that nothing reads are not made.
    i64 needed = kNever;
    for (i64 y = steps_ - 1; y >= 0; --y) {
      const i64 before = y > 0 ? made[y - 1].end : 0, end = made[y].end;
      if (y + 1 < steps_ && needed < kNever && end > needed) is_kept = true;
      needed = std::min(needed, need_[y].low);
      made[y].first = mode == kFull ? before : std::min(std::max(before, needed), end);
      if (needed < kNever) capacity = std::max(capacity, end - needed);
    }
    if (mode == kFull) capacity = size, is_kept = true;
  }
  count_made(slot);
  return is_kept ? -capacity : capacity;
}

i64 Ranges::make_all(i64 slot, i64 size) {
  (*this)[slot][0] = {0, size, size};
  slots[slot] = {size, 1};
  return size;
}

void Ranges::make_whole_again(i64 slot, i64 size) {
  i64 top = 0;
  for (i64 y = 0; y < steps_; ++y) {
    const Need &need = need_[y];
    i64 a = need.is_some() ? need.low : top, b = need.is_some() ? need.high : top;
    if (y + 1 == steps_) b = size;
    if (b > top) a = std::min(a, top);
    (*this)[slot][y] = {a, b, need.up};
    top = std::max(top, b);
  }
  count_made(slot);
}

i64 Ranges::make_beside(i64 v) {
  const i64 size = access_->size[access_->out[v]][0], slot = j_ - 1 - v;
  Range *made = (*this)[slot], *driving = (*this)[0];
  for (i64 y = 0; y < steps_; ++y) made[y].end = size;
  bool is_bound = false;
  for (i64 edge = access_->edge_first[v]; edge < access_->edge_first[v + 1]; ++edge) {
    if (read_by(access_->source[edge], v + 1) < 0) continue;
    is_bound = true;
    const Reads reads(*access_, edge, 0);
    for_each_top([&](i64 y, i64 top) { made[y].end = std::min(made[y].end, reads.made(top)); });
  }
  i64 capacity = 0, before = 0;
  for (i64 y = 0; y < steps_; ++y) {
    if (!is_bound) made[y].end = floor_div(size * driving[y].end, driving[steps_ - 1].end);
    if (y == steps_ - 1) made[y].end = size;
    made[y].first = before, made[y].reach = made[y].end * parts_;
    capacity = std::max(capacity, made[y].end - before);
    before = made[y].end;
  }
  count_made(slot);
  return capacity;
}

i64 Ranges::read(i64 edge, i64 slot) {
  const Reads reads(*access_, edge, axis_);
  i64 total = 0;
  for (i64 y = 0; y < steps_; ++y) {
    const auto [a, b, reach] = (*this)[slot][y];
    if (b > a) total += reads.is_sum ? b - a : std::max<i64>(0, reads.end(b) - reads.first(a));
  }
  return total;
}

Ranges::Slide Ranges::best_slide(i64 first) {
  const Access &g = *access_;
  const i64 sink = g.out[j_ - 1];
  Slide best{0, 0, 0};
  if (g.role[j_ - 1] == kSum || g.is_streamed[sink]) return best;
  const i64 out_row = g.size[sink][1] * g.pixel[sink];
  for (i64 edge = g.edge_first[first]; edge < g.edge_first[j_]; ++edge) {
    const i64 tensor = g.source[edge];
    if (g.maker[tensor] >= first || g.last[tensor] >= j_ || g.last[tensor] != g.reader[edge]) continue;
    if (g.is_streamed[tensor] && g.reader[g.reading[g.reader_first[tensor]]] >= first) continue;
    read_by(tensor, first);
    const i64 row = g.size[tensor][1] * g.pixel[tensor];
    i64 low = g.size[tensor][0], down = 0;
    for (i64 y = steps_ - 1; y >= 0; --y) {
      low = std::min(low, need_[y].low);
      down = std::max(down, (*this)[0][y].end * out_row - low * row);
    }
    down = rounded(down, g.alignment);
    const i64 saved = g.whole[tensor] + g.whole[sink] - std::max(down + g.whole[tensor], g.whole[sink]);
    if (saved > best.saved) best = {saved, tensor, down};
  }
  return best;
}

}  // namespace memplan::cascade
