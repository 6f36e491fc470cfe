// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/slice_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {

uint64_t word_after(const DesignStore& store) {
  uint64_t before;
  std::memcpy(&before, store.before + store.word, sizeof(before));
  return (before & ~store.mask) | store.value;
}

SliceBuffer::SliceBuffer(size_t bytes, size_t entry_words)
    : slice_words_(WordLog::kEntries * entry_words),
      most_(std::max<size_t>(entry_words == 1 ? 1 : 2,
                             bytes / (WordLog::kEntries * (entry_words + 1) * sizeof(uint64_t)))) {}

LoggedWord* SliceBuffer::find(int slot, uint64_t home) {
  for (Slice& slice : slices_) {
    for (LoggedWord& word : slice.words) {
      if (slice.slot == slot && word.home == home) {
        return &word;
      }
    }
  }
  return nullptr;
}

SliceBuffer::Slice* SliceBuffer::newest(int slot) {
  const auto found = std::find_if(slices_.rbegin(), slices_.rend(),
                                  [&](const Slice& slice) { return slice.slot == slot; });
  return found == slices_.rend() ? nullptr : &*found;
}

std::optional<size_t> SliceBuffer::oldest(int slot) const {
  const auto found = std::find_if(slices_.begin(), slices_.end(),
                                  [&](const Slice& slice) { return slice.slot == slot; });
  return found == slices_.end() ? std::nullopt : std::optional<size_t>(found - slices_.begin());
}

Time SliceBuffer::make_room(int slot, Time now, FunctionRef<std::optional<Time>(size_t)> write,
                            FunctionRef<void()> early) {
  const Slice* const current = newest(slot);
  if (current != nullptr && current->words.size() < slice_words_) {
    return now;
  }
  std::erase_if(leaving_, [now](Time accepted) { return accepted <= now; });
  const auto in_use = [&] { return slices_.size() + leaving_.size(); };
  if (in_use() >= most_) {
    if (leaving_.empty()) {
      const std::optional<Time> ready = write(0);
      if (!ready || *ready > now) {
        return ready.value_or(now);
      }
      early();
    }
    if (!leaving_.empty()) {  // else it was aborted, the slice of another thread
      return *std::min_element(leaving_.begin(), leaving_.end());
    }
  }
  slices_.push_back({slot, {}});
  // The next slice will need room, so the oldest one goes now.
  if (in_use() == most_ && leaving_.empty() && slices_.front().words.size() == slice_words_ &&
      write(0).value_or(now + 1) <= now) {
    early();
  }
  return now;
}

SliceBuffer::Slice SliceBuffer::take(size_t index) {
  Slice slice = std::move(slices_[index]);
  slices_.erase(slices_.begin() + static_cast<std::ptrdiff_t>(index));
  return slice;
}

void SliceBuffer::forget(int slot) {
  std::erase_if(slices_, [slot](const Slice& slice) { return slice.slot == slot; });
}

}  // namespace holdfast
