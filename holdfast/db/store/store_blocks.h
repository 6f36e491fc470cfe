// SPDX-License-Identifier: Apache-2.0
//
// What lies in the heap of a database (docs/guide/store.md has the picture).
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

/// A version's own block holds no longer value.
inline constexpr size_t kMostShortValue = 4096;

/// A piece of a long value; its bytes follow.
template <class H>
struct Piece {
  typename H::template Field<Piece*> next;
  typename H::template Field<uint64_t> bytes;
};

/// A long value: a chain of pieces. While no version owns it, it is in a list of the root, so that
/// nothing is lost when the power goes between the transactions that fill or free it.
template <class H>
struct Blob {
  typename H::template Field<Piece<H>*> first;
  typename H::template Field<Piece<H>*> last;
  typename H::template Field<Blob*> next;
  typename H::template Field<Blob*> previous;
};

/// One value a key has or had, or the fact that it was deleted; with its key, so that who has found
/// it has key and value side by side. The key's bytes follow, then, from the next whole word on,
/// those of a short value. The tree's leaves point to the key in the newest one.
template <class H>
struct Version {
  static constexpr uint64_t kDeleted = ~uint64_t{0};

  typename H::template Field<uint64_t> stamp;  ///< of the transaction that wrote it
  typename H::template Field<Blob<H>*> blob;   ///< null: the value follows
  typename H::template Field<Version*> newer;
  typename H::template Field<Version*> older;
  typename H::template Field<Version*> next;    ///< in the list of its slot
  typename H::template Field<uint64_t> listed;  ///< 1 in one of its slot's lists, else 0
  // From here on as in an Entry.
  typename H::template Field<uint64_t> bytes;  ///< of the value, or kDeleted
  KeyBlock<H> key;

  static Version* of(KeyBlock<H>* key) { return reinterpret_cast<Version*>(key + 1) - 1; }
  static const Version* of(const KeyBlock<H>* key) {
    return reinterpret_cast<const Version*>(key + 1) - 1;
  }
  /// For plain loads, of a version that is no deletion and has a short value.
  const Entry* entry() const { return reinterpret_cast<const Entry*>(&bytes); }
  bool deleted() const { return bytes.load() == kDeleted; }
  /// Where a short value begins, in a block whose key has so many bytes.
  const char* value(size_t key_bytes) const { return key.content() + whole_words(key_bytes); }
  /// Bytes of a block.
  static size_t block_bytes(size_t key_bytes, size_t short_value_bytes) {
    return sizeof(Version) + whole_words(key_bytes) + short_value_bytes;
  }
  size_t block_bytes() const {
    return block_bytes(key.bytes, deleted() || blob.load() != nullptr ? 0 : bytes.load());
  }
};

/// A Version's fields as it begins, to be stored at once.
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

/// Stores all of a new version; as one range where it is short, since engines pay for each store.
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

/// What belongs to one thread slot. A line of its own, so that writers of different keys meet
/// nowhere.
template <class H>
struct alignas(kLineBytes) Slot {
  using Link = typename H::template Field<Version<H>*>;
  typename H::template Field<uint64_t> count = 0;  ///< update transactions so far
  // Versions that await their end, in the order in which they were replaced; and those that turned
  // out to be needed by a snapshot.
  Link recent = nullptr;
  Link recent_tail = nullptr;
  Link parked = nullptr;
  Link parked_tail = nullptr;
};

/// The root "holdfast.db".
template <class H>
struct StoreRoot {
  static constexpr const char* kTypeName = "holdfast.db.Store";
  static constexpr uint32_t kTypeVersion = 4;
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

  Tree tree;
  typename H::template Field<KeyBlock<H>*> comparator;  ///< its name
  typename H::template Field<Blob<H>*> filling;         ///< values being written
  typename H::template Field<Blob<H>*> garbage;         ///< values to be freed
  typename H::template Field<uint64_t> slot_count;
  typename H::template Field<Slot<H>*> slots;
};

}  // namespace holdfast::db
