// SPDX-License-Identifier: Apache-2.0
//
// Operations on single entries, and the check; included by bplus_tree.h.
#pragma once

namespace holdfast {

template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::descend(const Sought& key) const -> Leaf* {
  const HeapBounds<H> bounds;
  void* node = root_;
  for (int height = this->height(); height > 0; --height) {
    const Inner* const inner = inner_at(bounds, node);
    const SlotOrder order = order_of(inner);
    node = child(inner, order, child_index(inner, order, key));
    prefetch(node, height > 1 ? sizeof(Inner) : sizeof(Leaf));
  }
  return leaf_at(bounds, node);
}

template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::descend(const Sought& key, Path& path) const -> Leaf* {
  const HeapBounds<H> bounds;
  void* node = root_;
  const int height = this->height();
  for (path.depth = 0; path.depth < height; ++path.depth) {
    Inner* const inner = inner_at(bounds, node);
    const SlotOrder order = order_of(inner);
    const int index = child_index(inner, order, key);
    path.node[path.depth] = inner;
    path.index[path.depth] = index;
    node = child(inner, order, index);
    prefetch(node, sizeof(Inner));
  }
  return leaf_at(bounds, node);
}

template <class H, class K, class V, bool kPromote>
int BPlusTree<H, K, V, kPromote>::height() const {
  const int64_t height = height_;
  if (height < 0 || height > kMaxHeight) [[unlikely]] {
    throw Error(Status(Code::corrupt, "b+tree: its height is not possible"));
  }
  return static_cast<int>(height);
}

template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::first_leaf(void* node, int height) -> Leaf* {
  const HeapBounds<H> bounds;
  for (; height > 0; --height) {
    node = inner_at(bounds, node)->link.load();
  }
  return leaf_at(bounds, node);
}

template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::find_field(const Sought& key) const -> const Field<Value>* {
  const Leaf* leaf = descend(key);
  const SlotOrder order = order_of(leaf);
  const auto [position, held] = search(leaf, order, key);
  return held ? &leaf->value(order.slot(position)) : nullptr;
}

template <class H, class K, class V, bool kPromote>
template <class Make>
auto BPlusTree<H, K, V, kPromote>::find_or_insert(const Sought& key, Make&& make) -> Field<Value>* {
  Path path;
  Leaf* leaf = descend(key, path);
  const SlotOrder order = order_of(leaf);
  const auto [position, held] = search(leaf, order, key);
  if (held) {
    return &leaf->value(order.slot(position));
  }
  check_valid(order);  // the leaf is going to change
  const Value value = make();
  const K added = added_key(key, value);
  if (!order.full()) {
    place(leaf, order, position, added, value);
  } else if (!TreeKey<K>::kDense || !share_and_place(path, leaf, order, position, added, value)) {
    split_and_place(path, leaf, order, position, added, value);
  }
  return nullptr;
}

/// Moves entries of a full leaf to the neighbour below the same node that has more room, and places
/// the new entry. Returns false, changing nothing, if both neighbours are nearly full.
template <class H, class K, class V, bool kPromote>
bool BPlusTree<H, K, V, kPromote>::share_and_place(const Path& path, Leaf* leaf, SlotOrder order,
                                                   int position, const K& key, const Value& value) {
  constexpr int kMostShared = kSlots - 2;  // of the neighbour's entries, so that both have room
  if (path.depth == 0) {
    return false;
  }
  Inner* const above = path.node[path.depth - 1];
  const int index = path.index[path.depth - 1];
  const SlotOrder children = order_of(above);
  const HeapBounds<H> bounds;
  Leaf* to = nullptr;
  SlotOrder there;
  bool right = false;
  for (const int at : {index + 1, index - 1}) {
    if (at < 0 || at > children.count()) {
      continue;
    }
    Leaf* const neighbour = leaf_at(bounds, child(above, children, at));
    const SlotOrder its = valid_order_of(neighbour);
    if (its.count() <= kMostShared && (to == nullptr || its.count() < there.count())) {
      to = neighbour;
      there = its;
      right = at > index;
    }
  }
  if (to == nullptr) {
    return false;
  }
  const int moved = (kSlots - there.count()) / 2;
  const int first = right ? kSlots - moved : 0;
  const int behind = right ? 0 : there.count();  // where the entries go
  for (int i = 0; i < moved; ++i) {
    const int from = order.slot(first + i);
    const int slot = there.free_slot();
    // Skew: a concurrent put to an entry that moves would be lost with the old copy.
    hold<kPromote>(leaf->value(from));
    to->key[slot] = leaf->key[from].load();
    if constexpr (!kSet) {
      to->value(slot) = leaf->value(from).load();
    }
    there = there.inserted(behind + i);
  }
  // Skew: a concurrent split of the node above would copy the old separator.
  hold<kPromote>(above->order);
  Field<K>& separator = above->key[children.slot(right ? index : index - 1)];
  TreeKey<K>::destroy_separator(separator.load());
  separator = TreeKey<K>::make_separator(leaf->key[order.slot(right ? first : moved)].load());
  if (right) {
    order = order.truncated(first);
  } else {
    for (int i = 0; i < moved; ++i) {
      order = order.removed(0);
    }
  }
  const bool stays = right ? position <= first : position > moved;
  if (stays) {
    to->order = there.word();
    place(leaf, order, right ? position : position - moved, key, value);
  } else {
    leaf->order = order.word();
    place(to, there, right ? position - first : behind + position, key, value);
  }
  return true;
}

template <class H, class K, class V, bool kPromote>
void BPlusTree<H, K, V, kPromote>::split_and_place(Path& path, Leaf* leaf, SlotOrder order,
                                                   int position, const K& key, const Value& value) {
  Leaf* right = H::template make<Leaf>();
  right->link = leaf->link.load();
  leaf->link = right;
  if (position == kSlots) {
    // Skew: a concurrent transaction may make room here and insert the same key.
    hold<kPromote>(leaf->order);
    place(right, SlotOrder(), 0, key, value);
    add_child(path, TreeKey<K>::make_separator(key), right);
    return;
  }
  constexpr int kKept = (kSlots + 1) / 2;
  SlotOrder right_order;
  for (int i = kKept; i < kSlots; ++i) {
    const int slot = order.slot(i);
    // Skew: a concurrent put to an entry that moves would be lost with the old copy.
    hold<kPromote>(leaf->value(slot));
    right->key[i - kKept] = leaf->key[slot].load();
    if constexpr (!kSet) {
      right->value(i - kKept) = leaf->value(slot).load();
    }
    right_order = right_order.inserted(i - kKept);
  }
  order = order.truncated(kKept);
  const K separator = TreeKey<K>::make_separator(right->key[0].load());
  if (position <= kKept) {
    right->order = right_order.word();
    place(leaf, order, position, key, value);
  } else {
    leaf->order = order.word();
    place(right, right_order, position - kKept, key, value);
  }
  add_child(path, separator, right);
}

/// Adds a child to the node above the end of the path, right of the child that the path leads to.
template <class H, class K, class V, bool kPromote>
void BPlusTree<H, K, V, kPromote>::add_child(Path& path, K separator, void* fresh) {
  for (; path.depth > 0; --path.depth) {
    Inner* node = path.node[path.depth - 1];
    const int position = path.index[path.depth - 1];
    SlotOrder order = valid_order_of(node);
    if (!order.full()) {
      place(node, order, position, separator, fresh);
      return;
    }
    Inner* right = H::template make<Inner>();
    if (position == kSlots) {
      right->link = fresh;
    } else {
      constexpr int kKept = kSlots / 2;  // the next key moves up
      const int up = order.slot(kKept);
      const K raised = node->key[up];
      right->link = node->payload[up].load();
      SlotOrder right_order;
      for (int i = kKept + 1; i < kSlots; ++i) {
        const int slot = order.slot(i);
        const int to = i - kKept - 1;
        right->key[to] = node->key[slot].load();
        right->payload[to] = node->payload[slot].load();
        right_order = right_order.inserted(to);
      }
      order = order.truncated(kKept);
      if (position <= kKept) {
        right->order = right_order.word();
        place(node, order, position, separator, fresh);
      } else {
        node->order = order.word();
        place(right, right_order, position - kKept - 1, separator, fresh);
      }
      separator = raised;
    }
    fresh = right;
  }
  const int64_t height = height_;
  if (height == kMaxHeight) {
    throw Error(Status(Code::corrupt, "b+tree: its height is not possible"));
  }
  Inner* top = H::template make<Inner>();
  top->link = root_.load();
  place(top, SlotOrder(), 0, separator, fresh);
  root_ = top;
  height_ = height + 1;
}

template <class H, class K, class V, bool kPromote>
bool BPlusTree<H, K, V, kPromote>::erase(const Sought& key) {
  Path path;
  Leaf* leaf = descend(key, path);
  const SlotOrder order = valid_order_of(leaf);
  const auto [position, held] = search(leaf, order, key);
  if (!held) {
    return false;
  }
  // Skew: an erase counts as a write of the entry, so a concurrent put to it conflicts. (The same
  // transaction often inserts the erased entry elsewhere, and the put would be lost.)
  hold<kPromote>(leaf->value(order.slot(position)));
  if (order.count() > 1 || path.depth == 0) {
    leaf->order = order.removed(position).word();
  } else {
    unlink_leaf(path, leaf);
  }
  return true;
}

/// Frees the leaf at the end of the path, whose last entry has just been erased.
template <class H, class K, class V, bool kPromote>
void BPlusTree<H, K, V, kPromote>::unlink_leaf(Path& path, Leaf* leaf) {
  // Skew: a concurrent insert into this leaf, or a split or free of the next one, would be lost
  // with it.
  hold<kPromote>(leaf->order, leaf->link);
  Path to_before = path;
  if (Leaf* before = leaf_before(to_before)) {
    before->link = leaf->link.load();
  }
  H::destroy(leaf);
  remove_child(path);
}

template <class H, class K, class V, bool kPromote>
void BPlusTree<H, K, V, kPromote>::remove_child(Path& path) {
  // Ends at a node that keeps a child, because the root has at least two children.
  for (; path.depth > 0; --path.depth) {
    Inner* node = path.node[path.depth - 1];
    const int index = path.index[path.depth - 1];
    const SlotOrder order = valid_order_of(node);
    if (order.count() > 0) {
      if (index == 0) {
        node->link = node->payload[order.slot(0)].load();
      }
      const int gone = index == 0 ? 0 : index - 1;
      TreeKey<K>::destroy_separator(node->key[order.slot(gone)].load());
      node->order = order.removed(gone).word();
      break;
    }
    H::destroy(node);  // an insert below it would have split the child that is gone: no skew
  }
  const HeapBounds<H> bounds;
  for (int64_t height = height_; height > 0; --height) {
    Inner* const top = inner_at(bounds, root_);
    if (SlotOrder(top->order).count() > 0) {
      break;
    }
    // Skew: a concurrent split of its only child would be lost with this node.
    hold<kPromote>(top->order);
    root_ = top->link.load();
    height_ = height - 1;
    H::destroy(top);
  }
}

template <class H, class K, class V, bool kPromote>
size_t BPlusTree<H, K, V, kPromote>::size() const {
  const HeapBounds<H> bounds;
  CycleCheck cycle;
  size_t n = 0;
  for (const Leaf* leaf = first_leaf(root_, height()); leaf != nullptr; leaf = next_of(leaf)) {
    cycle.arrive(bounds.check(leaf));
    n += static_cast<size_t>(SlotOrder(leaf->order).count());
  }
  return n;
}

template <class H, class K, class V, bool kPromote>
void BPlusTree<H, K, V, kPromote>::free_all(void* node, int height, Steps& steps) {
  const HeapBounds<H> bounds;
  steps.take();
  if (height == 0) {
    Leaf* const leaf = leaf_at(bounds, node);
    // Skew: a concurrent insert, erase, split or put in this leaf would be lost.
    hold<kPromote>(leaf->order);
    const SlotOrder order = order_of(leaf);
    for (int i = 0; i < order.count(); ++i) {
      hold<kPromote>(leaf->value(order.slot(i)));
    }
    H::destroy(leaf);
    return;
  }
  Inner* const inner = inner_at(bounds, node);
  const SlotOrder order = order_of(inner);
  for (int i = 0; i <= order.count(); ++i) {
    free_all(child(inner, order, i), height - 1, steps);
  }
  for (int i = 0; i < order.count(); ++i) {
    TreeKey<K>::destroy_separator(inner->key[order.slot(i)].load());
  }
  H::destroy(inner);
}

template <class H, class K, class V, bool kPromote>
template <class Visitor>
void BPlusTree<H, K, V, kPromote>::visit_all(void* node, int height, Visitor& visit, Steps& steps) {
  const HeapBounds<H> bounds;
  steps.take();
  if (height == 0) {
    visit(static_cast<const void*>(leaf_at(bounds, node)), sizeof(Leaf));
    return;
  }
  const Inner* const inner = inner_at(bounds, node);
  visit(static_cast<const void*>(inner), sizeof(Inner));
  const SlotOrder order = order_of(inner);
  for (int i = 0; i <= order.count(); ++i) {
    visit_all(child(inner, order, i), height - 1, visit, steps);
  }
  for (int i = 0; i < order.count(); ++i) {
    TreeKey<K>::visit_separator(inner->key[order.slot(i)].load(), visit);
  }
}

/// A walk over all nodes in key order, which stops at the first contradiction.
template <class H, class K, class V, bool kPromote>
struct BPlusTree<H, K, V, kPromote>::Check {
  const char* problem = nullptr;
  const Leaf* last = nullptr;  ///< the last leaf visited, whose link must lead to the next one
  HeapBounds<H> bounds = {};
  Steps steps = {};

  bool fail(const char* what) {
    problem = what;
    return false;
  }

  /// Checks a node's keys: ordered and within [low, high).
  template <class N>
  bool keys(const N* node, SlotOrder order, const K* low, const K* high) {
    if (!order.valid()) {
      return fail("an order word does not hold every slot once");
    }
    for (int i = 0; i < order.count(); ++i) {
      const K key = node->key[order.slot(i)];
      const bool ordered = i == 0 || node->key[order.slot(i - 1)].load() < key;
      if (!ordered || (low != nullptr && key < *low) || (high != nullptr && !(key < *high))) {
        return fail("a key is out of order");
      }
    }
    return true;
  }

  bool walk(const void* node, int64_t height, bool root, const K* low, const K* high) {
    if (node == nullptr) {
      return fail("a child is missing");
    }
    steps.take();
    return height == 0
               ? leaf(bounds.check(static_cast<const Leaf*>(node)), root, low, high)
               : inner(bounds.check(static_cast<const Inner*>(node)), height, root, low, high);
  }

  bool leaf(const Leaf* node, bool root, const K* low, const K* high) {
    const SlotOrder order(node->order);
    if (!keys(node, order, low, high)) {
      return false;
    }
    if (order.count() == 0 && !root) {
      return fail("a leaf is empty");
    }
    if (last != nullptr && next_of(last) != node) {
      return fail("the chain of leaves leaves the tree");
    }
    last = node;
    return true;
  }

  bool inner(const Inner* node, int64_t height, bool root, const K* low, const K* high) {
    const SlotOrder order(node->order);
    if (!keys(node, order, low, high)) {
      return false;
    }
    if (order.count() == 0 && root) {
      return fail("the root has one child only");
    }
    for (int i = 0; i <= order.count(); ++i) {
      const K from = i == 0 ? K() : node->key[order.slot(i - 1)].load();
      const K to = i == order.count() ? K() : node->key[order.slot(i)].load();
      if (!walk(child(node, order, i), height - 1, false, i == 0 ? low : &from,
                i == order.count() ? high : &to)) {
        return false;
      }
    }
    return true;
  }
};

template <class H, class K, class V, bool kPromote>
Status BPlusTree<H, K, V, kPromote>::check() const {
  const int64_t height = height_;
  Check walk;
  if (height < 0 || height > kMaxHeight) {
    walk.problem = "its height is not possible";
  } else if (walk.walk(root_, height, true, nullptr, nullptr) && next_of(walk.last) != nullptr) {
    walk.problem = "the chain of leaves does not end at the last one";
  }
  if (walk.problem != nullptr) {
    return Status(Code::corrupt, std::string("b+tree: ") + walk.problem);
  }
  return {};
}

}  // namespace holdfast
