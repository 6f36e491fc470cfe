// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/design_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::sim {

Time DesignWrites::add(WriteOnItsWay write) {
  auto at = waiting_.end();
  for (; at != waiting_.begin(); --at) {
    const WriteOnItsWay& before = *(at - 1);
    if (before.to == write.to) {
      write.accepted = std::max(write.accepted, before.accepted);
    }
    if (before.accepted <= write.accepted) {
      break;
    }
  }
  return waiting_.insert(at, std::move(write))->accepted;
}

Time DesignWrites::accepted_at(Place place) const {
  Time accepted = 0;
  for (const WriteOnItsWay& write : waiting_) {
    if (write.to == place) {
      accepted = write.accepted;
    }
  }
  return accepted;
}

WriteOnItsWay DesignWrites::take_front() {
  WriteOnItsWay write = std::move(waiting_.front());
  waiting_.pop_front();
  return write;
}

void DesignWrites::apply(const WriteOnItsWay& write) {
  for (Covering& earlier : covering_) {
    if (earlier.to == write.to && !earlier.covered) {
      earlier.covered = true;
      earlier.covered_by = write.cancelable ? write.number : 0;
    }
  }
  if (write.cancelable) {
    Covering covering{write.number, write.to, write.queue, {}};
    accepted(write.to, covering.below.data());
    covering_.push_back(covering);
    if (covering_.size() > most_covering_) {
      forget_begun();
    }
  }
  put(write.to, write.bytes.data(), line_bytes_);
}

/// Forgets the writes that cannot be cancelled any more. They are found in one pass for many
/// writes, so that a write costs little time.
void DesignWrites::forget_begun() {
  std::erase_if(covering_, [&](const Covering& c) { return !controller_.waits(c.queue); });
  most_covering_ = std::max(kFewCovering, 2 * covering_.size());
}

void DesignWrites::put(Place to, const std::byte* bytes, size_t n) {
  to.space == Space::home ? home_.put(to.offset, bytes, n) : own_.put(to.offset, bytes, n);
}

void DesignWrites::accepted(Place from, std::byte* to) const {
  if (from.space == Space::own) {
    own_.copy(from.offset, line_bytes_, to);
    return;
  }
  std::memset(to, 0, line_bytes_);
  home_.copy_certain(from.offset, line_bytes_, to);
}

void DesignWrites::latest(Place from, std::byte* to) const {
  const auto newest = std::find_if(waiting_.rbegin(), waiting_.rend(),
                                   [&](const WriteOnItsWay& write) { return write.to == from; });
  if (newest != waiting_.rend()) {
    std::memcpy(to, newest->bytes.data(), line_bytes_);
  } else {
    accepted(from, to);
  }
}

const WriteTicket* DesignWrites::queued(uint64_t number) const {
  for (const WriteOnItsWay& write : waiting_) {
    if (write.number == number && write.cancelable) {
      return &write.queue;
    }
  }
  for (const Covering& covering : covering_) {
    if (covering.number == number) {
      return &covering.queue;
    }
  }
  return nullptr;
}

bool DesignWrites::undo(uint64_t number) {
  if (std::erase_if(waiting_, [&](const auto& write) { return write.number == number; }) != 0) {
    return false;
  }
  const auto numbered = [&](uint64_t n) {
    return std::find_if(covering_.begin(), covering_.end(),
                        [n](const Covering& c) { return c.number == n; });
  };
  const auto undone = numbered(number);
  for (Covering& earlier : covering_) {
    if (earlier.covered && earlier.covered_by == number) {  // it lies open, or below a later write
      earlier.covered = undone->covered;
      earlier.covered_by = undone->covered_by;
    }
  }
  if (!undone->covered) {
    put(undone->to, undone->below.data(), line_bytes_);
  } else if (const auto above = numbered(undone->covered_by); above != covering_.end()) {
    above->below = undone->below;
  }
  covering_.erase(undone);
  return true;
}

}  // namespace holdfast::sim
