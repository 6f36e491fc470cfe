// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <string>

#include "holdfast/db/store/blobs.h"
#include "holdfast/db/store/store_blocks.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/db/write_batch.h"
#include "holdfast/engines/engine.h"

namespace holdfast::db {

/// Keys and their versions: what a transaction body does to a store. One object per execution of a
/// body. Pieces of one slot's state that several bodies share are durable and transactional.
///
/// Snapshot isolation. Whoever frees a block holds the fields that others may store to, and every
/// decision about a version is tied to a field that who would change its ground stores to as well:
/// its links. `newer` of a key's newest version is null and stands for the key: whoever gives the
/// key another version stores it. Where it is not stored to anyway, it is promoted.
template <class H>
class Versions {
  using V = Version<H>;
  using Verdict = Snapshots::Verdict;
  static_assert(sizeof(NewVersion<H>) == sizeof(V));

 public:
  /// What a leaf of the tree has of a key.
  using TreeField = typename H::template Field<StoredKey<H>>;

  Versions(StoreRoot<H>& root, const Comparator* comparator, Snapshots& snapshots)
      : root_(root), comparator_(comparator), snapshots_(snapshots) {}

  /// The version of `key` this view sees (null: the newest), or null where there is no value.
  const V* find(const Slice& key, const View* view) const {
    return find(root_, Probe<H>(key, comparator_), view);
  }
  static const V* find(const StoreRoot<H>& root, const Probe<H>& probe, const View* view) {
    const TreeField* const held = root.tree.find_field(probe);
    return held != nullptr ? seen(newest(*held), view) : nullptr;
  }
  /// Of the key a leaf of the tree holds.
  static V* newest(const TreeField& held) { return V::of(load_block<H>(held)); }
  static const V* seen(const V* newest, const View* view) {
    const V* version = newest;
    while (version != nullptr && view != nullptr && !view->sees(version->stamp)) {
      version = version->older;
    }
    return version == nullptr || version->deleted() ? nullptr : version;
  }
  /// How long a version's key and value are, and where a long value is.
  struct Content {
    size_t key_bytes;
    size_t value_bytes;
    const Blob<H>* blob;  ///< null: the value lies behind the key

    /// Of what lies in the version's block.
    size_t beside() const { return whole_words(key_bytes) + (blob == nullptr ? value_bytes : 0); }
  };
  /// Of a version that is no deletion. What a damaged length would lead to is not read.
  static Content content(const V* version) {
    return content(version, *static_cast<const Context*>(H::Machine::context()));
  }
  static Content content(const V* version, const Context& context) {
    const Content found{version->key.bytes, version->bytes, version->blob};
    const size_t room = context.room_at(version->key.content());
    const bool sound =
        found.key_bytes <= room &&
        (found.blob == nullptr ? found.value_bytes <= kMostShortValue && found.beside() <= room
                               : Blobs<H>::holds(found.blob, found.value_bytes));
    if (!sound) [[unlikely]] {
      throw_damaged("the length of a key or a value");
    }
    return found;
  }
  /// Whether this version is one of those that nearly all are: seen, no deletion, with a short
  /// value right behind its key. Takes a third of what seen and content do.
  static bool is_plain(const V* version, const View& view, const Context& context) {
    constexpr size_t kMost = sizeof(V) + 2 * kMostShortValue;
    const uint64_t lengths = version->bytes.load() | version->key.bytes.load();
    const auto blob = reinterpret_cast<uintptr_t>(version->blob.load());
    return view.sees(version->stamp) && (lengths | blob) < kMostShortValue &&
           context.room_at(version) >= kMost;
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
  /// The key, and from the next whole word on the value, into room for so much.
  static void load_both(const V* version, const Content& at, char* to) {
    H::Engine::load_range(to, version->key.content(), at.beside());
    if (at.blob != nullptr) {
      Blobs<H>::load(at.blob, to + whole_words(at.key_bytes));
    }
  }

  /// Has a concurrent change of `key` conflict with this transaction: what was read of it counts as
  /// written. Inside update().
  void hold_key(const Slice& key) const {
    const Probe<H> probe(key, comparator_);
    if (const TreeField* held = root_.tree.find_field(probe)) {
      newest(*held)->newer.promote();
    } else {
      root_.tree.hold_place(probe);
    }
  }

  /// `long_value` may be null; else it is the value, in no list any more.
  void put(const Slice& key, const Slice& value, Blob<H>* long_value) {
    const Slice short_value = long_value == nullptr ? value : Slice();
    V* const version = allocate_version(key.size(), short_value.size());
    NewVersion<H> fields{.stamp = stamp_, .blob = long_value, .bytes = value.size()};
    Probe<H> probe(key, comparator_);
    probe.stored.block = &version->key;
    const auto make = [&] {  // the tree may read the key at once
      store(version, fields, key, short_value);
      return probe.stored;
    };
    if (TreeField* held = root_.tree.find_or_insert(probe, make)) {
      replace(held, fields, probe.stored);
      store(version, fields, key, short_value);
    }
  }

  void erase(const Slice& key) {
    Probe<H> probe(key, comparator_);
    if (const TreeField* held = root_.tree.find_field(probe);
        held == nullptr || newest(*held)->deleted()) {
      hold_key(key);  // a concurrent put comes before or after this, not beside it
      return;
    }
    V* const deletion = allocate_version(key.size(), 0);
    NewVersion<H> fields{.stamp = stamp_, .bytes = V::kDeleted};
    probe.stored.block = &deletion->key;
    replace(root_.tree.find_field(probe), fields, probe.stored);
    store(deletion, fields, key, {});
    enlist(slot(), deletion);
  }

  /// Decides on up to `most` of a slot's recently replaced versions. False when nothing is left
  /// that can be decided now.
  bool reclaim(Slot<H>& from, int most) {
    for (; most > 0; --most) {
      V* version = from.recent;
      if (version == nullptr || !settle(from, version)) {
        return false;
      }
    }
    return true;
  }
  /// Looks at a slot's parked versions anew.
  void unpark(Slot<H>& of) {
    V* const first = of.parked;
    if (first == nullptr) {
      return;
    }
    if (V* tail = of.recent_tail) {
      tail->next = first;
    } else {
      of.recent = first;
    }
    of.recent_tail = of.parked_tail.load();
    of.parked = nullptr;
    of.parked_tail = nullptr;
  }

  /// For the feed: what has been changed, in order; and that as a blob, where it was written ahead.
  WriteBatch& changes() { return changes_; }
  Blob<H>* record_ahead() const { return record_ahead_; }
  void set_record_ahead(Blob<H>* blob) { record_ahead_ = blob; }

  void has_made_garbage() { made_garbage_ = true; }
  /// Of this transaction; 0 when it has written nothing.
  uint64_t stamp() const { return stamp_; }
  /// Whether long values await being freed.
  bool made_garbage() const { return made_garbage_; }
  /// Whether a version was parked for a snapshot.
  bool parked() const { return parked_; }

 private:
  /// Replacing a version takes two looks at earlier ones, so that lists do not grow.
  static constexpr int kReclaimPerWrite = 2;

  Slot<H>& slot() {
    const auto* context = static_cast<const Context*>(H::Machine::context());
    return root_.slots.load()[static_cast<size_t>(context->slot)];
  }

  /// Also draws the transaction's stamp.
  V* allocate_version(size_t key_bytes, size_t short_value_bytes) {
    Slot<H>& own = slot();
    reclaim(own, kReclaimPerWrite);
    if (stamp_ == 0) {
      const int number = static_cast<const Context*>(H::Machine::context())->slot;
      snapshots_.stamps(static_cast<size_t>(number));
      const uint64_t count = own.count + 1;
      own.count = count;
      stamp_ = Stamp::make(number, count);
    }
    return new (H::allocate(V::block_bytes(key_bytes, short_value_bytes))) V;
  }
  void store(V* version, NewVersion<H>& fields, const Slice& key, const Slice& short_value) {
    fields.key_bytes = key.size();
    store_version(version, fields, key, short_value);
  }

  /// Puts the version at `key`, which will be stored, before its key's newest one, and into the
  /// tree.
  void replace(TreeField* held, NewVersion<H>& fields, const StoredKey<H>& key) {
    V* const version = V::of(key.block);
    V* const old = newest(*held);
    if (old->stamp == stamp_ && old->listed == 0) {
      fields.older = replace_own(old, version);
    } else {
      fields.older = old;
      old->newer = version;
      if (old->listed == 0) {
        enlist(slot(), old);
      }
    }
    if (comparator_ == BytewiseComparator()) {
      store_block<H>(held, key.block);
    } else {
      *held = key;  // it may be the same key with other bytes
    }
  }

  /// What this transaction itself wrote before, nobody has seen. Returns the version before it.
  V* replace_own(V* old, V* version) {
    V* const older = old->older;
    if (older != nullptr) {
      older->newer = version;
    }
    destroy(old);
    return older;
  }

  void enlist(Slot<H>& to, V* version) {
    append(to.recent, to.recent_tail, version);
    version->listed = 1;
  }
  static void append(typename Slot<H>::Link& head, typename Slot<H>::Link& tail, V* version) {
    if (version->next.load() != nullptr) {
      version->next = nullptr;
    }
    if (V* last = tail) {
      last->next = version;
    } else {
      head = version;
    }
    tail = version;
  }

  /// Takes the first of the recent ones out of the list, if its fate can be decided.
  bool settle(Slot<H>& from, V* version) {
    const V* const newer = version->newer;
    const Verdict verdict = newer == nullptr ? snapshots_.judge_deletion(version->stamp)
                                             : snapshots_.judge(version->stamp, newer->stamp);
    if (verdict == Verdict::undecided) {
      return false;
    }
    V* const next = version->next;
    from.recent = next;
    if (next == nullptr) {
      from.recent_tail = nullptr;
    }
    if (verdict == Verdict::reclaim) {
      release(version);
    } else {
      append(from.parked, from.parked_tail, version);
      parked_ = true;
    }
    return true;
  }

  void release(V* version) {
    V* const newer = version->newer;
    V* const older = version->older;
    if (newer == nullptr) {
      // The deletion of a key. It stays for as long as it hides older versions.
      if (older == nullptr) {
        remove_entry(version);
      } else {
        version->listed = 0;
        version->older.promote();  // who frees the last of them looks at `listed`
        version->newer.promote();  // and so does who replaces it
      }
      return;
    }
    newer->older = older;
    if (older != nullptr) {
      older->newer = newer;
    }
    version->newer.promote();  // skew: neighbours that leave at the same time conflict
    version->older.promote();
    destroy(version);
    if (older == nullptr && newer->deleted() && newer->newer.load() == nullptr &&
        newer->listed == 0) {
      remove_entry(newer);
    }
  }

  /// Ends a key whose only version is this deletion.
  void remove_entry(V* deletion) {
    deletion->newer.promote();  // a put would be lost with it
    std::string key;
    load_key(&deletion->key, &key);
    root_.tree.erase(Probe<H>(key, comparator_));
    destroy(deletion);
  }

  void destroy(V* version) {
    const size_t bytes = version->block_bytes();
    if (Blob<H>* blob = version->blob) {
      Blobs<H>::link(root_.garbage, blob);
      made_garbage_ = true;
    }
    H::deallocate(version, bytes);
  }

  StoreRoot<H>& root_;
  const Comparator* comparator_;
  Snapshots& snapshots_;
  uint64_t stamp_ = 0;
  WriteBatch changes_;
  Blob<H>* record_ahead_ = nullptr;
  bool made_garbage_ = false;
  bool parked_ = false;
};

}  // namespace holdfast::db
