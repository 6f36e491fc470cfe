// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the structure tests: a durable structure beside its model, and their comparison.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/heap/plain_heap.h"
#include "holdfast/structures/bplus_tree.h"
#include "holdfast/structures/fixed_hash_map.h"
#include "holdfast/structures/hash_map.h"
#include "holdfast/structures/linked_list.h"
#include "holdfast/structures/parent_rb_tree.h"
#include "holdfast/structures/rb_tree.h"

namespace holdfast::testing {

/// A number that chooses kDense of TreeKey.
struct DenseKey {
  static constexpr const char* kTypeName = "holdfast.testing.DenseKey";
  DenseKey() = default;
  DenseKey(int64_t n) : number(n) {}           // NOLINT(google-explicit-constructor)
  operator int64_t() const { return number; }  // NOLINT(google-explicit-constructor)
  int64_t number;
};

}  // namespace holdfast::testing

namespace holdfast {

template <>
struct TreeKey<testing::DenseKey> {
  static constexpr bool kDense = true;
  using Sought = testing::DenseKey;
  static Sought make_separator(const Sought& key) { return key; }
  static void destroy_separator(const Sought& /*separator*/) {}
  template <class Visitor>
  static void visit_separator(const Sought& /*separator*/, Visitor& /*visit*/) {}
};

}  // namespace holdfast

namespace holdfast::testing {

using Model = std::map<int64_t, uint64_t>;

/// A LinkedList as a map whose values follow from the keys, so that one test serves all structures.
template <class H, bool kPromote = true>
class ListAsMap {
 public:
  static uint64_t value_of(int64_t key) { return mix64(static_cast<uint64_t>(key)); }
  bool insert(int64_t key, uint64_t) { return list_.insert(key); }
  bool put(int64_t key, uint64_t) { return list_.insert(key); }
  bool erase(int64_t key) { return list_.erase(key); }
  std::optional<uint64_t> find(int64_t key) const {
    return list_.contains(key) ? std::optional<uint64_t>(value_of(key)) : std::nullopt;
  }
  size_t size() const { return list_.size(); }
  void clear() { list_.clear(); }
  void dispose() { list_.dispose(); }
  Status check() const { return list_.check(); }
  template <class F>
  void for_each(F&& f) const {
    list_.for_each([&](int64_t key) { return f(key, value_of(key)); });
  }
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    list_.visit_blocks(visit);
  }

 private:
  LinkedList<H, int64_t, kPromote> list_;
};

/// The structures under test, in a common shape: Type<H, kPromote>, and constants for their
/// differences.
struct RbTreeKind {
  template <class H, bool kPromote = true>
  using Type = RbTree<H, int64_t, uint64_t, kPromote>;
  static constexpr bool kOrdered = true;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 100000;
};
struct ParentRbTreeKind {
  template <class H, bool kPromote = true>
  using Type = ParentRbTree<H, int64_t, uint64_t, kPromote>;
  static constexpr bool kOrdered = true;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 100000;
};
struct BPlusTreeKind {
  template <class H, bool kPromote = true>
  using Type = BPlusTree<H, int64_t, uint64_t, kPromote>;
  static constexpr bool kOrdered = true;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 100000;
};
struct DenseBPlusTreeKind {
  template <class H, bool kPromote = true>
  using Type = BPlusTree<H, DenseKey, uint64_t, kPromote>;
  static constexpr bool kOrdered = true;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 100000;
};
struct HashMapKind {
  template <class H, bool kPromote = true>
  using Type = HashMap<H, int64_t, uint64_t, KeyHash<int64_t>, kPromote>;
  static constexpr bool kOrdered = false;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 100000;
};
struct FixedHashMapKind {
  template <class H, bool kPromote = true>
  class Type : public FixedHashMap<H, int64_t, uint64_t, KeyHash<int64_t>, kPromote> {
   public:
    Type() : FixedHashMap<H, int64_t, uint64_t, KeyHash<int64_t>, kPromote>(37) {}
  };
  static constexpr bool kOrdered = false;
  static constexpr bool kStoresValues = true;
  static constexpr int64_t kLarge = 5000;
};
struct LinkedListKind {
  template <class H, bool kPromote = true>
  using Type = ListAsMap<H, kPromote>;
  static constexpr bool kOrdered = true;
  static constexpr bool kStoresValues = false;
  static constexpr int64_t kLarge = 2000;
};

/// Compares everything: invariants, contents, size, and that the structure owns exactly the blocks
/// that the heap has given out. `others` of them have no owner below the structure.
template <class Kind, class S>
::testing::AssertionResult same(const S& structure, const Model& model, size_t live_blocks,
                                size_t others) {
  const Status status = structure.check();
  if (!status.ok()) {
    return ::testing::AssertionFailure() << status.to_string();
  }
  if (structure.size() != model.size()) {
    return ::testing::AssertionFailure()
           << "size " << structure.size() << " instead of " << model.size();
  }
  Model found;
  bool ordered = true;
  structure.for_each([&](int64_t key, uint64_t value) {
    ordered = ordered && (found.empty() || found.rbegin()->first < key);
    found.emplace(key, value);
    return true;
  });
  if (Kind::kOrdered && !ordered) {
    return ::testing::AssertionFailure() << "for_each is out of order";
  }
  if (found != model) {
    return ::testing::AssertionFailure() << "contents differ";
  }
  size_t blocks = others;
  structure.visit_blocks(
      [&](const void* block, size_t bytes) { blocks += block != nullptr && bytes > 0 ? 1 : 0; });
  if (blocks != live_blocks) {
    return ::testing::AssertionFailure() << "owns " << blocks << " blocks of " << live_blocks;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace holdfast::testing
