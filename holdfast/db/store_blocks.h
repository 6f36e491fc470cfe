// SPDX-License-Identifier: Apache-2.0
//
// What lies in the heap of a database (docs/db.md has the picture).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "holdfast/db/stored_key.h"
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

template <class H>
struct Entry;

/// One value a key has or had, or the fact that it was deleted. Short values follow.
template <class H>
struct Version {
  static constexpr uint64_t kDeleted = ~uint64_t{0};

  typename H::template Field<uint64_t> stamp;  ///< of the transaction that wrote it
  typename H::template Field<uint64_t> bytes;  ///< of the value, or kDeleted
  typename H::template Field<Blob<H>*> blob;   ///< null: the value follows
  typename H::template Field<Entry<H>*> entry;
  typename H::template Field<Version*> newer;
  typename H::template Field<Version*> older;
  typename H::template Field<Version*> next;    ///< in the list of its slot
  typename H::template Field<uint64_t> listed;  ///< 1 in one of its slot's lists, else 0

  bool deleted() const { return bytes.load() == kDeleted; }
  /// Bytes of the block.
  size_t block_bytes() const {
    return sizeof(Version) + (deleted() || blob.load() != nullptr ? 0 : bytes.load());
  }
};

/// A Version's fields as it begins, to be stored at once.
template <class H>
struct NewVersion {
  uint64_t stamp;
  uint64_t bytes;
  Blob<H>* blob = nullptr;
  Entry<H>* entry = nullptr;
  Version<H>* newer = nullptr;
  Version<H>* older = nullptr;
  Version<H>* next = nullptr;
  uint64_t listed = 0;
};

/// A key with its versions, newest first. The bytes of the key follow.
template <class H>
struct Entry {
  typename H::template Field<Version<H>*> newest;
  KeyBlock<H> key;

  size_t block_bytes() const { return sizeof(Entry) + key.bytes.load(); }
};

/// An Entry's fields as it begins.
template <class H>
struct NewEntry {
  Version<H>* newest;
  uint64_t key_bytes;
};

/// Stores a new block's fields and the bytes that follow them; as one range where they are short,
/// since engines pay for each store.
template <class H, class New>
void store_block(void* block, const New& fields, const Slice& following) {
  char whole[512];
  auto* const rest = static_cast<char*>(block) + sizeof(New);
  if (sizeof(New) + following.size() <= sizeof(whole)) {
    std::memcpy(whole, &fields, sizeof(New));
    std::memcpy(whole + sizeof(New), following.data(), following.size());
    H::Engine::store_range(block, whole, sizeof(New) + following.size());
  } else {
    H::Engine::store_range(block, &fields, sizeof(New));
    H::Engine::store_range(rest, following.data(), following.size());
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
  static constexpr uint32_t kTypeVersion = 2;
  using Tree = BPlusTree<H, StoredKey<H>, Entry<H>*>;

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
