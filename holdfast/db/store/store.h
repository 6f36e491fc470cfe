// SPDX-License-Identifier: Apache-2.0
//
// The store below LevelDB's interface: keys in order, several versions of each value, long values.
#pragma once

#include <algorithm>
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
#include "holdfast/db/views/backlog.h"
#include "holdfast/db/views/entry_buffer.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/heap/heap.h"

namespace holdfast::db {

/// The entry at which a walk begins: the first or last one, the first at or after a given key, or a
/// given key's neighbour.
enum class Step { first, last, at_or_after, after, before };

/// A put or a delete.
struct Change {
  Slice key;
  Slice value;
  bool deletion = false;
};

/// The keys from `first` to `last`, both inclusive. Without a limit there is no end on that side.
struct KeyRange {
  std::optional<std::string> first;
  std::optional<std::string> last;
};

/// Limits on the work of one transaction. Only tests change them, because their logs are tiny.
struct StoreLimits {
  size_t short_value = kMostShortValue;        ///< longer values are chains of pieces
  size_t per_transaction = size_t{128} << 10;  ///< bytes of long values written
  int pieces_freed = 32;                       ///< pieces of long values freed
  int versions_freed = 64;                     ///< old versions freed by collect() and open()
  /// Bytes of changes kept in the feed; 0 turns it off. Not set: the store's setting stays.
  std::optional<uint64_t> feed_bytes = {};
  /// Number of the first change of a new feed, if the store is not new. Such a store may be a copy,
  /// whose origin's followers must learn that they miss changes. So it exceeds their numbers.
  uint64_t feed_begin = 1;
  /// Thread slots that the store is made ready for, beside those that the heap has; up to
  /// kMostSlots.
  size_t slots = 0;
};

inline constexpr size_t kMostSlots = 256;  ///< a stamp has a byte for the slot

/// An ordered map with versions, in a heap H on any machine.
///
/// Durability. When update or write returns ok, the changes are visible to every view and read that
/// begins later. They are durable in the sense of the heap, unless they were committed `later`
/// (Commit in engines/engine.h). A failure has changed nothing.
///
/// Reading takes no lock of the store: a read is a read transaction, and a view is a list of
/// numbers. Opening, reading and closing a view never write durably.
///
/// Old versions. A version that has been replaced, and that no view needs, is freed by a later
/// write, two for each change; by collect(); or by the next open().
///
/// Thread safety: any thread may call any function except open. Comparator and heap must outlive
/// the store.
template <class H>
class Store {
  using Status = holdfast::Status;
  using V = Version<H>;
  using M = typename H::Machine;

 public:
  using View = db::View<M>;

  /// Opens the store in the heap, or makes one in an empty heap. Frees the old versions and
  /// unfinished values that a crash has left. A read-only heap must hold a store; it stays
  /// unchanged.
  static Result<std::unique_ptr<Store>> open(H& heap, const Comparator* comparator,
                                             const StoreLimits& limits = {},
                                             bool read_only = false);

  /// Runs body(Versions&) as one transaction. The body may run several times, as in heap.update().
  /// `changes`: the number of changes that it makes; 0: unknown.
  template <class F>
  Status update(F&& body, size_t changes = 0, Commit commit = Commit::durable);
  /// Applies all changes in order, as one transaction; long values are written in transactions
  /// before it. If `cancel_if` is not null and returns true in that transaction, nothing changes.
  using CancelIf = FunctionRef<bool(const Versions<H>&)>;
  Status write(const std::vector<Change>& changes, const CancelIf* cancel_if = nullptr,
               Commit commit = Commit::durable) {
    return write_all(changes, cancel_if, commit);
  }
  Status write(const Change& change, const CancelIf* cancel_if = nullptr,
               Commit commit = Commit::durable) {
    return write_all({&change, 1}, cancel_if, commit);
  }
  /// Applies one change inside a body of update. `ahead`: the long value, if it is already written.
  void apply(Versions<H>& versions, const Change& change, Blob<H>* ahead = nullptr);

  /// Returns false, and leaves *value alone, if the key has no value in the view (null: the present
  /// state). Stores the stamp of the value's version in *stamp; 0 if there is no value. corrupt if
  /// `guard`, if not null, says so of a page that the read needs.
  Result<bool> get(const Slice& key, const View* view, std::string* value,
                   uint64_t* stamp = nullptr, PageGuard* guard = nullptr);
  /// Fills the buffer with the entry that `step` leads to, if there is one. Adds the entries behind
  /// it in the same direction, up to a cost of `most` bytes. Looking at a key costs kLookCost
  /// bytes, even if it has no value. A copied entry costs its bytes as well. The cost of looking
  /// may exceed `most` by one leaf. `guard`: as for get().
  Status read_ahead(Step step, const Slice& from, const View* view, size_t most, EntryBuffer* to,
                    PageGuard* guard = nullptr);

  /// Makes a concurrent change of any key in the range conflict with this transaction, an insert
  /// included. Returns whether the view sees the newest version of every key there; true if `since`
  /// is null. Inside update(). O(keys in the range).
  bool hold_range(const KeyRange& range, const View* since) const;

  /// Opens a view of the present state. Costs one read transaction, and one load per thread slot
  /// that has written; the size of the store does not matter.
  Result<View*> open_view();
  /// Opens a view for an iterator: one holder, which closes it soon. Cheaper than open_view.
  Result<View*> open_brief_view();
  /// Adds a holder to a view from open_view. Each holder closes it; the view ends with the last
  /// one.
  static void share_view(const View* view) { Snapshots<M>::share(view); }
  void close_view(const View* view) {
    if (!forked_child()) {
      snapshots_.close(view);
    }
  }

  /// Returns when every change that was there at the call is durable.
  Status fence() { return heap_.fence(); }

  /// Loads the changes of the update transaction with number `sequence` + 1. *found: there is such
  /// a transaction. not_found: its record has been dropped. unsupported: the store has no feed.
  Status change_after(uint64_t sequence, WriteBatch* change, bool* found);
  /// Returns the number of the last update transaction; 0 if there has never been a feed. The
  /// transaction may not be durable yet.
  Result<uint64_t> sequence();

  /// Frees the old versions that are there at the call and that no view needs, and long values in
  /// the list `garbage`. Waits a moment for views that are being opened. In a transaction it does
  /// nothing. `commit`: of its transactions. A crash that takes them loses nothing: the next open()
  /// frees all old versions.
  Status collect(Commit commit = Commit::unsaid);

  /// Returns the bytes of keys and values in [from, to), of all versions that have not been freed.
  /// O(versions).
  Result<uint64_t> bytes_between(const Slice& from, const Slice& to);
  /// Returns the number of versions that have been replaced and not yet freed.
  Result<uint64_t> old_versions();
  /// Calls visit(address, bytes) for every block of the store except its root, for H::check. Call
  /// it inside a transaction.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const;

  H& heap() { return heap_; }
  const Comparator* comparator() const { return comparator_; }
  /// Returns whether the file has root version 4 (StoreRoot4).
  bool plain_keys() const { return plain_keys_; }
  size_t open_views() const { return forked_child() ? 0 : snapshots_.size(); }

  /// Returns whether this process was forked after the store was opened. There the heap is not
  /// mapped, and a lock that another thread held stays held for ever. So functions that take one
  /// return misuse there, and closing a view does nothing.
  bool forked_child() const {
    if constexpr (requires(const M& machine) { machine.forked_child(); }) {
      return heap_.machine().forked_child();
    }
    return false;
  }
  Status check_process() const {
    if (!forked_child()) {
      return {};
    }
    const std::string name = heap_.machine().medium().name();
    return {Code::misuse,
            name + ": the database was opened before fork(); open it anew in the child"};
  }

 private:
  Store(H& heap, StoreRoot<H>* root, const Comparator* comparator, const StoreLimits& limits,
        size_t slots)
      : heap_(heap),
        root_(root),
        comparator_(comparator),
        limits_(limits),
        slots_(slots),
        snapshots_(heap.machine(), slots),
        backlog_(heap.machine(), snapshots_, slots),
        spares_(slots) {}

  /// A string of one thread. A read loads its value there, and then swaps it with the caller's
  /// string. So reads in a loop neither allocate nor copy, up to values of kMostSpareBytes.
  struct alignas(kMaxLineBytes) Spare {
    std::string value;
  };
  static constexpr size_t kMostSpareBytes = 1 << 20;  ///< that a thread's spare string keeps
  std::string& spare(std::string* temporary);
  Result<bool> load_value(const Probe<H>& probe, const View* view, std::string* value,
                          uint64_t* stamp, PageGuard* guard);

  static constexpr size_t kLookCost = 32;  ///< cost of looking at an entry, as bytes copied

  static constexpr bool plain_reads() {
    if constexpr (requires { H::Engine::kDescription; }) {
      return H::Engine::kDescription.plain_reads;
    }
    return false;  // AnyEngine: the engine is known at run time only
  }
  static bool in_transaction() { return H::Machine::context() != nullptr; }
  Versions<H> versions(BacklogShare* share) {
    return Versions<H>(*root_, comparator_, snapshots_, share);
  }
  Slot<H>& slot(size_t i) const { return *HeapBounds<H>().check(root_->slots.load() + i); }

  Result<View*> read_counts(View* view);
  void check_root(PageGuard* guard) const;
  static Result<size_t> slots_of(H& heap, StoreRoot<H>& root, const StoreLimits& limits,
                                 bool read_only);
  class Share;
  size_t await_views();
  static size_t length(const V* first);
  Status adopt_nested(Commit commit);
  Status free_listed();
  Status check_comparator();
  Status clean_up_after_crash(bool read_only);
  Status drain(Commit commit = Commit::durable, size_t most = SIZE_MAX);
  Status open_feed(std::optional<uint64_t> most_bytes, bool store_is_new);
  void append_to_feed(Versions<H>& versions);
  Result<Blob<H>*> write_ahead_of_feed(std::span<const Change> changes, Commit commit);
  static void add_to_batch(WriteBatch* batch, const Change& change) {
    change.deletion ? WriteBatchContents::erase(batch, change.key)
                    : WriteBatchContents::put(batch, change.key, change.value);
  }
  Status write_all(std::span<const Change> changes, const CancelIf* cancel_if, Commit commit);
  Status write_once(std::span<const Change> changes, bool split, const CancelIf* cancel_if,
                    Commit commit);
  Result<Blob<H>*> write_ahead(const Slice& value, Commit commit);
  Result<Blob<H>*> fill_blob(const Slice& value, Commit commit);
  void abandon(const std::vector<Blob<H>*>& ahead, Commit commit);
  static bool add_entries(std::span<const V* const> newest, const View* view, size_t most,
                          size_t* spent, EntryBuffer* to);
  void check_order(Step step, const Slice& from, const Slice& last) const;
  static void check_list(const V* first);
  template <class F>
  void visit_from(Step step, const Slice& from, F&& f) const;

  H& heap_;
  StoreRoot<H>* root_;
  const Comparator* comparator_;
  const StoreLimits limits_;
  const size_t slots_;
  Snapshots<M> snapshots_;
  Backlog<M> backlog_;
  std::vector<Spare> spares_;
  Feed<H> feed_{nullptr};
  bool plain_keys_ = false;
  bool feeding_ = false;  ///< the feed is on; constant after open
};

}  // namespace holdfast::db

#include "holdfast/db/store/store-inl.h"
#include "holdfast/db/store/store_feed-inl.h"
#include "holdfast/db/store/store_read-inl.h"
#include "holdfast/db/store/store_walk-inl.h"
