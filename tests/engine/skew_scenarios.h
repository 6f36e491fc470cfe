// SPDX-License-Identifier: Apache-2.0
//
// Pairs of concurrent transactions that corrupt a structure under snapshot isolation, unless the
// structure promotes the right fields. Each scenario is a template over the heap and over whether
// promotions work. So a test shows both: with promotions nothing breaks, without them it does.
//
//   using S = skew::ListNeighbouringErases<H, kPromote>;
//   auto* state = skew::prepare<S>(heap);            root and first contents; again for each round
//   S::first(*state); S::second(*state);             run both at the same time, each in heap.update
//   Status status = skew::judge<S>(heap, *state);    not ok: the structure is corrupted
//
// Some engines find conflicts by lines of 64 bytes. Keys are padded, so that no pair conflicts
// there by accident: no node shares a line with the words that the allocator stores when it frees a
// block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/structures/bplus_tree.h"
#include "holdfast/structures/fixed_hash_map.h"
#include "holdfast/structures/hash_map.h"
#include "holdfast/structures/linked_list.h"
#include "holdfast/structures/rb_tree.h"

namespace holdfast::skew {

/// A key of two lines. The fields behind it in a node begin in a line of their own.
struct WideKey {
  int64_t number;
  int64_t padding[15];

  static WideKey of(int64_t n) { return {n, {}}; }
  bool operator<(const WideKey& other) const { return number < other.number; }
  bool operator==(const WideKey& other) const { return number == other.number; }
};

/// A key with a label that its order ignores.
struct LabelledKey {
  int64_t number;
  int64_t label;
  bool operator<(const LabelledKey& other) const { return number < other.number; }
};

template <class Scenario, class H>
typename Scenario::Structure* prepare(H& heap) {
  auto* s = heap.template root<typename Scenario::Structure>(Scenario::kName).value();
  heap.update([&] {
        s->clear();
        Scenario::fill(*s);
      })
      .check();
  return s;
}

template <class Scenario, class H>
Status judge(H& heap, const typename Scenario::Structure& s) {
  Status found;
  const Status ran = heap.read([&] {
    found = s.check();
    if (found.ok()) {
      found = Scenario::judge(s);
    }
  });
  return ran.ok() ? found : ran;
}

/// Expects exactly these keys, in any order.
template <class S, class F>
Status expect_keys(const S& s, const std::vector<int64_t>& keys, F&& key_of) {
  for (const int64_t key : keys) {
    if (!s.contains(key_of(key))) {
      return Status(Code::corrupt, "key " + std::to_string(key) + " is lost");
    }
  }
  if (s.size() != keys.size()) {
    return Status(Code::corrupt,
                  std::to_string(s.size()) + " keys instead of " + std::to_string(keys.size()));
  }
  return {};
}
inline int64_t same_key(int64_t key) {
  return key;
}

/// The list is 1 2 3 4. One transaction erases 2, which stores the link of 1. The other one erases
/// 3, which stores the link of 2.
template <class H, bool kPromote>
struct ListNeighbouringErases {
  using Structure = LinkedList<H, WideKey, kPromote>;
  static constexpr const char* kName = "list.neighbouring_erases";
  static void fill(Structure& s) {
    for (int64_t key = 4; key > 0; --key) {
      s.insert(WideKey::of(key));
    }
  }
  static void first(Structure& s) { s.erase(WideKey::of(2)); }
  static void second(Structure& s) { s.erase(WideKey::of(3)); }
  static Status judge(const Structure& s) { return expect_keys(s, {1, 4}, &WideKey::of); }
};

/// The list is 1 2 4. One transaction erases 2, the other one inserts 3 behind it.
template <class H, bool kPromote>
struct ListInsertBehindErase {
  using Structure = LinkedList<H, WideKey, kPromote>;
  static constexpr const char* kName = "list.insert_behind_erase";
  static void fill(Structure& s) {
    for (const int64_t key : {4, 2, 1}) {
      s.insert(WideKey::of(key));
    }
  }
  static void first(Structure& s) { s.erase(WideKey::of(2)); }
  static void second(Structure& s) { s.insert(WideKey::of(3)); }
  static Status judge(const Structure& s) { return expect_keys(s, {1, 3, 4}, &WideKey::of); }
};

/// Like ListNeighbouringErases, in the only chain of a hash map.
template <class H, bool kPromote>
struct ChainNeighbouringErases {
  struct Structure : FixedHashMap<H, WideKey, int64_t, KeyHash<WideKey>, kPromote> {
    Structure() : FixedHashMap<H, WideKey, int64_t, KeyHash<WideKey>, kPromote>(1) {}
  };
  static constexpr const char* kName = "chain.neighbouring_erases";
  static void fill(Structure& s) {
    for (int64_t key = 4; key > 0; --key) {
      s.insert(WideKey::of(key), key);
    }
  }
  static void first(Structure& s) { s.erase(WideKey::of(2)); }
  static void second(Structure& s) { s.erase(WideKey::of(3)); }
  static Status judge(const Structure& s) { return expect_keys(s, {1, 4}, &WideKey::of); }
};

/// One transaction moves the entry of key 2 to key 9, the other one puts to it.
template <class H, bool kPromote>
struct ChainMoveBesidePut {
  using Structure = typename ChainNeighbouringErases<H, kPromote>::Structure;
  static constexpr const char* kName = "chain.move_beside_put";
  static void fill(Structure& s) {
    for (int64_t key = 4; key > 0; --key) {
      s.insert(WideKey::of(key), 0);
    }
  }
  static void first(Structure& s) {
    const auto value = s.find(WideKey::of(2));
    if (value.has_value() && s.erase(WideKey::of(2))) {
      s.insert(WideKey::of(9), *value);
    }
  }
  static void second(Structure& s) { s.put(WideKey::of(s.contains(WideKey::of(2)) ? 2 : 9), 7); }
  static Status judge(const Structure& s) {
    const int64_t at = s.contains(WideKey::of(2)) ? 2 : 9;
    return s.find(WideKey::of(at)) == 7 && s.size() == 4 ? Status()
                                                         : Status(Code::corrupt, "the put is lost");
  }
};

/// One transaction erases the root; its successor 3 takes the root's place. The other one erases 4,
/// the red child of 3.
template <class H, bool kPromote>
struct TreeErases {
  using Structure = RbTree<H, WideKey, int64_t, kPromote>;
  static constexpr const char* kName = "rb_tree.erases";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 4; ++key) {
      s.insert(WideKey::of(key), key);
    }
  }
  static void first(Structure& s) { s.erase(WideKey::of(2)); }
  static void second(Structure& s) { s.erase(WideKey::of(4)); }
  static Status judge(const Structure& s) { return expect_keys(s, {1, 3}, &WideKey::of); }
};

/// One transaction erases the leaf 10, the other one inserts 15 below it and rebalances.
template <class H, bool kPromote>
struct TreeInsertBelowErase {
  using Structure = RbTree<H, WideKey, int64_t, kPromote>;
  static constexpr const char* kName = "rb_tree.insert_below_erase";
  static void fill(Structure& s) {
    for (const int64_t key : {10, 20, 30}) {
      s.insert(WideKey::of(key), key);
    }
  }
  static void first(Structure& s) { s.erase(WideKey::of(10)); }
  static void second(Structure& s) { s.insert(WideKey::of(15), 15); }
  static Status judge(const Structure& s) { return expect_keys(s, {15, 20, 30}, &WideKey::of); }
};

/// One transaction inserts into a full leaf, which splits and moves its upper half. The other one
/// puts to an entry that moves.
template <class H, bool kPromote>
struct LeafSplitBesidePut {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.split_beside_put";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 15; ++key) {
      s.insert(10 * key, 0);
    }
  }
  static void first(Structure& s) { s.insert(145, 0); }
  static void second(Structure& s) { s.put(150, 7); }
  static Status judge(const Structure& s) {
    return s.find(150) == 7 ? Status() : Status(Code::corrupt, "the put is lost");
  }
};

/// Like LeafSplitBesidePut, in a set, where a put stores the key.
template <class H, bool kPromote>
struct LeafSplitBesidePutToSet {
  using Structure = BPlusTree<H, LabelledKey, void, kPromote>;
  static constexpr const char* kName = "bplus_tree.split_beside_put_to_set";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 15; ++key) {
      put(s, 10 * key, 0);
    }
  }
  static void first(Structure& s) { put(s, 145, 0); }
  static void second(Structure& s) { put(s, 150, 7); }
  static Status judge(const Structure& s) {
    const auto held = s.find({150, 0});
    return held && held->label == 7 ? Status() : Status(Code::corrupt, "the put is lost");
  }

 private:
  static void put(Structure& s, int64_t number, int64_t label) {
    s.put({number, label}, {number, label});
  }
};

/// One transaction moves an entry to another key, the other one puts to it.
template <class H, bool kPromote>
struct MoveBesidePut {
  using Structure = BPlusTree<H, int64_t, int64_t, kPromote>;
  static constexpr const char* kName = "bplus_tree.move_beside_put";
  static void fill(Structure& s) {
    for (int64_t key = 1; key <= 20; ++key) {
      s.insert(key, 0);
    }
  }
  static void first(Structure& s) {
    const auto value = s.find(18);
    if (value.has_value() && s.erase(18)) {
      s.insert(0, *value);
    }
  }
  static void second(Structure& s) { s.put(s.contains(18) ? 18 : 0, 7); }
  static Status judge(const Structure& s) {
    const int64_t at = s.contains(18) ? 18 : 0;
    return s.find(at) == 7 && s.size() == 20 ? Status() : Status(Code::corrupt, "the put is lost");
  }
};

/// One transaction inserts and makes the table grow, which splits an empty bucket. The other one
/// inserts a key into that bucket that belongs to the new one.
template <class H, bool kPromote>
struct GrowthBesideInsert {
  using Structure = HashMap<H, int64_t, int64_t, KeyHash<int64_t>, kPromote>;
  static constexpr const char* kName = "hash_map.growth_beside_insert";
  /// The buckets of a new map, which grows when a stripe has 5 entries.
  static constexpr uint64_t kBuckets = 64;
  static constexpr uint64_t kStep = 8;

  /// Returns the n-th key of a stripe. With `splits`, the key is in a bucket that splits first, and
  /// belongs to its new half. Otherwise it is in none of these buckets.
  static int64_t key(uint64_t stripe, bool splits, int n) {
    for (int64_t candidate = 0;; ++candidate) {
      const uint64_t hash = KeyHash<int64_t>()(candidate);
      const bool in_split = hash % kBuckets < kStep;
      const bool fits = splits ? in_split && (hash & kBuckets) != 0 : !in_split;
      if (hash >> 60 == stripe && fits && n-- == 0) {
        return candidate;
      }
    }
  }
  static void fill(Structure& s) {
    for (int i = 0; i < 4; ++i) {
      s.insert(key(0, false, i), i);
    }
  }
  static void first(Structure& s) { s.insert(key(0, false, 4), 4); }
  static void second(Structure& s) { s.insert(key(1, true, 0), 5); }
  static Status judge(const Structure& s) {
    std::vector<int64_t> keys{key(1, true, 0)};
    for (int i = 0; i < 5; ++i) {
      keys.push_back(key(0, false, i));
    }
    return expect_keys(s, keys, &same_key);
  }
};

}  // namespace holdfast::skew
