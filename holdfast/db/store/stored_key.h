// SPDX-License-Identifier: Apache-2.0
//
// Keys of arbitrary bytes in a B+tree of fixed-size nodes. A node holds a key's first sixteen
// bytes, which decide most comparisons, and a pointer to the whole key.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "holdfast/db/comparator.h"
#include "holdfast/db/slice.h"
#include "holdfast/engines/engine.h"
#include "holdfast/heap/heap_bounds.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::db {

/// A key's length. The key's bytes follow it in the block.
template <class H>
struct KeyBlock {
  typename H::template Field<uint64_t> bytes;

  const char* content() const { return reinterpret_cast<const char*>(this + 1); }
  char* content() { return reinterpret_cast<char*>(this + 1); }
};

template <class H>
void fill(KeyBlock<H>* block, const Slice& key) {
  block->bytes = key.size();
  H::Engine::store_range(block->content(), key.data(), key.size());
}

template <class H>
KeyBlock<H>* make_key_block(const Slice& key) {
  auto* block = static_cast<KeyBlock<H>*>(H::allocate(sizeof(KeyBlock<H>) + key.size()));
  fill(block, key);
  return block;
}

/// Returns a key's length, inside a transaction. Throws Error(corrupt) if the key is not in the
/// heap.
template <class H>
size_t key_bytes(const KeyBlock<H>* block) {
  const HeapBounds<H> bounds;
  const size_t bytes = bounds.check(block)->bytes;
  if (!bounds.has_behind(block, bytes)) [[unlikely]] {
    throw_damaged("the length of a key");
  }
  return bytes;
}

/// Copies a key to *to, inside a transaction.
template <class H>
void load_key(const KeyBlock<H>* block, std::string* to) {
  to->resize(key_bytes(block));
  H::Engine::load_range(to->data(), block->content(), to->size());
}

/// A key's first bytes as numbers with the same order. Zeros follow a shorter key.
struct KeyHead {
  static constexpr size_t kBytes = 16;

  explicit KeyHead(const Slice& key) {
    unsigned char bytes[kBytes] = {};
    std::memcpy(bytes, key.data(), std::min(key.size(), kBytes));
    word[0] = big_endian(bytes);
    word[1] = big_endian(bytes + sizeof(uint64_t));
  }
  KeyHead() = default;

  __extension__ using Wide = unsigned __int128;
  /// Returns both words as one number.
  Wide wide() const { return static_cast<Wide>(word[0]) << 64 | word[1]; }

  uint64_t word[2];

 private:
  static uint64_t big_endian(const unsigned char* bytes) {
    uint64_t number = 0;
    std::memcpy(&number, bytes, sizeof(number));
    return std::endian::native == std::endian::little ? __builtin_bswap64(number) : number;
  }
};

/// A key in a node of the tree.
template <class H>
struct StoredKey {
  KeyHead head;
  KeyBlock<H>* block;
};

/// Loads only the address of a key in a node.
template <class H>
KeyBlock<H>* load_block(const typename H::template Field<StoredKey<H>>& in_node) {
  static_assert(sizeof(in_node) == sizeof(StoredKey<H>));  // a Field is its value
  return H::Engine::load(&reinterpret_cast<const StoredKey<H>*>(&in_node)->block);
}
/// Stores only the address of a key in a node.
template <class H>
void store_block(typename H::template Field<StoredKey<H>>* in_node, KeyBlock<H>* block) {
  H::Engine::store(&reinterpret_cast<StoredKey<H>*>(in_node)->block, block);
}

/// A key to search for. `stored` is the form in which an insert puts it into the tree.
template <class H>
struct Probe {
  Slice key;
  const Comparator* comparator;
  bool bytewise;
  StoredKey<H> stored;

  Probe(const Slice& k, const Comparator* c)
      : key(k), comparator(c), bytewise(c == BytewiseComparator()), stored{KeyHead(k), nullptr} {}
  operator StoredKey<H>() const { return stored; }  // NOLINT(google-explicit-constructor)

  /// Negative, zero or positive: the stored key is before, equal to, or after this one. Reads no
  /// more of the stored key than it needs.
  int order_of(const StoredKey<H>* other) const {
    using E = typename H::Engine;
    if (bytewise) {
      for (size_t i = 0; i < std::size(stored.head.word); ++i) {
        const uint64_t word = E::load(&other->head.word[i]);
        if (word != stored.head.word[i]) {
          return word < stored.head.word[i] ? -1 : 1;
        }
      }
    }
    return order_of(E::load(&other->block));
  }

 private:
  /// Compares the whole keys. In bytewise order the first sixteen bytes are known to be equal.
  [[gnu::noinline]] int order_of(const KeyBlock<H>* block) const {
    const size_t bytes = key_bytes(block);
    size_t known = 0;
    if (bytewise) {
      known = KeyHead::kBytes;
      if (bytes <= known || key.size() <= known) {
        return bytes < key.size() ? -1 : bytes > key.size() ? 1 : 0;
      }
    }
    const Slice rest(key.data() + known, key.size() - known);
    alignas(uint64_t) char near[128];
    if (bytes - known <= sizeof(near)) {
      H::Engine::load_range(near, block->content() + known, bytes - known);
      return comparator->Compare(Slice(near, bytes - known), rest);
    }
    // In bytewise order, one byte more than the sought key has decides as much as all bytes do.
    std::string far(bytewise ? std::min(bytes - known, rest.size() + 1) : bytes, '\0');
    H::Engine::load_range(far.data(), block->content() + known, far.size());
    return comparator->Compare(far, rest);
  }
};

template <class H>
bool operator<(const StoredKey<H>& a, const Probe<H>& b) {
  return b.order_of(&a) < 0;
}
template <class H>
bool operator<(const Probe<H>& a, const StoredKey<H>& b) {
  return a.order_of(&b) > 0;
}

}  // namespace holdfast::db

namespace holdfast {

template <class H>
struct TreeKey<db::StoredKey<H>> {
  static constexpr bool kDense = true;
  using Key = db::StoredKey<H>;
  using Sought = db::Probe<H>;

  template <class Field>
  static int order(const Field& in_node, const Sought& sought) {
    static_assert(sizeof(Field) == sizeof(Key));  // a Field is its value
    return sought.order_of(reinterpret_cast<const Key*>(&in_node));
  }
  /// Narrows a search in a node down by the keys' heads. Does extra loads to avoid unpredictable
  /// branches: it compares all heads of the node and adds up the results. The compiler makes no
  /// branch of the sum, and no load waits for another. If a load is one instruction, that is faster
  /// than a search by halves.
  template <class Field>
  static PositionRange candidates(const Field* keys, SlotOrder order, const Sought& sought) {
    const int count = order.count();
    if constexpr (direct_loads<typename H::Engine>()) {
      if (sought.bytewise) {
        const db::KeyHead::Wide wanted = sought.stored.head.wide();
        const auto at = [&](int position) {
          return load_head(reinterpret_cast<const Key*>(keys + order.slot(position))).wide();
        };
        int before = 0;
        for (int i = 0; i < count; ++i) {
          before += at(i) < wanted ? 1 : 0;
        }
        int end = before;
        while (end < count && at(end) == wanted) {
          ++end;
        }
        return {before, end};
      }
    }
    return {0, count};
  }
  static Key make_separator(const Key& key) {
    std::string bytes;
    db::load_key(key.block, &bytes);
    return {key.head, db::make_key_block<H>(bytes)};
  }
  static void destroy_separator(const Key& separator) {
    H::deallocate(separator.block, block_bytes(separator));
  }
  template <class Visitor>
  static void visit_separator(const Key& separator, Visitor& visit) {
    visit(static_cast<const void*>(separator.block), block_bytes(separator));
  }

 private:
  static db::KeyHead load_head(const Key* in_node) {
    db::KeyHead head;
    for (size_t i = 0; i < std::size(head.word); ++i) {
      head.word[i] = H::Engine::load(&in_node->head.word[i]);
    }
    return head;
  }
  static size_t block_bytes(const Key& separator) {
    return sizeof(db::KeyBlock<H>) + db::key_bytes(separator.block);
  }
};

}  // namespace holdfast
