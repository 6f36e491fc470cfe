// SPDX-License-Identifier: Apache-2.0
// A walk over a tree that may be damaged; included by bplus_tree.h.
#pragma once

namespace holdfast {

template <class H, class K, class V, bool kPromote>
template <class Take, class See, class Separator>
struct BPlusTree<H, K, V, kPromote>::Audit {
  Take& take;
  See& see;
  Separator& separator;
  const char* problem = nullptr;
  const Leaf* last = nullptr;  ///< the last leaf visited, whose link must lead to the next one

  bool fail(const char* what) {
    problem = what;
    return false;
  }

  /// Every walk ends, because the height is bounded and no node is taken twice.
  bool node(const void* at, int64_t height, bool root) {
    return height == 0 ? leaf(static_cast<const Leaf*>(at), root)
                       : inner(static_cast<const Inner*>(at), height, root);
  }

  bool leaf(const Leaf* at, bool root) {
    if (!take(static_cast<const void*>(at), sizeof(Leaf))) {
      return fail("");
    }
    const SlotOrder order(at->order);
    if (!order.valid() || (order.count() == 0 && !root)) {
      return fail("the order word of a leaf is damaged");
    }
    if (last != nullptr && last->link.load() != static_cast<const void*>(at)) {
      return fail("the chain of leaves leaves the tree");
    }
    last = at;
    for (int i = 0; i < order.count(); ++i) {
      if (!show(at, order.slot(i), see)) {
        return fail("");
      }
    }
    return true;
  }

  bool inner(const Inner* at, int64_t height, bool root) {
    if (!take(static_cast<const void*>(at), sizeof(Inner))) {
      return fail("");
    }
    const SlotOrder order(at->order);
    if (!order.valid() || (order.count() == 0 && root)) {
      return fail("the order word of an inner node is damaged");
    }
    for (int i = 0; i <= order.count(); ++i) {
      if (i > 0 && !separator(at->key[order.slot(i - 1)].load())) {
        return fail("");
      }
      if (!node(child(at, order, i), height - 1, false)) {
        return false;
      }
    }
    return true;
  }
};

template <class H, class K, class V, bool kPromote>
template <class Take, class See, class Separator>
const char* BPlusTree<H, K, V, kPromote>::audit(Take&& take, See&& see,
                                                Separator&& separator) const {
  const int64_t height = height_;
  if (height < 0 || height > kMaxHeight) {
    return "its height is not possible";
  }
  Audit<std::remove_reference_t<Take>, std::remove_reference_t<See>,
        std::remove_reference_t<Separator>>
      walk{take, see, separator};
  if (walk.node(root_, height, true) && walk.last->link.load() != nullptr) {
    return "the chain of leaves does not end at the last one";
  }
  return walk.problem;
}

}  // namespace holdfast
