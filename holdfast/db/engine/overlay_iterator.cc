// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/engine/overlay_iterator.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace holdfast::db {

std::vector<KeyRange> united(std::vector<KeyRange> ranges, const Comparator& comparator) {
  std::sort(ranges.begin(), ranges.end(), [&](const KeyRange& a, const KeyRange& b) {
    return b.first && (!a.first || comparator.Compare(*a.first, *b.first) < 0);
  });
  std::vector<KeyRange> result;
  for (KeyRange& range : ranges) {
    std::optional<std::string>* const last = result.empty() ? nullptr : &result.back().last;
    const auto order = [&](const std::string& key) { return comparator.Compare(key, **last); };
    if (last == nullptr || (*last && range.first && order(*range.first) > 0)) {
      result.push_back(std::move(range));
    } else if (*last && (!range.last || order(*range.last) > 0)) {
      *last = std::move(range.last);
    }
  }
  return result;
}

const std::string* HiddenRanges::end_behind(const std::string& key) const {
  const auto next = ends_.upper_bound(key);
  if (next == ends_.begin()) {
    return nullptr;
  }
  const std::string& end = std::prev(next)->second;
  return ends_.key_comp()(key, end) ? &end : nullptr;
}

const std::string* HiddenRanges::begin_before(const std::string& key) const {
  const auto next = ends_.lower_bound(key);
  if (next == ends_.begin()) {
    return nullptr;
  }
  const auto& [begin, end] = *std::prev(next);
  return ends_.key_comp()(end, key) ? nullptr : &begin;
}

void HiddenRanges::add(std::string first, const std::string& last) {
  const auto& less = ends_.key_comp();
  std::string end = last;  // there may be an entry, unlike at `last`
  auto at = ends_.upper_bound(first);
  if (at != ends_.begin() && !less(std::prev(at)->second, first)) {
    --at;
    first = at->first;
  }
  while (at != ends_.end() && !less(last, at->first)) {
    end = std::max(end, at->second, less);
    at = ends_.erase(at);
  }
  ends_.emplace(std::move(first), std::move(end));
}

void HiddenRanges::put(const std::string& key) {
  const auto next = ends_.lower_bound(key);
  if (next == ends_.begin()) {
    return;
  }
  if (std::string& end = std::prev(next)->second; ends_.key_comp()(key, end)) {
    std::string split = key;  // first: a change without memory changes nothing
    ends_.emplace_hint(next, key, end);
    end = std::move(split);
  }
}

void OverlayIterator::SeekToFirst() {
  below_->SeekToFirst();
  settle_forwards(writes_.begin(), std::nullopt);
}

void OverlayIterator::SeekToLast() {
  below_->SeekToLast();
  settle_backwards(writes_.end(), std::nullopt);
}

void OverlayIterator::Seek(const Slice& target) {
  const std::string from = target.ToString();
  below_->Seek(from);
  settle_forwards(writes_.lower_bound(from), from);
}

void OverlayIterator::Next() {
  if (!valid_) {
    return;
  }
  if (!forwards_) {
    below_->Seek(key_);
  }
  if (below_->Valid() && order(below_->key(), key_) <= 0) {
    below_->Next();
  }
  const std::string from = key_;
  settle_forwards(writes_.upper_bound(from), from);
}

void OverlayIterator::Prev() {
  if (!valid_) {
    return;
  }
  if (forwards_) {
    move_below_before(key_);
  } else if (below_->Valid() && order(below_->key(), key_) >= 0) {
    below_->Prev();
  }
  const std::string from = key_;
  settle_backwards(writes_.lower_bound(from), from);
}

void OverlayIterator::settle_forwards(Write own, const std::optional<std::string>& from) {
  forwards_ = true;
  valid_ = false;
  const Write first = own;
  size_t deletions = 0;  // crossed
  for (; own != writes_.end(); ++own) {
    const int side = below_->Valid() ? order(below_->key(), own->first) : 1;
    if (side < 0) {
      break;
    }
    if (side == 0) {
      below_->Next();  // the write hides this entry
    }
    if (!own->second.deletion) {
      show(own->first, own->second.value);
      break;
    }
    ++deletions;
    const std::string* const end = hidden_->end_behind(own->first);
    if (end != nullptr && below_->status().ok()) {  // a seek would forget an error
      own = std::prev(writes_.lower_bound(*end));
      below_->Seek(*end);
    }
  }
  if (!valid_ && below_->Valid()) {
    show(below_->key(), below_->value());
  }
  record(from);
  hide(deletions, first, own);
}

void OverlayIterator::settle_backwards(Write end, const std::optional<std::string>& from) {
  forwards_ = false;
  valid_ = false;
  Write first = end;
  size_t deletions = 0;  // crossed
  while (first != writes_.begin()) {
    const Write own = std::prev(first);
    const int side = below_->Valid() ? order(below_->key(), own->first) : -1;
    if (side > 0) {
      break;
    }
    if (side == 0) {
      below_->Prev();  // the write hides this entry
    }
    if (!own->second.deletion) {
      show(own->first, own->second.value);
      break;
    }
    ++deletions;
    first = own;
    const std::string* const begin = hidden_->begin_before(own->first);
    if (begin != nullptr && below_->status().ok()) {
      first = writes_.upper_bound(*begin);
      move_below_before(*begin);
    }
  }
  if (!valid_ && below_->Valid()) {
    show(below_->key(), below_->value());
  }
  record(from);
  hide(deletions, first, end);
}

void OverlayIterator::move_below_before(const std::string& key) {
  below_->Seek(key);
  if (below_->Valid()) {
    below_->Prev();
  } else if (below_->status().ok()) {
    below_->SeekToLast();
  }
}

/// Notes that the writes from `first` on and before `end` are deletions without entries between.
void OverlayIterator::hide(size_t deletions, Write first, Write end) {
  constexpr size_t kWorthAJump = 16;  // a jump reads anew; without one the entries are in a buffer
  if (deletions >= kWorthAJump && below_->status().ok()) {
    try {
      hidden_->add(first->first, std::prev(end)->first);
    } catch (const std::bad_alloc&) {
      // Later walks cross these deletions again.
    }
  }
}

void OverlayIterator::show(const Slice& key, const Slice& value) {
  key_.assign(key.data(), key.size());
  value_.assign(value.data(), value.size());
  valid_ = true;
}

/// Returns the key, or the limit that it is beyond. No key is beyond the limit on its side.
std::optional<std::string> OverlayIterator::within_limits(std::optional<std::string> key,
                                                          bool is_first) const {
  const std::optional<std::string>& first = limits_.first;
  const std::optional<std::string>& last = limits_.last;
  if (first && (key ? order(*key, *first) < 0 : is_first)) {
    return first;
  }
  return last && (key ? order(*key, *last) > 0 : !is_first) ? last : key;
}

/// A walk in one direction extends the iterator's last range.
void OverlayIterator::record(const std::optional<std::string>& origin) {
  if (!below_->status().ok()) {
    valid_ = false;
    return;
  }
  std::optional<std::string> to;
  if (valid_) {
    to = key_;
  }
  to = within_limits(std::move(to), !forwards_);
  const std::optional<std::string> from = within_limits(origin, forwards_);
  if (own_range_ && from) {
    KeyRange& own = (*crossed_)[*own_range_];
    std::optional<std::string>& end = forwards_ ? own.last : own.first;
    if (end == from) {
      end = std::move(to);
      return;
    }
  }
  own_range_ = crossed_->size();
  crossed_->push_back(forwards_ ? KeyRange{from, std::move(to)} : KeyRange{std::move(to), from});
}

}  // namespace holdfast::db
