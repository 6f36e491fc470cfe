// SPDX-License-Identifier: Apache-2.0
//
// The store's data structure: keys, their versions, and when an old version is freed.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "holdfast/base/scoped_value.h"
#include "holdfast/db/store/blobs.h"
#include "holdfast/db/store/store_blocks.h"
#include "holdfast/db/views/backlog.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/db/write_batch.h"
#include "holdfast/engines/engine.h"

namespace holdfast::db {

/// The operations of one transaction body on the keys and their versions. Each execution of a body
/// has its own object. State that outlives the body is durable, or in the transaction's share of
/// the backlog.
///
/// Correctness under snapshot isolation. A transaction that frees a block also writes, or promotes,
/// every field of the block that another transaction may store to. Every decision about a version
/// depends on a field that any invalidating transaction also writes: one of the version's links.
/// `newer` of a key's newest version is null and represents the key: a transaction that adds a
/// version stores to it. A transaction that only reads such a field promotes it. Lists of old
/// versions are linked in both directions, and a transaction that unlinks a version also promotes
/// the version's own links, so that two transactions that unlink neighbours conflict.
///
/// Thread safety: only the thread that runs the body.
template <class H>
class Versions {
  using V = Version<H>;
  using M = typename H::Machine;
  static_assert(sizeof(NewVersion<H>) == sizeof(V));

 public:
  /// The field in a leaf of the tree that holds a key.
  using TreeField = typename H::template Field<StoredKey<H>>;

  /// `share`: the transaction's share of the backlog; null inside another transaction.
  Versions(StoreRoot<H>& root, const Comparator* comparator, Snapshots<M>& snapshots,
           BacklogShare* share)
      : root_(root), comparator_(comparator), snapshots_(snapshots), share_(share) {
    if (share_ != nullptr) {
      share_->begin();
    }
  }

  /// Returns the version of `key` that the view sees (null: the newest); null if it has no value.
  const V* find(const Slice& key, const View<M>* view) const {
    return find(root_, Probe<H>(key, comparator_), view);
  }
  static const V* find(const StoreRoot<H>& root, const Probe<H>& probe, const View<M>* view) {
    const TreeField* const held = root.tree.find_field(probe);
    return held != nullptr ? seen(newest(*held), view) : nullptr;
  }
  /// Returns the newest version of the key in a leaf. Throws Error(corrupt), like all functions
  /// here, if a pointer that it follows leads out of the heap or in a circle.
  static V* newest(const TreeField& held, const HeapBounds<H>& bounds = {}) {
    return bounds.check(V::of(load_block<H>(held)));
  }
  /// Returns the version that the view sees, given a key's newest one; null if it has no value.
  static const V* seen(const V* newest, const View<M>* view) {
    const V* version = newest;
    if (view != nullptr && !view->sees(version->stamp)) {
      version = seen_of_older(version->older, *view);
    }
    return version == nullptr || version->deleted() ? nullptr : version;
  }
  /// Returns the first version from `older` on that the view sees, deleted or not; null if none.
  [[gnu::noinline]] static const V* seen_of_older(const V* older, const View<M>& view) {
    const HeapBounds<H> bounds;
    CycleCheck cycle;
    for (const V* version = older; version != nullptr; version = version->older) {
      cycle.arrive(bounds.check(version));
      if (view.sees(version->stamp)) {
        return version;
      }
    }
    return nullptr;
  }
  /// The lengths of a version's key and value, and its long value.
  struct Content {
    size_t key_bytes;
    size_t value_bytes;
    const Blob<H>* blob;  ///< null: the value lies behind the key

    /// Returns the bytes of key and value that lie in the version's own block.
    size_t bytes_in_block() const {
      return whole_words(key_bytes) + (blob == nullptr ? value_bytes : 0);
    }
  };
  /// Returns the content of a version that is not a deletion. Throws Error(corrupt) if a length is
  /// damaged, before it reads anything beyond.
  static Content content(const V* version) {
    const HeapBounds<H> bounds;
    const Content found{version->key.bytes, version->bytes, version->blob};
    const bool sound =
        bounds.has_behind(version, found.key_bytes) &&
        (found.blob == nullptr ? found.value_bytes <= kMostShortValue &&
                                     bounds.has_behind(version, found.bytes_in_block())
                               : Blobs<H>::holds(found.blob, found.value_bytes));
    if (!sound) [[unlikely]] {
      throw_damaged("the length of a key or a value");
    }
    return found;
  }
  /// Returns whether the view sees this version, and it is not a deletion and has a short value.
  /// Nearly all versions are so, and this takes a third of the time of seen and content.
  static bool is_plain(const V* version, const View<M>& view, const HeapBounds<H>& bounds) {
    constexpr size_t kMost = 2 * kMostShortValue;
    const uint64_t lengths = version->bytes.load() | version->key.bytes.load();
    const auto blob = reinterpret_cast<uintptr_t>(version->blob.load());
    return view.sees(version->stamp) && (lengths | blob) < kMostShortValue &&
           bounds.has_behind(version, kMost);
  }
  static void load_value(const V* version, std::string* to) {
    const Content at = content(version);
    to->resize(at.value_bytes);
    if (at.blob != nullptr) {
      Blobs<H>::load(at.blob, to->data());
    } else {
      H::Engine::load_range(to->data(), version->value(at.key_bytes), at.value_bytes);
    }
  }
  /// Copies the key, and from the next whole word on the value, to `to`.
  static void load_both(const V* version, const Content& at, char* to) {
    H::Engine::load_range(to, version->key.content(), at.bytes_in_block());
    if (at.blob != nullptr) {
      Blobs<H>::load(at.blob, to + whole_words(at.key_bytes));
    }
  }

  /// Makes a concurrent change of `key` conflict with this transaction, by promoting what was read
  /// of the key. Inside update().
  void hold_key(const Slice& key) const {
    const Probe<H> probe(key, comparator_);
    if (const TreeField* held = root_.tree.find_field(probe)) {
      newest(*held)->newer.promote();
    } else {
      root_.tree.hold_place(probe);
    }
  }

  /// Gives the key a new version. `long_value`, if not null, holds the value and is in no list.
  void put(const Slice& key, const Slice& value, Blob<H>* long_value) {
    const Slice short_value = long_value == nullptr ? value : Slice();
    V* const version = allocate_version(key.size(), short_value.size());
    NewVersion<H> fields{.stamp = stamp_, .blob = long_value, .bytes = value.size()};
    Probe<H> probe(key, comparator_);
    probe.stored.block = &version->key;
    const auto make = [&] {  // stores the version first: the tree may read its key at once
      store(version, fields, key, short_value);
      return probe.stored;
    };
    if (TreeField* held = root_.tree.find_or_insert(probe, make)) {
      replace(held, fields, probe.stored);
      store(version, fields, key, short_value);
    }
  }

  /// Gives the key a deletion as its newest version.
  void erase(const Slice& key) {
    Probe<H> probe(key, comparator_);
    if (const TreeField* held = root_.tree.find_field(probe);
        held == nullptr || newest(*held)->deleted()) {
      hold_key(key);  // a concurrent put must conflict, to come before or after this transaction
      return;
    }
    V* const deletion = allocate_version(key.size(), 0);
    NewVersion<H> fields{.stamp = stamp_, .bytes = V::kDeleted};
    probe.stored.block = &deletion->key;
    replace(root_.tree.find_field(probe), fields, probe.stored);
    store(deletion, fields, key, {});
    enlist(slot(), deletion, 0);
  }

  /// Frees up to `most` versions of the share.
  void free_some(size_t most) {
    for (; most > 0; --most) {
      const OldVersion* const old = share_->next();
      if (old == nullptr) {
        return;
      }
      free(*old);
    }
  }
  /// Moves up to `most` versions of the slot that were replaced inside another transaction to the
  /// backlog. Returns false when none is left.
  bool adopt(size_t slot_number, size_t most) {
    Slot<H>& from = slot(slot_number);
    for (; most > 0; --most) {
      V* const version = from.nested;
      if (version == nullptr) {
        return false;
      }
      drop_first(from.nested, from.nested_tail);
      append(from, version);
      const V* const newer = checked(version->newer.load());
      share_->add(
          {version, version->stamp, newer == nullptr ? 0 : newer->stamp.load(), slot_number});
    }
    return true;
  }
  /// Frees up to `most` of a slot's old versions, while there are no views and no backlog. Returns
  /// false when none is left.
  bool free_listed(Slot<H>& of, int most) {
    for (; most > 0; --most) {
      V* version = of.nested;
      if (version != nullptr) {
        drop_first(of.nested, of.nested_tail);
      } else if (version = of.old; version != nullptr) {
        drop_first(of.old, of.old_tail);
      } else {
        return false;
      }
      release(version);
    }
    return true;
  }

  /// For the feed: this transaction's changes in order, and its record if it was written ahead.
  WriteBatch& changes() { return changes_; }
  Blob<H>* record_ahead() const { return record_ahead_; }
  void set_record_ahead(Blob<H>* blob) { record_ahead_ = blob; }

  void set_made_garbage() { made_garbage_ = true; }
  /// The stamp of this transaction; 0 if it has written nothing.
  uint64_t stamp() const { return stamp_; }
  /// Returns whether this transaction has added long values to the list `garbage`.
  bool made_garbage() const { return made_garbage_; }

 private:
  static const Context* context() { return static_cast<const Context*>(M::context()); }
  Slot<H>& slot() { return slot(static_cast<size_t>(context()->slot)); }
  Slot<H>& slot(size_t number) { return *bounds_.check(root_.slots.load() + number); }
  /// Returns a pointer from the heap; null is allowed.
  V* checked(V* version) const { return version == nullptr ? nullptr : bounds_.check(version); }

  /// Allocates a version's block. The transaction's first version also takes its stamp.
  V* allocate_version(size_t key_bytes, size_t short_value_bytes) {
    const auto number = static_cast<size_t>(context()->slot);
    const size_t bytes = V::block_bytes(key_bytes, short_value_bytes);
    if (share_ != nullptr) {
      adopt(number, Backlog<M>::kFreedPerChange);
      const ScopedValue<bool> keeping(keeps_spare_, true);
      free_some(Backlog<M>::kFreedPerChange);
    }
    if (stamp_ == 0) {
      Slot<H>& own = slot();
      snapshots_.announce_stamps(number);
      const uint64_t count = own.count + 1;
      own.count = count;
      stamp_ = Stamp::make(context()->slot, count);
    }
    V* const spare = std::exchange(spare_, nullptr);
    return new (spare == nullptr ? H::allocate(bytes)
                                 : H::exchange(spare, spare->block_bytes(), bytes)) V;
  }
  void store(V* version, NewVersion<H>& fields, const Slice& key, const Slice& short_value) {
    fields.key_bytes = key.size();
    store_version(version, fields, key, short_value);
  }

  /// Makes the version with `key` its key's newest one, and puts it into the tree. The caller
  /// stores `fields` in it afterwards.
  void replace(TreeField* held, NewVersion<H>& fields, const StoredKey<H>& key) {
    V* const version = V::of(key.block);
    V* const old = newest(*held, bounds_);
    if (old->stamp == stamp_ && old->listed == 0) {
      fields.older = replace_own(old, version);
    } else {
      fields.older = old;
      old->newer = version;
      if (old->listed == 0) {
        enlist(slot(), old, stamp_);
      }
    }
    if (comparator_ == BytewiseComparator()) {
      store_block<H>(held, key.block);
    } else {
      *held = key;  // the comparator may take different bytes for the same key
    }
  }

  /// Frees a version that this transaction has written itself, which no view has seen. Returns the
  /// version before it.
  V* replace_own(V* old, V* version) {
    V* const older = checked(old->older);
    if (older != nullptr) {
      older->newer = version;
    }
    destroy(old);
    return older;
  }

  /// Adds a version that `replaced` has replaced, or a deletion (0), to the slot's old versions.
  void enlist(Slot<H>& to, V* version, uint64_t replaced) {
    if (share_ != nullptr) {
      append(to, version);
      share_->add({version, version->stamp, replaced, static_cast<uint64_t>(context()->slot)});
      return;
    }
    clear_next(version);
    if (V* last = checked(to.nested_tail)) {
      last->next = version;
    } else {
      to.nested = version;
    }
    to.nested_tail = version;
    version->listed = 1;
  }
  /// Appends to the list `old`.
  void append(Slot<H>& to, V* version) const {
    clear_next(version);
    V* const last = checked(to.old_tail);
    if (last != nullptr) {
      last->next = version;
    } else {
      to.old = version;
    }
    to.old_tail = version;
    version->listed = last == nullptr ? 1 : reinterpret_cast<uintptr_t>(last);
  }
  static void clear_next(V* version) {
    if (version->next.load() != nullptr) {
      version->next = nullptr;
    }
  }
  void drop_first(typename Slot<H>::Link& head, typename Slot<H>::Link& tail) const {
    V* const first = checked(head);
    V* const next = first->next;
    head = next;
    if (next == nullptr) {
      tail = nullptr;
    }
    first->next.promote();  // the transaction that removes the second one stores to it
  }
  /// Removes a version from the list `old`.
  void unlink(Slot<H>& from, V* version) const {
    if (from.old.load() == version) {
      drop_first(from.old, from.old_tail);
      return;
    }
    V* const next = checked(version->next);
    const uint64_t before = version->listed;
    auto* const previous = bounds_.check(reinterpret_cast<V*>(before));
    previous->next = next;
    if (next != nullptr) {
      next->listed = before;
    } else {
      from.old_tail = previous;
    }
    version->next.promote();
    version->listed.promote();
  }

  /// Frees a version of the share. A deletion that has been replaced meanwhile stays: views may
  /// need it.
  void free(const OldVersion& old) {
    auto* const version = static_cast<V*>(old.version);
    if (old.replaced == 0) {
      if (const V* newer = checked(version->newer)) {
        share_->add({version, old.created, newer->stamp, old.slot});
        return;
      }
    }
    unlink(slot(old.slot), version);
    release(version);
  }

  /// Frees a version that no view needs and no list has. A deletion that is its key's newest
  /// version stays until the key has no older one; it hides them from views that see it.
  void release(V* version) {
    V* const newer = checked(version->newer);
    V* const older = checked(version->older);
    if (newer == nullptr) {
      // A deletion and its key's newest version. It stays while it hides older versions.
      if (older == nullptr) {
        remove_entry(version);
      } else {
        version->listed = 0;
        version->older.promote();  // the transaction that frees the last of them reads `listed`
        version->newer.promote();  // and so does the transaction that replaces this one
      }
      return;
    }
    newer->older = older;
    if (older != nullptr) {
      older->newer = newer;
    }
    version->newer.promote();  // makes transactions conflict that free neighbours (write skew)
    version->older.promote();
    destroy(version);
    if (older == nullptr && newer->deleted() && newer->newer.load() == nullptr &&
        newer->listed == 0) {
      remove_entry(newer);
    }
  }

  /// Removes a key whose only version is this deletion.
  void remove_entry(V* deletion) {
    deletion->newer.promote();  // a concurrent put of the key must conflict, or it would be lost
    std::string key;
    load_key(&deletion->key, &key);
    root_.tree.erase(Probe<H>(key, comparator_));
    destroy(deletion);
  }

  void destroy(V* version) {
    if (Blob<H>* blob = version->blob) {
      Blobs<H>::link(root_.garbage, blob);
      made_garbage_ = true;
    }
    if (keeps_spare_ && spare_ == nullptr) {
      spare_ = version;
    } else {
      H::deallocate(version, version->block_bytes());
    }
  }

  StoreRoot<H>& root_;
  const Comparator* comparator_;
  Snapshots<M>& snapshots_;
  BacklogShare* share_;
  const HeapBounds<H> bounds_;  ///< of the transaction that runs the body
  uint64_t stamp_ = 0;
  WriteBatch changes_;
  Blob<H>* record_ahead_ = nullptr;
  bool made_garbage_ = false;
  V* spare_ = nullptr;  ///< a block to be freed, for the next version
  bool keeps_spare_ = false;
};

}  // namespace holdfast::db
