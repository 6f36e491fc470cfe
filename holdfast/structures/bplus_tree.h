// SPDX-License-Identifier: Apache-2.0
//
// A B+tree for durable transactions. A node has room for 15 entries, kept unsorted, and one word
// with their order (SlotOrder). So an insert into a leaf stores three words, and an erase one. With
// keys and values of 8 bytes a node has 256 bytes, four lines.
//
//     Node    order | link | key[15] | payload[15]
//     leaf    link = next leaf, payload = values; the leaf of a set has no payload
//     inner   link = leftmost child, payload[i] = child with the keys >= key[i]
//
// A leaf that becomes empty is freed, and with it inner nodes without a child, and roots with a
// single child. Nodes with few entries are not merged. A full leaf that is appended to stays full,
// so ascending keys fill leaves completely.
//
// Snapshot isolation. The order word of a leaf stands for its key range. A transaction that inserts
// or erases a key there stores or promotes the order word. A transaction that takes part of the
// range away (split), or gives it to a neighbour (free), stores it as well. So two changes of one
// leaf conflict, and a path through inner nodes stays correct. Values are the exception: a put
// stores only the value. (In a set the value is the key, whose bytes may change, but not its place
// in the order.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "holdfast/base/prefetch.h"
#include "holdfast/base/status.h"
#include "holdfast/base/type_text.h"
#include "holdfast/heap/heap_bounds.h"
#include "holdfast/machine/machine.h"
#include "holdfast/structures/hold.h"
#include "holdfast/structures/slot_order.h"

namespace holdfast {

/// The properties of a tree's keys. A key type that points to its bytes specialises this template,
/// which then has three more tasks:
///  - Searches use another type, Sought, which an insert converts to a key. order(in_node, sought)
///    compares the two: negative, zero or positive if the key in a node's field is before, equal
///    to, or after the sought one.
///  - candidates(keys, order, sought) may narrow down the search of a node without loading whole
///    keys. Positions before the returned range have keys before the sought one, and those behind
///    it keys after it.
///  - Keys in inner nodes outlive their entries, so they get bytes of their own.
///
/// kDense: a full leaf first gives entries to a neighbour that has room, and splits only if there
/// is none. Random inserts then fill leaves to four fifths instead of two thirds. The price is a
/// look at the neighbours of a full leaf.
template <class K>
struct TreeKey {
  static constexpr bool kDense = false;
  using Sought = K;
  static K make_separator(const K& key) { return key; }
  static void destroy_separator(const K& /*separator*/) {}
  template <class Visitor>
  static void visit_separator(const K& /*separator*/, Visitor& /*visit*/) {}
};

/// An ordered map from K to V (both trivially copyable, K ordered by <) in a heap H. If V is void,
/// it is a set of keys, each of which is its own value.
///
/// Thread safety: through transactions. Every member function runs inside one: functions that
/// change the tree inside update(), the others inside read() or update(). A change is durable when
/// its update() returns. Costs: O(log n), scans plus the entries they deliver; size, check and
/// clear O(n). Entries move between nodes: keep no pointers into the tree.
template <class H, class K, class V = void, bool kPromote = true>
class BPlusTree {
  template <class T>
  using Field = typename H::template Field<T>;
  using Sought = typename TreeKey<K>::Sought;
  static constexpr bool kSet = std::is_void_v<V>;
  using Value = std::conditional_t<kSet, K, V>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.BPlusTree", K, V>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  BPlusTree() : root_(H::template make<Leaf>()), height_(0) {}
  BPlusTree(const BPlusTree&) = delete;
  BPlusTree& operator=(const BPlusTree&) = delete;

  std::optional<Value> find(const Sought& key) const {
    const Field<Value>* const held = find_field(key);
    return held != nullptr ? std::optional<Value>(held->load()) : std::nullopt;
  }
  bool contains(const Sought& key) const { return find_field(key) != nullptr; }

  /// Returns false, changing nothing, if the key exists.
  bool insert(const Sought& key, const Value& value) {
    return find_or_insert(key, [&] { return value; }) == nullptr;
  }
  /// Inserts or overwrites. Returns true if the key is new.
  bool put(const Sought& key, const Value& value) {
    Field<Value>* const held = find_or_insert(key, [&] { return value; });
    if (held != nullptr) {
      *held = value;
    }
    return held == nullptr;
  }
  /// The field of the key's value, valid until the tree changes; null if there is no such key.
  const Field<Value>* find_field(const Sought& key) const;
  Field<Value>* find_field(const Sought& key) {
    return const_cast<Field<Value>*>(static_cast<const BPlusTree*>(this)->find_field(key));
  }
  /// The field of the key's value; null if there was no such key, which has now been inserted with
  /// the value that make() returns. make may complete `key`, and must not change the tree.
  template <class Make>
  Field<Value>* find_or_insert(const Sought& key, Make&& make);
  /// Returns false, changing nothing, if there is no such key.
  bool erase(const Sought& key);

  /// Finds the entry with the smallest key >= `key`. Returns false if there is none. `found` and
  /// `value` may be null.
  bool lower_bound(const Sought& key, K* found, Value* value) const {
    return first_of(found, value, [&](auto&& f) { scan(key, f); });
  }
  /// Finds the entry with the greatest key < `key`. Returns false if there is none. `found` and
  /// `value` may be null.
  bool last_before(const Sought& key, K* found, Value* value) const {
    return first_of(found, value, [&](auto&& f) { scan_back(key, f); });
  }
  /// Finds the entry with the greatest key. Returns false if there is none. `found` and `value` may
  /// be null.
  bool last(K* found, Value* value) const {
    return first_of(found, value, [&](auto&& f) { for_each_back(f); });
  }
  /// Makes a concurrent insert of `key` conflict with this transaction, also under snapshot
  /// isolation. For transactions that rely on the key's absence.
  void hold_place(const Sought& key) const { descend(key)->order.promote(); }

  /// Calls f for the entries with keys >= `from` (with `beyond`: > `from`), in key order, until it
  /// returns false. The parameters of f decide its arguments: key and value; only the field of the
  /// value; or a Run with all entries of a leaf at once. f must not change the tree.
  template <class F>
  void scan(const Sought& from, F&& f, bool beyond = false) const;
  /// Calls f as scan() does, from the first entry on.
  template <class F>
  void for_each(F&& f) const;
  /// Calls f as scan() does, backwards, for entries with keys < `from`, the greatest first.
  template <class F>
  void scan_back(const Sought& from, F&& f) const;
  /// Calls f as scan() does, backwards, from the last entry on.
  template <class F>
  void for_each_back(F&& f) const;

  size_t size() const;
  bool empty() const { return height() == 0 && order_of(root_leaf()).count() == 0; }
  void clear() {
    dispose();
    root_ = H::template make<Leaf>();
    height_ = 0;
  }
  /// Frees everything the tree owns. Call it before destroying the tree, and call nothing after it.
  void dispose() {
    Steps steps;
    free_all(root_, height(), steps);
  }

  /// Checks order words, the order and range of keys, the chain of leaves and the heights, and that
  /// no leaf is empty except the root.
  Status check() const;
  /// Checks the shape of a tree that may be damaged anywhere. take(p, n) returns true if p is a
  /// block of at least n bytes that has not been taken yet. see, called as scan's f, and
  /// separator(key) return true if an entry, or a key of an inner node, is valid; they are called
  /// in order. The walk follows nothing before these checks and ends at the first false.
  /// Returns null for a valid tree, or the problem of the tree itself; empty if a callback returned
  /// false.
  template <class Take, class See, class Separator>
  const char* audit(Take&& take, See&& see, Separator&& separator) const;

  /// Calls visit(p, n) for each block of the heap that the tree owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    Steps steps;
    visit_all(root_, height(), visit, steps);
  }

 private:
  static constexpr int kSlots = SlotOrder::kSlots;

  template <class Payload>
  struct alignas(kLineBytes) Node {
    Node() : order(SlotOrder::kEmpty), link(nullptr) {}
    Field<uint64_t> order;
    Field<void*> link;
    Field<K> key[kSlots];
    Field<Payload> payload[kSlots];

    Field<Payload>& value(int slot) { return payload[slot]; }
    const Field<Payload>& value(int slot) const { return payload[slot]; }
  };
  /// A leaf of a set.
  struct alignas(kLineBytes) KeyNode {
    KeyNode() : order(SlotOrder::kEmpty), link(nullptr) {}
    Field<uint64_t> order;
    Field<void*> link;
    Field<K> key[kSlots];

    Field<K>& value(int slot) { return key[slot]; }
    const Field<K>& value(int slot) const { return key[slot]; }
  };
  using Leaf = std::conditional_t<kSet, KeyNode, Node<Value>>;
  using Inner = Node<void*>;

 public:
  /// Neighbouring entries of a leaf, in the order of a walk; at least one.
  class Run {
   public:
    int size() const { return size_; }
    const Field<Value>& value(int i) const { return leaf_->value(slot(i)); }

   private:
    friend BPlusTree;
    Run(const Leaf* leaf, SlotOrder order, int first, int step, int size)
        : leaf_(leaf), order_(order), first_(first), step_(step), size_(size) {}
    int slot(int i) const { return order_.slot(first_ + step_ * i); }

    const Leaf* leaf_;
    SlotOrder order_;
    int first_;
    int step_;
    int size_;
  };

 private:
  /// A tree grows by one level when its root splits. Each level needs at least 8 times the entries
  /// of the one before, so a longer path means damage.
  static constexpr int kMaxHeight = 24;

  /// The path from the root: it leaves node[i] through its child number index[i].
  struct Path {
    Inner* node[kMaxHeight];
    int index[kMaxHeight];
    int depth = 0;
  };

  /// The height and the nodes are checked before they are used, because the file may be damaged.
  /// These functions throw Error(corrupt).
  int height() const;
  Leaf* root_leaf() const { return leaf_at(HeapBounds<H>(), root_); }
  static Leaf* leaf_at(const HeapBounds<H>& bounds, void* node) {
    return bounds.check(static_cast<Leaf*>(node));
  }
  static Inner* inner_at(const HeapBounds<H>& bounds, void* node) {
    return bounds.check(static_cast<Inner*>(node));
  }
  /// Returns the order of a node whose address has been checked.
  template <class N>
  static SlotOrder order_of(const N* node) {
    const SlotOrder order(node->order);
    if (!order.in_range()) [[unlikely]] {
      throw_damaged_order();
    }
    return order;
  }
  /// Returns the order of a node that is going to change.
  template <class N>
  static SlotOrder valid_order_of(const N* node) {
    const SlotOrder order(node->order);
    check_valid(order);
    return order;
  }
  static void check_valid(SlotOrder order) {
    if (!order.valid()) [[unlikely]] {
      throw_damaged_order();
    }
  }
  [[noreturn, gnu::cold]] static void throw_damaged_order() {
    throw_damaged("the order word of a b+tree's node");
  }
  /// Ends a walk through a tree that leads to more leaves than the heap has room for.
  struct Steps {
    uint64_t taken = 0;
    uint64_t most = 256;  // most walks never ask for the heap's size
    /// Throws Error(corrupt).
    void take() {
      if (++taken > most) [[unlikely]] {
        most = HeapBounds<H>().most(sizeof(Leaf)) + 256;
        if (taken > most) {
          throw_damaged("a b+tree, which has more leaves than fit into the heap,");
        }
      }
    }
  };
  static Leaf* next_of(const Leaf* leaf) { return static_cast<Leaf*>(leaf->link.load()); }
  static void* child(const Inner* node, SlotOrder order, int index) {
    return index == 0 ? node->link.load() : node->payload[order.slot(index - 1)].load();
  }

  /// True if one comparison distinguishes all three cases. With <, that would take two loads.
  static constexpr bool kThreeWay = !std::is_same_v<Sought, K>;

  /// A key's position in a node: the number of the node's keys before it.
  struct KeyPosition {
    int position;
    bool held;  ///< the node has the key at this position
  };
  template <class N>
  static KeyPosition search(const N* node, SlotOrder order, const Sought& key) {
    if constexpr (kThreeWay) {
      auto [low, high] = TreeKey<K>::candidates(node->key, order, key);
      while (low < high) {
        const int middle = (low + high) / 2;
        const int side = TreeKey<K>::order(node->key[order.slot(middle)], key);
        if (side == 0) {
          return {middle, true};
        }
        side < 0 ? low = middle + 1 : high = middle;
      }
      return {low, false};
    } else {
      const int position = lower(node, order, key);
      const bool held = position < order.count() && !(key < node->key[order.slot(position)].load());
      return {position, held};
    }
  }
  /// The first position for which before(key of the node) is false.
  template <class N, class Before>
  static int partition(const N* node, SlotOrder order, Before&& before) {
    int low = 0;
    int high = order.count();
    while (low < high) {
      const int middle = (low + high) / 2;
      before(node->key[order.slot(middle)].load()) ? low = middle + 1 : high = middle;
    }
    return low;
  }
  template <class N>
  static int lower(const N* node, SlotOrder order, const Sought& key) {
    if constexpr (kThreeWay) {
      return search(node, order, key).position;
    } else {
      return partition(node, order, [&](const K& other) { return other < key; });
    }
  }
  /// The number of the node's keys that are <= key: the number of the child to follow.
  static int child_index(const Inner* node, SlotOrder order, const Sought& key) {
    if constexpr (kThreeWay) {
      const KeyPosition found = search(node, order, key);
      return found.position + (found.held ? 1 : 0);
    } else {
      return partition(node, order, [&](const K& other) { return !(key < other); });
    }
  }

  /// The key to be stored with a new value in a leaf.
  static K added_key(const Sought& key, const Value& value) {
    if constexpr (kSet) {
      return value;
    } else {
      return key;
    }
  }
  template <class N, class Payload>
  static void place(N* node, SlotOrder order, int position, const K& key, const Payload& payload) {
    const int slot = order.free_slot();
    node->key[slot] = key;
    if constexpr (requires { node->payload; }) {
      node->payload[slot] = payload;
    }
    node->order = order.inserted(position).word();
  }

  /// Stores the first entry of a walk. Returns false if there is none.
  template <class Walk>
  static bool first_of(K* found, Value* value, Walk&& walk) {
    bool any = false;
    walk([&](const K& k, const Value& v) {
      any = true;
      if (found != nullptr) {
        *found = k;
      }
      if (value != nullptr) {
        *value = v;
      }
      return false;
    });
    return any;
  }

  Leaf* descend(const Sought& key) const;
  Leaf* descend(const Sought& key, Path& path) const;
  static Leaf* first_leaf(void* node, int height);
  static Leaf* leaf_before(Path& path);
  static void* sibling_before(const Path& path);
  static Leaf* descend_last(void* node, int height, Path& path);
  template <class F>
  static bool show(const Leaf* leaf, int slot, F& f);
  template <class F>
  static bool show(const Run& run, F& f);
  template <class F>
  static void walk(const Leaf* leaf, SlotOrder order, int position, F& f);
  template <class F>
  static void walk_back(Path& path, const Leaf* leaf, SlotOrder order, int position, F& f);

  bool share_and_place(const Path& path, Leaf* leaf, SlotOrder order, int position, const K& key,
                       const Value& value);
  void split_and_place(Path& path, Leaf* leaf, SlotOrder order, int position, const K& key,
                       const Value& value);
  void add_child(Path& path, K separator, void* fresh);
  void unlink_leaf(Path& path, Leaf* leaf);
  void remove_child(Path& path);
  void free_all(void* node, int height, Steps& steps);
  template <class Visitor>
  static void visit_all(void* node, int height, Visitor& visit, Steps& steps);
  struct Check;
  template <class Take, class See, class Separator>
  struct Audit;

  Field<void*> root_;
  Field<int64_t> height_;  ///< levels of inner nodes above the leaves
};

}  // namespace holdfast

#include "holdfast/structures/bplus_tree-inl.h"
#include "holdfast/structures/bplus_tree_audit-inl.h"
#include "holdfast/structures/bplus_tree_walk-inl.h"
