// SPDX-License-Identifier: Apache-2.0
//
// A red-black tree with parent links, for workloads of papers that measured such a tree. Prefer
// RbTree (rb_tree.h) otherwise: it has no parent links, so an update stores to fewer words. A node
// with a key and a value of 8 bytes fills one line.
//
// Footprint. The colour rules are restored after an insert by code that loads a link again for each
// use, as the tree that cc-HTM measured (section 5.3: 63 loads and 11 stores per insert into a
// million elements). tests/unit/workloads/rbtree_insert_test.cc counts them.
//
// Snapshot isolation. The promotions are those of RbTree, for the same reasons. Parent links need
// no promotion: a transaction that changes a child link also changes the parent link of this edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/base/type_text.h"
#include "holdfast/structures/hold.h"

namespace holdfast {

/// An ordered map from K to V (both trivially copyable, K ordered by <) in a heap H.
///
/// Thread safety: through transactions. Every member function runs inside one: functions that
/// change the tree inside update(), the others inside read() or update(). A change is durable when
/// its update() returns. Costs: find, insert, put and erase O(log n); size, check and clear O(n),
/// because a counter would make any two updates conflict. Erase moves entries between nodes: keep
/// no pointers into the tree.
template <class H, class K, class V, bool kPromote = true>
class ParentRbTree {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.ParentRbTree", K, V>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  ParentRbTree() : root_(nullptr) {}
  ParentRbTree(const ParentRbTree&) = delete;
  ParentRbTree& operator=(const ParentRbTree&) = delete;

  std::optional<V> find(const K& key) const {
    const Node* node = locate(key);
    return node == nullptr ? std::nullopt : std::optional<V>(node->value.load());
  }
  bool contains(const K& key) const { return locate(key) != nullptr; }

  /// Returns false, changing nothing, if the key exists.
  bool insert(const K& key, const V& value) { return add(key, value, false); }
  /// Inserts or overwrites. Returns true if the key is new.
  bool put(const K& key, const V& value) { return add(key, value, true); }
  /// Returns false, changing nothing, if there is no such key.
  bool erase(const K& key);

  size_t size() const { return count(root_); }
  void clear() {
    free_all(root_);
    root_ = nullptr;
  }
  /// Frees everything the tree owns; call it before destroying the tree.
  void dispose() { clear(); }

  /// Calls f(key, value) in key order until it returns false.
  template <class F>
  void for_each(F&& f) const {
    each(root_, f);
  }
  /// Checks the order of keys, that no red node has a red child, that every path has the same
  /// number of black nodes, that the root is black, and that every node's parent link leads to its
  /// parent.
  Status check() const;

  /// Calls visit(p, n) for each block of the heap that the tree owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    visit_all(root_, visit);
  }

 private:
  static constexpr size_t kNodeBytes = sizeof(K) + sizeof(V) + 4 * sizeof(uint64_t);
  struct alignas(kNodeBytes <= 64 ? 64 : 16) Node {
    Node(const K& k, const V& v, Node* p) : key(k), value(v), parent(p), red(1) {
      child[0] = nullptr;
      child[1] = nullptr;
    }
    Field<K> key;
    Field<V> value;
    Field<Node*> parent;
    Field<Node*> child[2];
    Field<uint64_t> red;
  };

  const Node* locate(const K& key) const {
    const Node* node = root_;
    while (node != nullptr) {
      const K here = node->key;
      const bool right = here < key;
      if (!right && !(key < here)) {
        break;
      }
      node = node->child[right];
    }
    return node;
  }

  bool add(const K& key, const V& value, bool overwrite);
  void fix_after_insert(Node* node);
  void fix_after_erase(Node* parent, int side);

  /// Stores `child` into the link that leads from `parent`, or from the tree, to `old`.
  void replace_child(Node* parent, Node* old, Node* child) {
    if (parent == nullptr) {
      root_ = child;
    } else {
      parent->child[side_of(parent, old)] = child;
    }
  }
  /// Moves top down towards `side`. Its child on the other side takes its place.
  void rotate(Node* top, int side) {
    Node* child = top->child[1 - side];
    Node* inner = child->child[side];
    top->child[1 - side] = inner;
    if (inner != nullptr) {
      inner->parent = top;
    }
    Node* parent = top->parent;
    child->parent = parent;
    replace_child(parent, top, child);
    child->child[side] = top;
    top->parent = child;
  }
  static Node* above(const Node* node) { return node->parent; }
  static int side_of(Node* parent, Node* child) { return parent->child[1] == child ? 1 : 0; }
  static bool is_red(const Node* node) { return node != nullptr && node->red != 0; }

  static size_t count(const Node* node) {
    return node == nullptr ? 0 : 1 + count(node->child[0]) + count(node->child[1]);
  }
  static void free_all(Node* node) {
    if (node != nullptr) {
      // Skew: an insert below this node, or a put, committed beside the clear, would be lost.
      hold<kPromote>(node->red, node->value);
      free_all(node->child[0]);
      free_all(node->child[1]);
      H::destroy(node);
    }
  }
  template <class F>
  static bool each(const Node* node, F& f) {
    return node == nullptr ||
           (each(node->child[0].load(), f) && f(node->key.load(), node->value.load()) &&
            each(node->child[1].load(), f));
  }
  template <class Visitor>
  static void visit_all(const Node* node, Visitor& visit) {
    if (node != nullptr) {
      visit(static_cast<const void*>(node), sizeof(Node));
      visit_all(node->child[0].load(), visit);
      visit_all(node->child[1].load(), visit);
    }
  }

  /// A tree of 2^48 nodes has at most 96 levels; a longer path means damage.
  static constexpr int kMaxHeight = 112;

  struct Checked {
    const char* problem = nullptr;
    int black_height = 0;
  };
  /// The limits of the subtree below a node.
  struct Limits {
    const Node* parent = nullptr;
    const K* low = nullptr;
    const K* high = nullptr;
    int depth = 0;
  };
  static Checked check_below(const Node* node, const Limits& limits);

  Field<Node*> root_;
};

template <class H, class K, class V, bool kPromote>
bool ParentRbTree<H, K, V, kPromote>::add(const K& key, const V& value, bool overwrite) {
  Node* parent = nullptr;
  bool right = false;
  for (Node* node = root_; node != nullptr; node = node->child[right]) {
    const K here = node->key;
    right = here < key;
    if (!right && !(key < here)) {
      if (overwrite) {
        node->value = value;
      }
      return false;
    }
    parent = node;
  }
  Node* node = H::template make<Node>(key, value, parent);
  if (parent == nullptr) {
    root_ = node;
  } else {
    parent->child[right] = node;
  }
  fix_after_insert(node);
  return true;
}

/// Restores the colour rules. The node is red; it may be the root, or its parent may be red too. A
/// red parent is not the root, so there is a grandparent.
template <class H, class K, class V, bool kPromote>
void ParentRbTree<H, K, V, kPromote>::fix_after_insert(Node* node) {
  while (node != root_ && is_red(above(node))) {
    const int side = side_of(above(above(node)), above(node));
    Node* uncle = above(above(node))->child[1 - side];
    if (is_red(uncle)) {
      above(node)->red = 0;
      uncle->red = 0;
      above(above(node))->red = 1;
      node = above(above(node));
    } else {
      if (side_of(above(node), node) != side) {
        node = above(node);
        rotate(node, side);
      }
      above(node)->red = 0;
      above(above(node))->red = 1;
      rotate(above(above(node)), 1 - side);
    }
  }
  if (node == root_) {
    node->red = 0;  // every path grows by one black node
  } else {
    // Skew: a concurrent erase elsewhere may turn the parent red, as the sibling of its own short
    // side, because it does not see the red child here yet.
    hold<kPromote>(above(node)->red);
  }
}

template <class H, class K, class V, bool kPromote>
bool ParentRbTree<H, K, V, kPromote>::erase(const K& key) {
  Node* node = root_;
  for (;;) {
    if (node == nullptr) {
      return false;
    }
    const K here = node->key;
    const bool right = here < key;
    if (!right && !(key < here)) {
      break;
    }
    node = node->child[right];
  }
  Node* victim = node;
  if (node->child[0] != nullptr && node->child[1] != nullptr) {
    // The successor, which has no left child, moves its entry to this node and is freed instead.
    victim = node->child[1];
    for (Node* next = victim->child[0]; next != nullptr; next = next->child[0]) {
      victim = next;
    }
    node->key = victim->key.load();
    node->value = victim->value.load();
  }
  Node* only = victim->child[0];
  if (only == nullptr) {
    only = victim->child[1];
  }
  // Skew: four concurrent changes would be lost with the victim. An insert below it, an erase of
  // its child, a put to its entry (which may just have moved), and a change of its colour.
  hold<kPromote>(victim->red, victim->value);
  const bool was_red = victim->red != 0;
  Node* parent = victim->parent;
  const int side = parent == nullptr ? 0 : side_of(parent, victim);
  replace_child(parent, victim, only);
  H::destroy(victim);
  if (only != nullptr) {
    only->parent = parent;
    only->red = 0;  // an only child is red, and its parent black
  } else if (!was_red) {
    fix_after_erase(parent, side);
  }
  return true;
}

/// Restores the black heights. The parent's subtree on `side` has a black root, and one black node
/// fewer on its paths than its sibling.
template <class H, class K, class V, bool kPromote>
void ParentRbTree<H, K, V, kPromote>::fix_after_erase(Node* parent, int side) {
  while (parent != nullptr) {
    Node* sibling = parent->child[1 - side];
    if (sibling->red != 0) {
      sibling->red = 0;
      parent->red = 1;
      rotate(parent, side);
      sibling = parent->child[1 - side];
    }
    Node* near = sibling->child[side];
    Node* far = sibling->child[1 - side];
    if (is_red(far)) {
      sibling->red = parent->red.load();
      parent->red = 0;
      far->red = 0;
      rotate(parent, side);
      return;
    }
    if (is_red(near)) {
      near->red = parent->red.load();
      parent->red = 0;
      rotate(sibling, 1 - side);
      rotate(parent, side);
      return;
    }
    sibling->red = 1;
    if (parent->red != 0) {
      parent->red = 0;
      return;
    }
    // Skew: the whole subtree is one black node short now, which moves up because the parent is
    // black. A concurrent erase on the other side of the grandparent may turn the parent red.
    hold<kPromote>(parent->red);
    Node* grand = parent->parent;
    side = grand == nullptr ? 0 : side_of(grand, parent);
    parent = grand;
  }
}

template <class H, class K, class V, bool kPromote>
auto ParentRbTree<H, K, V, kPromote>::check_below(const Node* node, const Limits& limits)
    -> Checked {
  if (node == nullptr) {
    return {};
  }
  const K key = node->key;
  const uint64_t red = node->red;
  if (limits.depth > kMaxHeight) {
    return {"a path is too long", 0};
  }
  if ((limits.low != nullptr && !(*limits.low < key)) ||
      (limits.high != nullptr && !(key < *limits.high))) {
    return {"a key is out of order", 0};
  }
  if (node->parent.load() != limits.parent) {
    return {"a parent link leads elsewhere", 0};
  }
  if (red > 1) {
    return {"a colour is neither red nor black", 0};
  }
  if (red != 0 && limits.parent == nullptr) {
    return {"the root is red", 0};
  }
  if (red != 0 && is_red(limits.parent)) {
    return {"a red node has a red child", 0};
  }
  const Checked left =
      check_below(node->child[0], Limits{node, limits.low, &key, limits.depth + 1});
  if (left.problem != nullptr) {
    return left;
  }
  const Checked right =
      check_below(node->child[1], Limits{node, &key, limits.high, limits.depth + 1});
  if (right.problem != nullptr) {
    return right;
  }
  if (left.black_height != right.black_height) {
    return {"two paths differ in black nodes", 0};
  }
  return {nullptr, left.black_height + (red == 0 ? 1 : 0)};
}

template <class H, class K, class V, bool kPromote>
Status ParentRbTree<H, K, V, kPromote>::check() const {
  const Checked checked = check_below(root_, Limits{});
  if (checked.problem != nullptr) {
    return Status(Code::corrupt, std::string("red-black tree: ") + checked.problem);
  }
  return {};
}

}  // namespace holdfast
