// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/own_log.h"

#include <algorithm>
#include <cstring>

namespace holdfast {

Time read_lines(DesignContext& context, std::span<const Place> places, ReadCause cause,
                FunctionRef<void(size_t, const std::byte*)> f, Time now) {
  const auto most = static_cast<size_t>(std::max(1, context.machine().medium.read_queue));
  std::vector<std::byte> bytes(context.line_bytes());
  Time done = now;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i % most == 0) {
      now = done;
    }
    done = std::max(done, context.read(places[i], bytes.data(), cause, now));
    f(i, bytes.data());
  }
  return done;
}

void OwnLog::attach(DesignContext& context, uint64_t begin, uint64_t bytes, size_t slot_bytes) {
  context_ = &context;
  begin_ = begin;
  slot_bytes_ = slot_bytes;
  slots_ = (bytes - context.line_bytes()) / slot_bytes;
}

Place OwnLog::place(uint64_t slot, size_t index) const {
  const size_t line = context_->line_bytes();
  if (index * line >= slot_bytes_) {
    throw Error(Status(Code::misuse, "a hardware design writes beyond a slot of its log"));
  }
  return {Space::own, begin_ + line + slot % slots_ * slot_bytes_ + index * line};
}

Time OwnLog::ready(Time now) {
  while (!in_flight_.empty() && in_flight_.front().accepted <= now) {
    in_flight_.pop_front();
  }
  const bool full = !in_flight_.empty() && head_ - in_flight_.front().slot >= kWindow;
  return full ? in_flight_.front().accepted : now;
}

Time OwnLog::write(uint64_t slot, size_t index, const std::byte* bytes, Time now, Cause cause) {
  const Time accepted = context_->write(place(slot, index), bytes, cause, now).accepted;
  if (in_flight_.empty() || in_flight_.back().slot != slot) {
    in_flight_.push_back({slot, accepted});
  }
  in_flight_.back().accepted = std::max(in_flight_.back().accepted, accepted);
  return accepted;
}

Time OwnLog::write_tail(uint64_t tail, Time now, Cause cause) {
  std::vector<std::byte> line(context_->line_bytes());
  std::memcpy(line.data(), &tail, sizeof(tail));
  return context_->write({Space::own, begin_}, line.data(), cause, now).accepted;
}

Time OwnLog::scan(FunctionRef<bool(uint64_t, const std::byte*)> valid, Time now) {
  std::vector<std::byte> line(context_->line_bytes());
  now = context_->read({Space::own, begin_}, line.data(), ReadCause::recovery, now);
  std::memcpy(&tail_, line.data(), sizeof(tail_));
  head_ = tail_;
  // Each round reads to the end of the window behind the newest slot that was found.
  for (uint64_t next = tail_;;) {
    const uint64_t end = std::min(head_ + kWindow, tail_ + slots_);
    if (next >= end) {
      return now;
    }
    std::vector<Place> places;
    for (uint64_t slot = next; slot < end; ++slot) {
      places.push_back(place(slot, 0));
    }
    const auto look = [&](size_t i, const std::byte* bytes) {
      if (valid(next + i, bytes)) {
        head_ = next + i + 1;
      }
    };
    now = read_lines(*context_, places, ReadCause::recovery, look, now);
    next = end;
  }
}

/// A lap further on: each number that lies in the region is then older than the tail.
Time OwnLog::restart(Time now) {
  head_ += slots_ + kWindow;
  tail_ = head_;
  in_flight_.clear();
  return write_tail(tail_, now, Cause::recovery);
}

}  // namespace holdfast
