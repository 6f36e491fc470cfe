// SPDX-License-Identifier: Apache-2.0
//
// Keys of any bytes in a B+tree of fixed-size nodes: a node holds the first eight bytes, which
// decide most comparisons, and a pointer to all of them.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/db/comparator.h"
#include "holdfast/db/slice.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::db {

/// The bytes follow.
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

/// Inside a transaction; replaces what `to` held.
template <class H>
void load_key(const KeyBlock<H>* block, std::string* to) {
  to->resize(block->bytes.load());
  H::Engine::load_range(to->data(), block->content(), to->size());
}

/// The key's first eight bytes as a number that orders as they do; a shorter key counts as followed
/// by zeros.
inline uint64_t prefix_of(const Slice& key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
  }
  return prefix;
}

template <class H>
struct StoredKey {
  uint64_t prefix;
  KeyBlock<H>* block;
};

/// A key to look for. `stored` is what an insert puts into the tree.
template <class H>
struct Probe {
  Slice key;
  const Comparator* comparator;
  uint64_t prefix;
  StoredKey<H> stored{};

  Probe(const Slice& k, const Comparator* c) : key(k), comparator(c), prefix(prefix_of(k)) {}
  operator StoredKey<H>() const { return stored; }  // NOLINT(google-explicit-constructor)

  /// Negative, zero or positive as the stored key is before, equal to, or after this one.
  int order_of(const StoredKey<H>& other) const {
    if (comparator == BytewiseComparator() && other.prefix != prefix) {
      return other.prefix < prefix ? -1 : 1;
    }
    const size_t bytes = other.block->bytes.load();
    char near[128];
    if (bytes <= sizeof(near)) {
      H::Engine::load_range(near, other.block->content(), bytes);
      return comparator->Compare(Slice(near, bytes), key);
    }
    std::string far;
    load_key(other.block, &far);
    return comparator->Compare(far, key);
  }
};

template <class H>
bool operator<(const StoredKey<H>& a, const Probe<H>& b) {
  return b.order_of(a) < 0;
}
template <class H>
bool operator<(const Probe<H>& a, const StoredKey<H>& b) {
  return a.order_of(b) > 0;
}

}  // namespace holdfast::db

namespace holdfast {

template <class H>
struct TreeKey<db::StoredKey<H>> {
  using Key = db::StoredKey<H>;
  using Sought = db::Probe<H>;

  static Key make_separator(const Key& key) {
    std::string bytes;
    db::load_key(key.block, &bytes);
    return {key.prefix, db::make_key_block<H>(bytes)};
  }
  static void destroy_separator(const Key& separator) {
    H::deallocate(separator.block, block_bytes(separator));
  }
  template <class Visitor>
  static void visit_separator(const Key& separator, Visitor& visit) {
    visit(static_cast<const void*>(separator.block), block_bytes(separator));
  }

 private:
  static size_t block_bytes(const Key& separator) {
    return sizeof(db::KeyBlock<H>) + separator.block->bytes.load();
  }
};

}  // namespace holdfast
