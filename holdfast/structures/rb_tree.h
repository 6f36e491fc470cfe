// SPDX-License-Identifier: Apache-2.0
//
// A red-black tree. Nodes have no parent links: an update keeps its path on the stack, so that
// there are fewer words to write, log and flush. A node with a key and a value of 8 bytes fills one
// line.
//
// Snapshot isolation. Links need little care. A rotation writes every link it has read, so
// untouched subtrees keep their key ranges, and two changes at one place conflict by themselves.
// Colours need promotion: whether a fix-up may stop depends on colours that it does not write.
// These colours, and a node that is freed, are promoted; comments marked "Skew" name the concurrent
// change.
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
class RbTree {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.RbTree", K, V>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  RbTree() : root_(nullptr) {}
  RbTree(const RbTree&) = delete;
  RbTree& operator=(const RbTree&) = delete;

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
  /// number of black nodes, and that the root is black.
  Status check() const;

  /// Calls visit(p, n) for each block of the heap that the tree owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    visit_all(root_, visit);
  }

 private:
  static constexpr size_t kNodeBytes = sizeof(K) + sizeof(V) + 3 * sizeof(uint64_t);
  struct alignas(kNodeBytes <= 64 ? 64 : 16) Node {
    Node(const K& k, const V& v, bool is_red) : key(k), value(v), red(is_red ? 1 : 0) {
      child[0] = nullptr;
      child[1] = nullptr;
    }
    Field<K> key;
    Field<V> value;
    Field<Node*> child[2];
    Field<uint64_t> red;
  };

  /// A tree of 2^48 nodes has at most 96 levels; a longer path means damage.
  static constexpr int kMaxHeight = 112;

  /// The path from the root: it leaves node[i] towards side[i].
  struct Path {
    void push(Node* n, int towards) {
      if (depth == kMaxHeight) {
        throw Error(Status(Code::corrupt, "red-black tree: a path is too long"));
      }
      node[depth] = n;
      side[depth] = static_cast<uint8_t>(towards);
      depth += 1;
    }
    Node* node[kMaxHeight + 1];  // one more, because a fix-up may lengthen the path by one
    uint8_t side[kMaxHeight + 1];
    int depth = 0;
  };

  /// The link that leads to the node at this depth of the path.
  Field<Node*>& link(Path& path, int depth) {
    return depth == 0 ? root_ : path.node[depth - 1]->child[path.side[depth - 1]];
  }

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
  void fix_after_insert(Path& path);
  void fix_after_erase(Path& path);

  /// Rotates top's child on `side` above top. The caller links the returned node.
  static Node* lift(Node* top, int side) {
    Node* child = top->child[side];
    top->child[side] = child->child[1 - side].load();
    child->child[1 - side] = top;
    return child;
  }
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

  struct Checked {
    const char* problem = nullptr;
    int black_height = 0;
  };
  static Checked check_below(const Node* node, const K* low, const K* high, bool below_red,
                             int depth);

  Field<Node*> root_;
};

template <class H, class K, class V, bool kPromote>
bool RbTree<H, K, V, kPromote>::add(const K& key, const V& value, bool overwrite) {
  Path path;
  for (Node* node = root_; node != nullptr;) {
    const K here = node->key;
    const bool right = here < key;
    if (!right && !(key < here)) {
      if (overwrite) {
        node->value = value;
      }
      return false;
    }
    path.push(node, right ? 1 : 0);
    node = node->child[right];
  }
  link(path, path.depth) = H::template make<Node>(key, value, path.depth > 0);
  fix_after_insert(path);
  return true;
}

/// Restores the colour rules. A red node hangs at the end of the path; its parent may be red too.
template <class H, class K, class V, bool kPromote>
void RbTree<H, K, V, kPromote>::fix_after_insert(Path& path) {
  for (int depth = path.depth; depth > 0; depth -= 2) {
    Node* parent = path.node[depth - 1];
    if (parent->red == 0) {
      // Skew: a concurrent erase elsewhere may turn the parent red, as the sibling of its own short
      // side, because it does not see the red child here yet.
      hold<kPromote>(parent->red);
      return;
    }
    // A red node is never the root, so there is a grandparent.
    Node* grand = path.node[depth - 2];
    const int side = path.side[depth - 2];
    Node* uncle = grand->child[1 - side];
    if (!is_red(uncle)) {
      Node* top = parent;
      if (path.side[depth - 1] != side) {
        top = lift(parent, 1 - side);
        grand->child[side] = top;
      }
      top->red = 0;
      grand->red = 1;
      link(path, depth - 2) = lift(grand, side);
      return;
    }
    parent->red = 0;
    uncle->red = 0;
    if (depth == 2) {
      // The root stays black, and every path grows by one.
      return;
    }
    grand->red = 1;
  }
}

template <class H, class K, class V, bool kPromote>
bool RbTree<H, K, V, kPromote>::erase(const K& key) {
  Path path;
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
    path.push(node, right ? 1 : 0);
    node = node->child[right];
  }
  Node* victim = node;
  if (node->child[0] != nullptr && node->child[1] != nullptr) {
    // The successor, which has no left child, moves its entry to this node and is freed instead.
    path.push(node, 1);
    victim = node->child[1];
    for (Node* next = victim->child[0]; next != nullptr; next = next->child[0]) {
      path.push(victim, 0);
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
  link(path, path.depth) = only;
  H::destroy(victim);
  if (only != nullptr) {
    only->red = 0;  // an only child is red, and its parent black
  } else if (!was_red) {
    fix_after_erase(path);
  }
  return true;
}

/// Restores the black heights. The subtree at the end of the path has a black root, and one black
/// node fewer on its paths than its sibling.
template <class H, class K, class V, bool kPromote>
void RbTree<H, K, V, kPromote>::fix_after_erase(Path& path) {
  for (int depth = path.depth; depth > 0; --depth) {
    Node* parent = path.node[depth - 1];
    const int side = path.side[depth - 1];
    Node* sibling = parent->child[1 - side];
    if (sibling->red != 0) {
      sibling->red = 0;
      parent->red = 1;
      link(path, depth - 1) = lift(parent, 1 - side);
      path.node[depth - 1] = sibling;
      path.node[depth] = parent;
      path.side[depth] = static_cast<uint8_t>(side);
      depth += 1;
      sibling = parent->child[1 - side];
    }
    Node* near = sibling->child[side];
    Node* far = sibling->child[1 - side];
    if (is_red(far)) {
      sibling->red = parent->red.load();
      parent->red = 0;
      far->red = 0;
      link(path, depth - 1) = lift(parent, 1 - side);
      return;
    }
    if (is_red(near)) {
      near->red = parent->red.load();
      parent->red = 0;
      parent->child[1 - side] = lift(sibling, side);
      link(path, depth - 1) = lift(parent, 1 - side);
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
  }
}

template <class H, class K, class V, bool kPromote>
auto RbTree<H, K, V, kPromote>::check_below(const Node* node, const K* low, const K* high,
                                            bool below_red, int depth) -> Checked {
  if (node == nullptr) {
    return {};
  }
  const K key = node->key;
  const uint64_t red = node->red;
  if (depth > kMaxHeight) {
    return {"a path is too long", 0};
  }
  if ((low != nullptr && !(*low < key)) || (high != nullptr && !(key < *high))) {
    return {"a key is out of order", 0};
  }
  if (red > 1) {
    return {"a colour is neither red nor black", 0};
  }
  if (red != 0 && below_red) {
    return {"a red node has a red child", 0};
  }
  const Checked left = check_below(node->child[0], low, &key, red != 0, depth + 1);
  if (left.problem != nullptr) {
    return left;
  }
  const Checked right = check_below(node->child[1], &key, high, red != 0, depth + 1);
  if (right.problem != nullptr) {
    return right;
  }
  if (left.black_height != right.black_height) {
    return {"two paths differ in black nodes", 0};
  }
  return {nullptr, left.black_height + (red == 0 ? 1 : 0)};
}

template <class H, class K, class V, bool kPromote>
Status RbTree<H, K, V, kPromote>::check() const {
  const Node* root = root_;
  const Checked checked = check_below(root, nullptr, nullptr, true, 0);
  if (checked.problem != nullptr) {
    return Status(Code::corrupt, std::string("red-black tree: ") + checked.problem);
  }
  return {};
}

}  // namespace holdfast
