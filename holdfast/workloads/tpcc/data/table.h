// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "holdfast/base/function_ref.h"
#include "holdfast/structures/bplus_tree.h"

namespace holdfast::tpcc {

/// A table: maps keys to row pointers, or to plain numbers, of type V. All tables use one type of
/// tree. Nine types of tree would be compiled nine times for every engine.
template <class H, class V>
class Table {
  static_assert(std::is_pointer_v<V> || std::is_same_v<V, uint64_t>);
  using Tree = BPlusTree<H, uint64_t, uint64_t>;

 public:
  std::optional<V> find(uint64_t key) const {
    const std::optional<uint64_t> word = tree_.find(key);
    return word ? std::optional<V>(value(*word)) : std::nullopt;
  }
  bool contains(uint64_t key) const { return tree_.contains(key); }
  bool insert(uint64_t key, V row) { return tree_.insert(key, word(row)); }
  bool erase(uint64_t key) { return tree_.erase(key); }

  /// As BPlusTree::lower_bound and last_before.
  bool lower_bound(uint64_t key, uint64_t* found, V* row) const {
    uint64_t at = 0;
    const bool any = tree_.lower_bound(key, found, &at);  // stores `at` before deliver() reads it
    return deliver(any, at, row);
  }
  bool last_before(uint64_t key, uint64_t* found, V* row) const {
    uint64_t at = 0;
    const bool any = tree_.last_before(key, found, &at);
    return deliver(any, at, row);
  }

  /// Calls f(key, row) in key order from `from` on, until it returns false.
  template <class F>
  void scan(uint64_t from, F&& f) const {
    tree_.scan(from, [&](uint64_t key, uint64_t at) { return f(key, value(at)); });
  }
  /// Calls f(key, row) for all rows. For checks: it is slower than scan(), and compiled once for
  /// all tables.
  template <class F>
  void each(F&& f) const {
    const auto visit = [&](uint64_t key, uint64_t at) {
      f(key, value(at));
      return true;
    };
    tree_.scan(0, FunctionRef<bool(uint64_t, uint64_t)>(visit));
  }

  size_t size() const { return tree_.size(); }
  Status check() const { return tree_.check(); }
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    tree_.visit_blocks(visit);
  }

 private:
  static V value(uint64_t word) {
    if constexpr (std::is_pointer_v<V>) {
      return reinterpret_cast<V>(word);  // NOLINT(performance-no-int-to-ptr): stored by word()
    } else {
      return word;
    }
  }
  static uint64_t word(V row) {
    if constexpr (std::is_pointer_v<V>) {
      return reinterpret_cast<uint64_t>(row);
    } else {
      return row;
    }
  }
  static bool deliver(bool any, uint64_t word, V* row) {
    if (any && row != nullptr) {
      *row = value(word);
    }
    return any;
  }

  Tree tree_;
};

}  // namespace holdfast::tpcc
