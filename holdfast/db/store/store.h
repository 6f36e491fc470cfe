// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/prefetch.h"
#include "holdfast/base/status.h"
#include "holdfast/db/store/feed.h"
#include "holdfast/db/store/versions.h"
#include "holdfast/db/views/entry_buffer.h"
#include "holdfast/heap/heap.h"

namespace holdfast::db {

/// Where a walk goes: to an end, to the first key at or after one, or to a key's neighbours.
enum class Step { first, last, at_or_after, after, before };

/// One change of a batch.
struct Change {
  Slice key;
  Slice value;
  bool deletion = false;
};

/// From which sizes on things are spread over several transactions. Only tests, whose logs are
/// tiny, change them.
struct StoreLimits {
  size_t short_value = kMostShortValue;        ///< longer values are chains of pieces
  size_t per_transaction = size_t{128} << 10;  ///< of long values, written by one transaction
  int pieces_freed = 32;                       ///< by one transaction
  int versions_freed = 64;
  /// Of changes to be kept for followers; 0: none, and not set: as the store had it.
  std::optional<uint64_t> feed_bytes = {};
};

/// The store under the LevelDB facade: an ordered map with versions in a heap H, on any machine.
///
/// Contract. What update, write say is done when they return ok is durable as the heap says, and
/// visible to every view and read that begins later. Readers take no lock: a read is a read
/// transaction, and a view is a list of numbers. After an open no old version is left.
///
/// Thread safety: any thread, except open. Comparator and heap outlive the store.
template <class H>
class Store {
  using Status = holdfast::Status;
  using V = Version<H>;

 public:
  /// On a heap that is empty or holds a store. Frees what the last user left behind: old versions,
  /// half-written values; not where the heap is read-only, which must hold a store then.
  static Result<std::unique_ptr<Store>> open(H& heap, const Comparator* comparator,
                                             const StoreLimits& limits = {},
                                             bool read_only = false);

  /// Runs body(Versions&) as one transaction; as heap.update(), a body may run several times.
  template <class F>
  Status update(F&& body);
  /// All changes in order, as one transaction. Long values are written ahead. Where `unless` is
  /// given and says so in that transaction, nothing is changed.
  using Objection = FunctionRef<bool(const Versions<H>&)>;
  Status write(const std::vector<Change>& changes, const Objection* unless = nullptr);
  Status write(const Change& change);
  /// In the body of update: the same for one change, all in this transaction.
  void apply(Versions<H>& versions, const Change& change, Blob<H>* ahead = nullptr);

  /// False, and *value as it was, where the view (null: now) has no value. `*stamp` becomes that of
  /// the value's version, 0 without one.
  Result<bool> get(const Slice& key, const View* view, std::string* value,
                   uint64_t* stamp = nullptr);
  /// The entry this step leads to, if there is one, and those behind it in the same direction, as
  /// long as all of them take no more than `most` bytes (looks: than a leaf more). A look at a key
  /// takes 32, whether or not there is a value; what has to be copied takes its bytes too.
  Status read_ahead(Step step, const Slice& from, const View* view, size_t most, EntryBuffer* to);

  /// Costs a read transaction and a few loads per thread slot, whatever the store holds.
  Result<View*> open_view();
  /// The same for one holder, who closes it soon: an iterator's.
  Result<View*> open_brief_view();
  /// Who shares an open view closes it too; it ends with the last one.
  static void share_view(const View* view) { Snapshots::share(view); }
  void close_view(const View* view);

  /// The update transaction after the first `sequence` ones; `*found`: there is one. not_found: it
  /// is not kept any more. unsupported: there is no feed.
  Status change_after(uint64_t sequence, WriteBatch* change, bool* found);
  /// Of the last update transaction; 0 where there has never been a feed.
  Result<uint64_t> sequence();

  /// Frees every old version no view needs.
  Status collect();

  /// Bytes of keys and newest values in [from, to). O(entries).
  Result<uint64_t> bytes_between(const Slice& from, const Slice& to);
  /// Versions that have been replaced and not freed yet.
  Result<uint64_t> old_versions();
  /// Every block the store owns but its root, for H::check. Inside a transaction.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const;

  H& heap() { return heap_; }
  const Comparator* comparator() const { return comparator_; }
  size_t open_views() const { return snapshots_.size(); }

 private:
  Store(H& heap, StoreRoot<H>* root, const Comparator* comparator, const StoreLimits& limits,
        size_t slots)
      : heap_(heap),
        root_(root),
        comparator_(comparator),
        limits_(limits),
        slots_(slots),
        snapshots_(slots) {}

  static constexpr size_t kLook = 32;  ///< what looking at an entry costs, in bytes of copying

  static constexpr bool plain_reads() {
    if constexpr (requires { H::Engine::kDescription; }) {
      return H::Engine::kDescription.plain_reads;
    }
    return false;  // it is chosen at run time
  }
  static bool in_transaction() { return H::Machine::context() != nullptr; }
  Versions<H> versions() { return Versions<H>(*root_, comparator_, snapshots_); }
  Slot<H>& slot(size_t i) const { return root_->slots.load()[i]; }

  Result<View*> read_counts(View* view);
  void await_views();
  Status check_comparator();
  Status tidy_after_crash(bool read_only);
  Status drain();
  Status open_feed(std::optional<uint64_t> most_bytes);
  void record(Versions<H>& versions);
  Result<Blob<H>*> write_ahead_of_feed(const std::vector<Change>& changes);
  static void note(WriteBatch* batch, const Change& change) {
    change.deletion ? batch->Delete(change.key) : batch->Put(change.key, change.value);
  }
  Result<Blob<H>*> write_ahead(const Slice& value);
  void abandon(const std::vector<Blob<H>*>& ahead);
  static bool add_entries(std::span<const V* const> newest, const View* view, size_t most,
                          size_t* spent, EntryBuffer* to);
  template <class F>
  void visit_from(Step step, const Slice& from, F&& f) const;

  H& heap_;
  StoreRoot<H>* root_;
  const Comparator* comparator_;
  const StoreLimits limits_;
  const size_t slots_;
  Snapshots snapshots_;
  std::atomic<bool> parked_{false};  ///< versions wait for a view to close
  Feed<H> feed_{nullptr};
  bool feeding_ = false;  ///< from open on
};

}  // namespace holdfast::db

#include "holdfast/db/store/store-inl.h"
#include "holdfast/db/store/store_feed-inl.h"
#include "holdfast/db/store/store_walk-inl.h"
