// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/engine/map_iterator.h"

#include <utility>

#include "holdfast/db/engine/key_space.h"
#include "holdfast/db/map_keys.h"

namespace holdfast::db {
namespace {

// The stored keys from kEscape on and before kEscaped belong to no entry of the default map.
const std::string kFirstForeign{kEscape};
const std::string kEscaped{kEscape, kEscape};

std::string prefix_of(const ColumnFamilyHandle* family) {
  return KeySpace::is_default(family) ? std::string() : family->map()->prefix;
}

}  // namespace

MapIterator::MapIterator(std::unique_ptr<Iterator> stored, const ColumnFamilyHandle* family)
    : stored_(std::move(stored)), prefix_(prefix_of(family)), end_(end_of_map(prefix_)) {}

void MapIterator::SeekToLast() {
  prefix_.empty() ? stored_->SeekToLast() : seek_before(end_);
  settle(false);
}

void MapIterator::Seek(const Slice& target) {
  if (prefix_.empty()) {
    stored_->Seek(default_key(target, &target_));
  } else {
    target_ = prefix_;
    target_.append(target.data(), target.size());
    stored_->Seek(target_);
  }
  settle(true);
}

void MapIterator::Next() {
  if (valid_) {
    stored_->Next();
    settle(true);
  }
}

void MapIterator::Prev() {
  if (valid_) {
    stored_->Prev();
    settle(false);
  }
}

void MapIterator::seek_before(const Slice& key) {
  stored_->Seek(key);
  if (stored_->Valid()) {
    stored_->Prev();
  } else if (stored_->status().ok()) {
    stored_->SeekToLast();
  }
}

void MapIterator::settle(bool forwards) {
  valid_ = stored_->Valid();
  if (!prefix_.empty()) {
    valid_ = valid_ && stored_->key().starts_with(prefix_);
    skipped_ = prefix_.size();
    return;
  }
  if (valid_ && is_escaped(stored_->key()) && !stored_->key().starts_with(kEscaped)) {
    forwards ? stored_->Seek(kEscaped) : seek_before(kFirstForeign);
    valid_ = stored_->Valid();
  }
  skipped_ = valid_ && is_escaped(stored_->key()) ? 1 : 0;
}

}  // namespace holdfast::db
