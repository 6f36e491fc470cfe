// SPDX-License-Identifier: Apache-2.0
//
// A B+tree whose nodes have a size that is chosen at run time and keep their entries sorted, for
// workloads of papers that measured such a tree. Prefer BPlusTree (bplus_tree.h) otherwise: there
// an insert stores three words, here it moves half of the node's entries.
//
//     node    count | link | key, payload | key, payload | ...
//     leaf    link = next leaf, payload = value
//     inner   link = leftmost child, payload = child with the keys >= the key
//
// Snapshot isolation needs no promotions: each insert stores the count of its leaf, and a split
// stores it, too. So two changes of one leaf conflict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "holdfast/base/status.h"

namespace holdfast {

/// An ordered map from 64-bit keys to 64-bit values in a heap H. It has no erase.
///
/// Thread safety: through transactions. Every member function runs inside one: insert and the
/// constructor inside update(), the others inside read() or update(). An insert is durable when its
/// update() returns. Costs: find O(log n); insert O(log n) and the move of half a node; check and
/// for_each O(n). Entries move between nodes: keep no pointers into the tree.
template <class H>
class SortedBPlusTree {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  /// Room for three entries.
  static constexpr uint64_t kLeastNodeBytes = 64;

  /// `node_bytes`: a multiple of 16, at least kLeastNodeBytes.
  explicit SortedBPlusTree(uint64_t node_bytes) : node_bytes_(node_bytes), height_(0) {
    root_ = make<Leaf>();
  }
  SortedBPlusTree(const SortedBPlusTree&) = delete;
  SortedBPlusTree& operator=(const SortedBPlusTree&) = delete;

  std::optional<uint64_t> find(uint64_t key) const {
    void* node = root_;
    for (uint64_t level = height_; level > 0; --level) {
      const auto* const inner = static_cast<Inner*>(node);
      node = inner->child(children_before(inner, key));
    }
    const auto* const leaf = static_cast<Leaf*>(node);
    const uint64_t at = keys_below(leaf, key);
    return at < leaf->count && leaf->entry(at).key == key
               ? std::optional<uint64_t>(leaf->entry(at).payload)
               : std::nullopt;
  }

  /// Returns false, changing nothing, if the key exists.
  bool insert(uint64_t key, uint64_t value);

  /// Calls f(key, value) in key order until it returns false.
  template <class F>
  void for_each(F&& f) const {
    each(root_, height_, f);
  }

  /// Checks the order and the range of keys, the numbers of entries, and the chain of leaves.
  Status check() const;

  /// Calls visit(p, n) for each block of the heap that the tree owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    visit_all(root_, height_, visit);
  }

 private:
  template <class P>
  struct Node {
    struct Entry {
      Field<uint64_t> key;
      Field<P> payload;
    };

    Entry& entry(uint64_t i) { return reinterpret_cast<Entry*>(this + 1)[i]; }
    const Entry& entry(uint64_t i) const { return reinterpret_cast<const Entry*>(this + 1)[i]; }
    void* child(uint64_t i) const {
      return i == 0 ? link.load() : static_cast<void*>(entry(i - 1).payload.load());
    }

    Field<uint64_t> count;
    Field<void*> link;
  };
  using Leaf = Node<uint64_t>;
  using Inner = Node<void*>;

  /// A node that was split: its new right neighbour, null if it was not, and the least key there.
  struct Split {
    uint64_t key = 0;
    void* right = nullptr;
  };

  /// A tree grows by one level when its root splits. A longer path means damage.
  static constexpr uint64_t kMaxHeight = 40;

  template <class N>
  N* make() {
    auto* const node = static_cast<N*>(H::allocate(node_bytes_));
    node->count = 0;
    node->link = nullptr;
    return node;
  }
  uint64_t capacity() const { return (node_bytes_ - sizeof(Leaf)) / sizeof(typename Leaf::Entry); }

  /// The number of the node's entries for whose keys before(key) is true; they are the first ones.
  template <class N, class Before>
  static uint64_t partition(const N* node, Before&& before) {
    uint64_t low = 0;
    uint64_t high = node->count;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      before(node->entry(middle).key.load()) ? low = middle + 1 : high = middle;
    }
    return low;
  }
  static uint64_t keys_below(const Leaf* leaf, uint64_t key) {
    return partition(leaf, [key](uint64_t other) { return other < key; });
  }
  /// The number of the child for the key.
  static uint64_t children_before(const Inner* inner, uint64_t key) {
    return partition(inner, [key](uint64_t other) { return other <= key; });
  }

  /// Stores an entry at a position of a node with room, and moves the entries behind it.
  template <class P>
  static void place(Node<P>* node, uint64_t count, uint64_t position, uint64_t key, P payload) {
    for (uint64_t i = count; i > position; --i) {
      copy(node->entry(i), node->entry(i - 1));
    }
    node->entry(position).key = key;
    node->entry(position).payload = payload;
    node->count = count + 1;
  }
  template <class Entry>
  static void copy(Entry& to, const Entry& from) {
    to.key = from.key.load();
    to.payload = from.payload.load();
  }

  template <class P>
  Split add(Node<P>* node, uint64_t position, uint64_t key, P payload);

  template <class F>
  static bool each(void* node, uint64_t height, F& f) {
    const auto* const leaf = static_cast<Leaf*>(node);
    const auto* const inner = static_cast<Inner*>(node);
    for (uint64_t i = 0, n = leaf->count; height == 0 && i < n; ++i) {
      if (!f(leaf->entry(i).key.load(), leaf->entry(i).payload.load())) {
        return false;
      }
    }
    for (uint64_t i = 0, n = inner->count; height > 0 && i <= n; ++i) {
      if (!each(inner->child(i), height - 1, f)) {
        return false;
      }
    }
    return true;
  }
  template <class Visitor>
  void visit_all(void* node, uint64_t height, Visitor& visit) const {
    visit(static_cast<const void*>(node), static_cast<size_t>(node_bytes_));
    const auto* const inner = static_cast<Inner*>(node);
    for (uint64_t i = 0, n = inner->count; height > 0 && i <= n; ++i) {
      visit_all(inner->child(i), height - 1, visit);
    }
  }

  /// The state of a check. Keys of a subtree are at least `low`, and at most `high`.
  struct Audit {
    const Leaf* before = nullptr;  ///< the leaf before the next one
    const char* problem = nullptr;
  };
  template <class P>
  bool node_fits(const Node<P>* node, uint64_t least, uint64_t low, uint64_t high,
                 Audit& audit) const;
  bool fits(void* node, uint64_t height, uint64_t low, uint64_t high, Audit& audit) const;

  Field<uint64_t> node_bytes_;
  Field<uint64_t> height_;  ///< levels of inner nodes
  Field<void*> root_;
};

template <class H>
bool SortedBPlusTree<H>::insert(uint64_t key, uint64_t value) {
  Inner* path[kMaxHeight];
  uint64_t index[kMaxHeight];
  void* node = root_;
  const uint64_t height = height_;
  for (uint64_t level = 0; level < height; ++level) {
    path[level] = static_cast<Inner*>(node);
    index[level] = children_before(path[level], key);
    node = path[level]->child(index[level]);
  }
  auto* const leaf = static_cast<Leaf*>(node);
  const uint64_t position = keys_below(leaf, key);
  if (position < leaf->count && leaf->entry(position).key == key) {
    return false;
  }
  Split split = add(leaf, position, key, value);
  for (uint64_t level = height; split.right != nullptr && level-- > 0;) {
    split = add(path[level], index[level], split.key, split.right);
  }
  if (split.right != nullptr) {
    if (height == kMaxHeight) {
      throw Error(Status(Code::corrupt, "b+tree: it is higher than a heap has room for"));
    }
    Inner* const top = make<Inner>();
    top->link = root_.load();
    place(top, 0, 0, split.key, split.right);
    root_ = top;
    height_ = height + 1;
  }
  return true;
}

/// Adds an entry to a node, which is split if it is full.
template <class H>
template <class P>
auto SortedBPlusTree<H>::add(Node<P>* node, uint64_t position, uint64_t key, P payload) -> Split {
  constexpr bool kLeaf = std::is_same_v<Node<P>, Leaf>;
  const uint64_t count = node->count;
  if (count < capacity()) {
    place(node, count, position, key, payload);
    return {};
  }
  const uint64_t half = count / 2;
  const uint64_t moved = kLeaf ? half : half + 1;  // an inner node's middle key goes up
  const Split split = {node->entry(half).key, make<Node<P>>()};
  auto* const right = static_cast<Node<P>*>(split.right);
  for (uint64_t i = moved; i < count; ++i) {
    copy(right->entry(i - moved), node->entry(i));
  }
  if constexpr (kLeaf) {
    right->link = node->link.load();
    node->link = right;
  } else {
    right->link = node->entry(half).payload.load();
  }
  if (position <= half) {
    right->count = count - moved;
    place(node, half, position, key, payload);
  } else {
    node->count = half;
    place(right, count - moved, position - moved, key, payload);
  }
  return split;
}

template <class H>
template <class P>
bool SortedBPlusTree<H>::node_fits(const Node<P>* node, uint64_t least, uint64_t low, uint64_t high,
                                   Audit& audit) const {
  const uint64_t count = node->count;
  if (count < least || count > capacity()) {
    audit.problem = "a node's number of entries is impossible";
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = node->entry(i).key;
    if (key < low || key > high || (i > 0 && key <= node->entry(i - 1).key)) {
      audit.problem = "a key is out of order";
      return false;
    }
  }
  return true;
}

template <class H>
bool SortedBPlusTree<H>::fits(void* node, uint64_t height, uint64_t low, uint64_t high,
                              Audit& audit) const {
  if (height == 0) {
    const auto* const leaf = static_cast<Leaf*>(node);
    if (audit.before != nullptr && audit.before->link != node) {
      audit.problem = "the chain of leaves leads elsewhere";
      return false;
    }
    audit.before = leaf;
    return node_fits(leaf, height_ == 0 ? 0 : 1, low, high, audit);
  }
  const auto* const inner = static_cast<Inner*>(node);
  if (!node_fits(inner, 1, low, high, audit)) {
    return false;
  }
  const uint64_t count = inner->count;
  for (uint64_t i = 0; i <= count; ++i) {
    const uint64_t first = i == 0 ? low : inner->entry(i - 1).key.load();
    const uint64_t last = i == count ? high : inner->entry(i).key - 1;
    if (!fits(inner->child(i), height - 1, first, last, audit)) {
      return false;
    }
  }
  return true;
}

template <class H>
Status SortedBPlusTree<H>::check() const {
  Audit audit;
  if (height_ > kMaxHeight) {
    audit.problem = "its height is impossible";
  } else if (fits(root_, height_, 0, UINT64_MAX, audit) && audit.before->link != nullptr) {
    audit.problem = "the chain of leaves leads elsewhere";
  }
  return audit.problem == nullptr ? Status()
                                  : Status(Code::corrupt, std::string("b+tree: ") + audit.problem);
}

}  // namespace holdfast
