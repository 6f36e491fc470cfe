// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a store in the heap: root, slots, versions, long values. docs/guide/store.md has a
// picture of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "holdfast/db/store/stored_key.h"
#include "holdfast/db/views/entry_buffer.h"
#include "holdfast/db/views/whole_words.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::db {

/// The longest value that a version's own block holds.
inline constexpr size_t kMostShortValue = 4096;

/// A piece of a long value. The piece's bytes follow it in the block.
template <class H>
struct Piece {
  typename H::template Field<Piece*> next;
  typename H::template Field<uint64_t> bytes;
};

/// A long value: a chain of pieces. A blob that no version owns is in a list of the root. So a
/// crash between the transactions that fill or free it loses no blocks.
template <class H>
struct Blob {
  typename H::template Field<Piece<H>*> first;
  typename H::template Field<Piece<H>*> last;
  typename H::template Field<Blob*> next;
  typename H::template Field<Blob*> previous;
};

/// A present or former value of a key, or its deletion. The version holds the key, too, so that a
/// reader finds key and value side by side. The key's bytes follow it in the block. A short value
/// follows these, from the next whole word on. The tree's leaves point to `key` of the newest
/// version.
template <class H>
struct Version {
  static constexpr uint64_t kDeleted = ~uint64_t{0};

  typename H::template Field<uint64_t> stamp;  ///< the transaction that wrote it
  typename H::template Field<Blob<H>*> blob;   ///< the long value; null: a short value follows
  typename H::template Field<Version*> newer;
  typename H::template Field<Version*> older;
  typename H::template Field<Version*> next;  ///< in a slot's list
  /// 0: in no list. In a slot's list `old`: the address of the version before it. 1: it is the
  /// list's first one, or in the list `nested`, or an older build has listed it. A list's first
  /// version may still name one that has been freed.
  typename H::template Field<uint64_t> listed;
  // From here on the layout is that of PackedEntry.
  typename H::template Field<uint64_t> bytes;  ///< the value's length, or kDeleted
  KeyBlock<H> key;

  static Version* of(KeyBlock<H>* key) { return reinterpret_cast<Version*>(key + 1) - 1; }
  static const Version* of(const KeyBlock<H>* key) {
    return reinterpret_cast<const Version*>(key + 1) - 1;
  }
  /// Returns key and value for plain loads. The version has a short value and is not a deletion.
  const PackedEntry* entry() const { return reinterpret_cast<const PackedEntry*>(&bytes); }
  bool deleted() const { return bytes.load() == kDeleted; }
  /// Returns where a short value begins, for a key of `key_bytes` bytes.
  const char* value(size_t key_bytes) const { return key.content() + whole_words(key_bytes); }
  /// Returns the size of a version's block.
  static size_t block_bytes(size_t key_bytes, size_t short_value_bytes) {
    return sizeof(Version) + whole_words(key_bytes) + short_value_bytes;
  }
  size_t block_bytes() const {
    return block_bytes(key.bytes, deleted() || blob.load() != nullptr ? 0 : bytes.load());
  }
};

/// The initial values of a Version's fields, in the same layout, to be stored as one range.
template <class H>
struct NewVersion {
  uint64_t stamp;
  Blob<H>* blob = nullptr;
  Version<H>* newer = nullptr;
  Version<H>* older = nullptr;
  Version<H>* next = nullptr;
  uint64_t listed = 0;
  uint64_t bytes = 0;
  uint64_t key_bytes = 0;
};

/// Stores a new version. A short one is stored as one range, because engines pay for each store.
template <class H>
void store_version(Version<H>* block, const NewVersion<H>& fields, const Slice& key,
                   const Slice& short_value) {
  using E = typename H::Engine;
  alignas(uint64_t) char whole[512];
  const size_t key_end = sizeof(fields) + key.size();
  const size_t value_at = sizeof(fields) + whole_words(key.size());
  const size_t bytes = value_at + short_value.size();
  if (bytes <= sizeof(whole)) {
    std::memcpy(whole, &fields, sizeof(fields));
    std::memcpy(whole + sizeof(fields), key.data(), key.size());
    std::memset(whole + key_end, 0, value_at - key_end);
    std::memcpy(whole + value_at, short_value.data(), short_value.size());
    E::store_range(block, whole, bytes);
  } else {
    auto* const at = reinterpret_cast<char*>(block);
    E::store_range(at, &fields, sizeof(fields));
    E::store_range(at + sizeof(fields), key.data(), key.size());
    E::store_range(at + value_at, short_value.data(), short_value.size());
  }
}

/// The store's state for one thread slot. It has a cache line of its own, so that writers of
/// different keys share no line.
template <class H>
struct alignas(kLineBytes) Slot {
  using Link = typename H::template Field<Version<H>*>;
  typename H::template Field<uint64_t> count = 0;  ///< update transactions so far
  // The slot's replaced versions and its deletions. The next opening finds them here.
  Link nested = nullptr;  ///< replaced inside another transaction; the backlog lacks them
  Link nested_tail = nullptr;
  Link old = nullptr;  ///< in the backlog
  Link old_tail = nullptr;
};

/// The object of root "holdfast.db".
template <class H>
struct StoreRoot {
  static constexpr const char* kTypeName = "holdfast.db.Store";
  static constexpr uint32_t kTypeVersion = 5;
  using Tree = BPlusTree<H, StoredKey<H>>;

  StoreRoot(const std::string& comparator_name, size_t thread_slots)
      : comparator(make_key_block<H>(comparator_name)),
        filling(nullptr),
        garbage(nullptr),
        slot_count(thread_slots),
        slots(static_cast<Slot<H>*>(H::allocate(thread_slots * sizeof(Slot<H>)))) {
    for (size_t i = 0; i < thread_slots; ++i) {
      new (slots.load() + i) Slot<H>;
    }
  }

  /// Makes the array of slots longer, inside a transaction. No other thread may use the store.
  void add_slots(size_t thread_slots) {
    const size_t before = slot_count;
    Slot<H>* const from = slots;
    auto* const to = static_cast<Slot<H>*>(H::allocate(thread_slots * sizeof(Slot<H>)));
    for (size_t i = 0; i < thread_slots; ++i) {
      new (to + i) Slot<H>;
      if (i < before) {
        to[i] = from[i];
      }
    }
    slots = to;
    slot_count = thread_slots;
    H::deallocate(from, before * sizeof(Slot<H>));
  }

  Tree tree;
  typename H::template Field<KeyBlock<H>*> comparator;  ///< the comparator's name
  typename H::template Field<Blob<H>*> filling;         ///< long values being written
  typename H::template Field<Blob<H>*> garbage;         ///< long values to be freed
  typename H::template Field<uint64_t> slot_count;
  typename H::template Field<Slot<H>*> slots;
};

/// The root of a file of version 4. There the keys of the default map are stored as they are, and
/// no key belongs to a named map (map_keys.h).
template <class H>
struct StoreRoot4 : StoreRoot<H> {
  static constexpr uint32_t kTypeVersion = 4;
};

/// Returns the root of the store in the heap. *plain_keys: it has version 4.
template <class H>
Result<StoreRoot<H>*> find_store_root(H& heap, bool* plain_keys) {
  const char* const kRoot = "holdfast.db";
  auto root = heap.template find_root<StoreRoot<H>>(kRoot);
  *plain_keys = false;
  if (!root && root.status().code() == Code::type_mismatch) {
    if (auto older = heap.template find_root<StoreRoot4<H>>(kRoot)) {
      *plain_keys = true;
      return static_cast<StoreRoot<H>*>(*older);
    }
  }
  return root;
}

}  // namespace holdfast::db
