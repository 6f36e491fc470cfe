// SPDX-License-Identifier: Apache-2.0
//
// DB::BeginTransaction over a store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/engine/heap_iterator.h"
#include "holdfast/db/engine/mapped_transaction.h"
#include "holdfast/db/engine/maps_exist.h"
#include "holdfast/db/engine/overlay_iterator.h"
#include "holdfast/db/store/store.h"
#include "holdfast/db/transaction.h"

namespace holdfast::db {

/// Reads through a view, and records the stamp of each version that it reads. A key is unchanged if
/// its newest version still has the recorded stamp, because stamps are never reused. A range is
/// unchanged if the view sees the newest version of every key in it, deletions included: a deletion
/// that the view does not see stays while the view is open, unless the view has never seen its key.
template <class H>
class HeapTransaction final : public MappedTransaction<OptimisticTransaction> {
 public:
  HeapTransaction(Store<H>& store, KeySpace& keys, HeldView<H> view)
      : MappedTransaction(keys, store.comparator()), store_(store), view_(std::move(view)) {}

  Status Commit(bool* committed) override;

 private:
  Status get_stored(const Slice& key, std::string* value) override;
  void write_stored(const Slice& key, const Slice* value) override;
  Iterator* iterate_stored(const ColumnFamilyHandle* family) override;
  void need(const std::shared_ptr<NamedMap>& map) override {
    WriteBatchContents::need(&maps_, map);
  }
  void refuse(Status status) override { refused_ = std::move(status); }

  Store<H>& store_;
  const HeldView<H> view_;
  PendingWrites writes_{ComparatorLess{store_.comparator()}};
  HiddenRanges hidden_{store_.comparator()};
  WriteBatch maps_;  ///< no changes, but the named maps that were written
  Status refused_;
  /// The stamp of each key that was read; 0: it had no value.
  std::map<std::string, uint64_t, ComparatorLess> reads_{ComparatorLess{store_.comparator()}};
  std::vector<KeyRange> ranges_;  ///< read by iterators
};

template <class H>
Status HeapTransaction<H>::get_stored(const Slice& key, std::string* value) {
  std::string name = key.ToString();
  if (const auto own = writes_.find(name); own != writes_.end()) {
    if (own->second.deletion) {
      return no_such_key();
    }
    *value = own->second.value;
    return Status::OK();
  }
  uint64_t stamp = 0;
  auto found = store_.get(key, view_.get(), value, &stamp);
  if (found.ok()) {
    reads_.emplace(std::move(name), stamp);
  }
  return answer(std::move(found));
}

template <class H>
void HeapTransaction<H>::write_stored(const Slice& key, const Slice* value) {
  std::string name = key.ToString();
  PendingWrite written{value == nullptr, value == nullptr ? std::string() : value->ToString()};
  if (value != nullptr) {
    hidden_.put(name);
  }
  auto node = writes_.extract(name);
  if (node.empty()) {
    writes_.emplace(std::move(name), std::move(written));
    return;
  }
  node.key() = std::move(name);  // the comparator may take different bytes for the same key
  node.mapped() = std::move(written);
  writes_.insert(std::move(node));
}

template <class H>
Iterator* HeapTransaction<H>::iterate_stored(const ColumnFamilyHandle* family) {
  KeyRange limits;
  if (!KeySpace::is_default(family)) {
    limits = {family->map()->prefix, end_of_map(family->map()->prefix)};
  }
  Store<H>::share_view(view_.get());
  HeldView<H> shared(view_.get(), view_.get_deleter());
  return new OverlayIterator(std::make_unique<HeapIterator<H>>(store_, std::move(shared)), writes_,
                             &hidden_, std::move(limits), &ranges_);
}

template <class H>
Status HeapTransaction<H>::Commit(bool* committed) {
  *committed = false;
  if (!refused_.ok()) {
    return refused_;
  }
  *committed = true;
  if (writes_.empty()) {
    return Status::OK();  // serialised at its beginning, when its view was opened
  }
  std::vector<Change> changes;
  changes.reserve(writes_.size());
  for (const auto& [key, written] : writes_) {
    changes.push_back({key, written.value, written.deletion});
  }
  const MapsExist maps(WriteBatchContents::maps(maps_));
  // A body that asks for the first entry again and again reads the same keys in each range.
  const std::vector<KeyRange> ranges = united(ranges_, *store_.comparator());
  const std::string* missing = nullptr;
  bool outdated = false;
  auto check_reads = [&](const Versions<H>& now) {
    outdated = false;
    missing = maps.first_missing(now);
    for (const auto& [key, stamp] : reads_) {
      now.hold_key(key);
      const auto* version = now.find(key, nullptr);
      outdated = outdated || (version == nullptr ? 0 : version->stamp.load()) != stamp;
    }
    for (const KeyRange& range : ranges) {
      outdated = !store_.hold_range(range, view_.get()) || outdated;
    }
    return outdated || missing != nullptr;
  };
  const typename Store<H>::CancelIf cancel_if(check_reads);
  const bool has_read = !reads_.empty() || !ranges.empty() || !maps.empty();
  const holdfast::Status status = store_.write(changes, has_read ? &cancel_if : nullptr);
  *committed = status.ok() && !outdated && missing == nullptr;
  return status.ok() && missing != nullptr ? KeySpace::dropped(*missing) : translated(status);
}

}  // namespace holdfast::db
