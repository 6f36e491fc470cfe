// SPDX-License-Identifier: Apache-2.0
//
// The change feed: a record of each update transaction, in the order of their commits.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/db/store/blobs.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::db {

/// The changes of one update transaction, as the bytes of a batch (write_batch.h).
template <class H>
struct FeedRecord {
  Blob<H>* blob;
  uint64_t bytes;
};

/// The object of root "holdfast.db.feed". Opening the store with a feed creates it.
template <class H>
struct FeedRoot {
  static constexpr const char* kTypeName = "holdfast.db.Feed";
  static constexpr uint32_t kTypeVersion = 1;

  /// `begin`: sequence of the first record.
  explicit FeedRoot(uint64_t begin) : next(begin), first(begin) {}

  BPlusTree<H, uint64_t, FeedRecord<H>> tree;           ///< records by sequence
  typename H::template Field<uint64_t> next;            ///< sequence of the next record
  typename H::template Field<uint64_t> first;           ///< sequence of the oldest record, or next
  typename H::template Field<uint64_t> bytes = 0;       ///< bytes of all records
  typename H::template Field<uint64_t> most_bytes = 0;  ///< limit of `bytes`; 0: the feed is off
};

/// Operations on the change feed, inside transactions.
///
/// Cost. Every update transaction stores to `next`, which orders concurrent ones. So with a feed
/// all update transactions conflict with each other.
///
/// Turning the feed off uses up one sequence number without a record. So a follower that asks for
/// the changes after it learns that they are gone, although the feed may be on again.
template <class H>
class Feed {
 public:
  explicit Feed(FeedRoot<H>* root) : root_(root) {}

  bool exists() const { return root_ != nullptr; }
  bool on() const { return exists() && root_->most_bytes.load() != 0; }

  /// Appends a record. `blob` holds `content` and is in no list; if null, it is made here. Removes
  /// up to `most` of the oldest records beyond the limit. Returns true if it has removed any: their
  /// blobs are then in the list `garbage`.
  bool append(const std::string& content, Blob<H>* blob,
              typename H::template Field<Blob<H>*>& garbage, int most) {
    if (blob == nullptr) {
      blob = Blobs<H>::make();
      Blobs<H>::append(blob, content);
    }
    const uint64_t sequence = root_->next;
    root_->tree.insert(sequence, {blob, content.size()});
    root_->next = sequence + 1;
    root_->bytes += content.size();
    bool freed = false;
    for (; most > 0 && root_->bytes.load() > root_->most_bytes.load() &&
           root_->first.load() != sequence;
         --most) {
      drop_first(garbage);
      freed = true;
    }
    return freed;
  }

  /// Turns the feed on or off, or changes its limit, in steps of bounded size. Performs the next
  /// step; returns false after the last one.
  bool change_limit(uint64_t most_bytes, typename H::template Field<Blob<H>*>& garbage, int most) {
    const uint64_t was = root_->most_bytes;
    if (most_bytes != 0 && (was != 0 || root_->first.load() == root_->next.load())) {
      root_->most_bytes = most_bytes;
      return false;
    }
    if (was != 0) {
      root_->most_bytes = 0;
      root_->next += 1;  // a sequence without a record
    }
    for (; most > 0 && root_->tree.lower_bound(0, nullptr, nullptr); --most) {
      drop_first(garbage);
    }
    if (root_->tree.lower_bound(0, nullptr, nullptr)) {
      return true;
    }
    root_->first = root_->next.load();
    return most_bytes != 0;
  }

  /// The sequence of the newest record, and of the oldest one that is kept.
  uint64_t last() const { return root_->next.load() - 1; }
  uint64_t first() const { return root_->first; }
  /// Loads a record's bytes. Returns false if there is none, which between first() and last() is
  /// damage.
  bool load(uint64_t sequence, std::string* to) const {
    const auto record = root_->tree.find(sequence);
    if (!record || !Blobs<H>::holds(record->blob, record->bytes)) {
      return false;
    }
    to->resize(record->bytes);
    Blobs<H>::load(record->blob, to->data());
    return true;
  }

  template <class Visitor>
  void visit_blocks(Visitor& visit) const {
    root_->tree.visit_blocks(visit);
    root_->tree.for_each([&](uint64_t /*sequence*/, const FeedRecord<H>& record) {
      Blobs<H>::visit(record.blob, visit);
      return true;
    });
  }

 private:
  void drop_first(typename H::template Field<Blob<H>*>& garbage) {
    const uint64_t sequence = root_->first;
    const auto record = root_->tree.find(sequence);
    if (!record) [[unlikely]] {
      throw_damaged("the number of the feed's first record");
    }
    Blobs<H>::link(garbage, record->blob);
    root_->bytes -= record->bytes;
    root_->tree.erase(sequence);
    root_->first = sequence + 1;
  }

  FeedRoot<H>* root_;
};

}  // namespace holdfast::db
