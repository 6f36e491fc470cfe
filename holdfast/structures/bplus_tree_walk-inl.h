// SPDX-License-Identifier: Apache-2.0
//
// Walks over the entries, in both directions; included by bplus_tree.h.
#pragma once

#include <type_traits>

namespace holdfast {

template <class H, class K, class V, bool kPromote>
template <class F>
bool BPlusTree<H, K, V, kPromote>::show(const Leaf* leaf, int slot, F& f) {
  if constexpr (std::is_invocable_v<F&, const Field<Value>&>) {
    return f(leaf->value(slot));
  } else {
    return f(leaf->key[slot].load(), leaf->value(slot).load());
  }
}

template <class H, class K, class V, bool kPromote>
template <class F>
bool BPlusTree<H, K, V, kPromote>::show(const Run& run, F& f) {
  if constexpr (std::is_invocable_v<F&, const Run&>) {
    return run.size() == 0 || f(run);
  } else {
    for (int i = 0; i < run.size(); ++i) {
      if (!show(run.leaf_, run.slot(i), f)) {
        return false;
      }
    }
    return true;
  }
}

template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::walk(const Leaf* leaf, SlotOrder order, int position, F& f) {
  const HeapBounds<H> bounds;
  CycleCheck cycle;
  for (;;) {
    if (!show(Run(leaf, order, position, 1, order.count() - position), f)) {
      return;
    }
    leaf = next_of(leaf);
    if (leaf == nullptr) {
      return;
    }
    cycle.arrive(bounds.check(leaf));
    if constexpr (kThreeWay) {
      prefetch(next_of(leaf), sizeof(Leaf));  // a walk beyond its first leaf tends to be long
    }
    order = order_of(leaf);
    position = 0;
  }
}

template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::scan(const Sought& from, F&& f, bool beyond) const {
  const Leaf* leaf = descend(from);
  const SlotOrder order = order_of(leaf);
  if (beyond) {
    const auto [position, held] = search(leaf, order, from);
    walk(leaf, order, position + (held ? 1 : 0), f);
  } else {
    walk(leaf, order, lower(leaf, order, from), f);
  }
}

template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::for_each(F&& f) const {
  const Leaf* leaf = first_leaf(root_, height());
  walk(leaf, order_of(leaf), 0, f);
}

/// The leaf before the one the path leads to, or null. It is below the closest node on the path
/// that was not left through its first child. Changes the path to lead to it.
template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::leaf_before(Path& path) -> Leaf* {
  const int height = path.depth;
  while (path.depth > 0 && path.index[path.depth - 1] == 0) {
    --path.depth;
  }
  if (path.depth == 0) {
    return nullptr;
  }
  const Inner* inner = path.node[path.depth - 1];
  const int index = --path.index[path.depth - 1];
  return descend_last(child(inner, order_of(inner), index), height, path);
}

/// The leaf before the one the path leads to, if both have the same parent; else null.
template <class H, class K, class V, bool kPromote>
void* BPlusTree<H, K, V, kPromote>::sibling_before(const Path& path) {
  if (path.depth == 0 || path.index[path.depth - 1] == 0) {
    return nullptr;
  }
  const Inner* const parent = path.node[path.depth - 1];
  return child(parent, order_of(parent), path.index[path.depth - 1] - 1);
}

/// Extends the path down to the leaves, always through the last child.
template <class H, class K, class V, bool kPromote>
auto BPlusTree<H, K, V, kPromote>::descend_last(void* node, int height, Path& path) -> Leaf* {
  const HeapBounds<H> bounds;
  for (; path.depth < height; ++path.depth) {
    Inner* const inner = inner_at(bounds, node);
    const SlotOrder order = order_of(inner);
    path.node[path.depth] = inner;
    path.index[path.depth] = order.count();
    node = child(inner, order, order.count());
  }
  return leaf_at(bounds, node);
}

/// Walks backwards from the entry before `position`. No leaf is empty, except the root.
template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::walk_back(Path& path, const Leaf* leaf, SlotOrder order,
                                             int position, F& f) {
  void* sibling = nullptr;  // the next leaf of the walk, if it is known already
  const HeapBounds<H> bounds;
  Steps steps;
  for (;;) {
    steps.take();
    if (!show(Run(leaf, order, position - 1, -1, position), f)) {
      return;
    }
    if (sibling != nullptr) {
      --path.index[path.depth - 1];
      leaf = leaf_at(bounds, sibling);
    } else {
      leaf = leaf_before(path);
      if (leaf == nullptr) {
        return;
      }
    }
    sibling = sibling_before(path);
    if constexpr (kThreeWay) {
      prefetch(sibling, sizeof(Leaf));
    }
    order = order_of(leaf);
    position = order.count();
  }
}

template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::scan_back(const Sought& from, F&& f) const {
  Path path;
  const Leaf* leaf = descend(from, path);
  const SlotOrder order = order_of(leaf);
  walk_back(path, leaf, order, lower(leaf, order, from), f);
}

template <class H, class K, class V, bool kPromote>
template <class F>
void BPlusTree<H, K, V, kPromote>::for_each_back(F&& f) const {
  Path path;
  const Leaf* leaf = descend_last(root_, height(), path);
  const SlotOrder order = order_of(leaf);
  walk_back(path, leaf, order, order.count(), f);
}

}  // namespace holdfast
