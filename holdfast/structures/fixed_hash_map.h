// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/base/type_text.h"
#include "holdfast/structures/hash.h"
#include "holdfast/structures/hash_chain.h"

namespace holdfast {

/// An unordered map from K to V (both trivially copyable, K with ==) in a heap H, with a fixed
/// number of buckets. The constructor stores to every bucket in one transaction. For tables that
/// are too large for an engine's log, or of unknown size, use HashMap, which grows.
///
/// Thread safety: through transactions. Every member function runs inside one: functions that
/// change the map inside update(), the others inside read() or update(). A change is durable when
/// its update() returns. size, check and clear cost O(buckets); the others the length of a chain.
template <class H, class K, class V, class Hash = KeyHash<K>, bool kPromote = true>
class FixedHashMap {
  using Chain = HashChain<H, K, V, kPromote>;
  using Bucket = typename Chain::Bucket;
  using Node = typename Chain::Node;
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.FixedHashMap", K, V, Hash>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  /// `buckets`: at least 1; best about the number of entries to come. Throws
  /// Error(invalid_argument) for a number that no heap can hold.
  explicit FixedHashMap(uint64_t buckets)
      : count_(checked(buckets)),
        bucket_(static_cast<Bucket*>(H::allocate(count_ * sizeof(Bucket)))) {
    Bucket* bucket = bucket_;
    const uint64_t count = count_;  // known to be possible, for the compiler as well
    for (uint64_t i = 0; i < count; ++i) {
      bucket[i] = nullptr;
    }
  }
  FixedHashMap(const FixedHashMap&) = delete;
  FixedHashMap& operator=(const FixedHashMap&) = delete;

  std::optional<V> find(const K& key) const { return Chain::find(bucket_of(key), key); }
  bool contains(const K& key) const { return Chain::locate(bucket_of(key), key) != nullptr; }

  /// Returns false, changing nothing, if the key exists.
  bool insert(const K& key, const V& value) {
    return Chain::add(bucket_of(key), key, value, false);
  }
  /// Inserts or overwrites. Returns true if the key is new.
  bool put(const K& key, const V& value) { return Chain::add(bucket_of(key), key, value, true); }
  /// Returns false, changing nothing, if there is no such key.
  bool erase(const K& key) { return Chain::erase(bucket_of(key), key); }

  uint64_t buckets() const { return count_; }
  size_t size() const {
    size_t n = 0;
    for_each([&](const K&, const V&) { return ++n != 0; });
    return n;
  }

  /// Calls f(key, value), in no particular order, until it returns false.
  template <class F>
  void for_each(F&& f) const {
    walk([&](const Node* node) { return f(node->key.load(), node->value.load()); });
  }

  void clear() {
    Bucket* bucket = bucket_;
    const uint64_t n = count_;
    for (uint64_t i = 0; i < n; ++i) {
      Chain::clear(bucket[i]);
    }
  }
  /// Frees everything the map owns. Call it before destroying the map, and call nothing after it.
  void dispose() {
    clear();
    H::deallocate(bucket_.load(), count_ * sizeof(Bucket));
  }

  /// Checks that every entry is in its bucket, and that no key occurs twice.
  Status check() const {
    const Bucket* bucket = bucket_;
    const uint64_t n = count_;
    for (uint64_t i = 0; i < n; ++i) {
      if (!Chain::unique(bucket[i], kLongestChain)) {
        return Status(Code::corrupt, "hash map: a key occurs twice, or a chain has a cycle");
      }
      if (!Chain::walk(bucket[i],
                       [&](const Node* node) { return index_of(node->key.load(), n) == i; })) {
        return Status(Code::corrupt, "hash map: an entry is in the wrong bucket");
      }
    }
    return {};
  }

  /// Calls visit(p, n) for each block of the heap that the map owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    visit(static_cast<const void*>(bucket_.load()), count_ * sizeof(Bucket));
    walk([&](const Node* node) {
      visit(static_cast<const void*>(node), sizeof(Node));
      return true;
    });
  }

 private:
  __extension__ using Wide = unsigned __int128;

  /// Checks cost the square of a chain's length. A table with longer chains counts as damaged.
  static constexpr size_t kLongestChain = size_t{1} << 20;

  static uint64_t checked(uint64_t buckets) {
    constexpr uint64_t kMost = SIZE_MAX / sizeof(Bucket);
    if (buckets == 0 || buckets > kMost) [[unlikely]] {
      throw Error(Status(Code::invalid_argument, "a hash map has from 1 to " +
                                                     std::to_string(kMost) + " buckets, not " +
                                                     std::to_string(buckets)));
    }
    return buckets;
  }

  Bucket& bucket_of(const K& key) const { return bucket_.load()[index_of(key, count_)]; }

  /// Maps the hash to a fraction of the table, which needs no division.
  static uint64_t index_of(const K& key, uint64_t buckets) {
    return static_cast<uint64_t>((static_cast<Wide>(Hash()(key)) * buckets) >> 64);
  }

  template <class F>
  void walk(F&& f) const {
    const Bucket* bucket = bucket_;
    const uint64_t n = count_;
    for (uint64_t i = 0; i < n && Chain::walk(bucket[i], f); ++i) {
    }
  }

  Field<uint64_t> count_;
  Field<Bucket*> bucket_;
};

}  // namespace holdfast
