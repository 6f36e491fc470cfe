// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/db/store/blobs.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::db {

/// What one update transaction changed: a batch's bytes (write_batch.h).
template <class H>
struct FeedRecord {
  Blob<H>* blob;
  uint64_t bytes;
};

/// The root "holdfast.db.feed". There is none before somebody has asked for a feed.
template <class H>
struct FeedRoot {
  static constexpr const char* kTypeName = "holdfast.db.Feed";
  static constexpr uint32_t kTypeVersion = 1;

  BPlusTree<H, uint64_t, FeedRecord<H>> tree;           ///< by sequence
  typename H::template Field<uint64_t> next = 1;        ///< sequence of the next change
  typename H::template Field<uint64_t> first = 1;       ///< of the oldest one kept, or next
  typename H::template Field<uint64_t> bytes = 0;       ///< kept
  typename H::template Field<uint64_t> most_bytes = 0;  ///< to be kept; 0: the feed is off
};

/// The changes of a store in the order of their commits, inside transactions. Every update stores
/// to `next`, so that one of two concurrent ones comes first: that is what a feed costs.
///
/// A change nobody recorded leaves a hole: turning the feed off takes a sequence that is never
/// kept, so that whoever asks for what came after it is told that it is gone.
template <class H>
class Feed {
 public:
  explicit Feed(FeedRoot<H>* root) : root_(root) {}

  bool exists() const { return root_ != nullptr; }
  bool on() const { return exists() && root_->most_bytes.load() != 0; }

  /// `blob` belongs to nobody and holds `content`; null: it is made. Frees up to `most` records
  /// that are too many now; true when it has: their blobs are in the list `garbage`.
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

  /// The next step of turning the feed on, off, or to another size; false: nothing is left to do.
  bool turn(uint64_t most_bytes, typename H::template Field<Blob<H>*>& garbage, int most) {
    const uint64_t was = root_->most_bytes;
    if (most_bytes != 0 && (was != 0 || root_->first.load() == root_->next.load())) {
      root_->most_bytes = most_bytes;
      return false;
    }
    if (was != 0) {
      root_->most_bytes = 0;
      root_->next += 1;  // the hole
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

  uint64_t last() const { return root_->next.load() - 1; }
  uint64_t first() const { return root_->first; }
  /// False where it is not there, which between first() and last() is damage.
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
    if (const auto record = root_->tree.find(sequence)) {
      Blobs<H>::link(garbage, record->blob);
      root_->bytes -= record->bytes;
      root_->tree.erase(sequence);
    }
    root_->first = sequence + 1;
  }

  FeedRoot<H>* root_;
};

}  // namespace holdfast::db
