// SPDX-License-Identifier: Apache-2.0
//
// A hash map that grows by a few buckets at a time (linear hashing; Litwin 1980), so that no
// transaction ever moves the whole table. Such a transaction would fill the log and conflict with
// all others.
//
// Let n buckets be in use, and p be the smallest power of two that is at least n. A key's bucket is
// its hash modulo p. If that bucket is not in use yet, it is the hash modulo p / 2. Growth brings
// bucket n into use, and moves the entries there that now belong to it. They come from the bucket
// whose number is n without its top bit.
//
// Buckets are in segments that double in size; a directory in the map points to them. The memory of
// a segment is not touched before its buckets are in use.
//
// Entries are counted in stripes, each on a line of its own, so that parallel inserts rarely
// conflict. An insert grows the table if its own stripe's count times the number of stripes exceeds
// the buckets. This estimates the number of entries and reads no other stripe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "holdfast/base/status.h"
#include "holdfast/base/type_text.h"
#include "holdfast/machine/machine.h"
#include "holdfast/structures/hash.h"
#include "holdfast/structures/hash_chain.h"

namespace holdfast {

/// An unordered map from K to V (both trivially copyable, K with ==) in a heap H. It grows with its
/// entries, to about one per bucket, and never shrinks. At 2^41 buckets growth ends, and chains get
/// longer.
///
/// A Hash must return the same 64 bits for a key in every run and on every platform, because the
/// heap stores the entry's place. All bits must be well mixed: the low ones choose the bucket, the
/// top four the stripe. kPromote protects the map from write skew under snapshot isolation; only
/// tests pass false.
///
/// Thread safety: through transactions. Every member function runs inside one: functions that
/// change or construct the map inside update(), the others inside read() or update(). A change is
/// durable when its update() returns. Costs: O(1), size O(stripes); check and clear O(n).
template <class H, class K, class V, class Hash = KeyHash<K>, bool kPromote = true>
class HashMap {
  using Chain = HashChain<H, K, V, kPromote>;
  using Bucket = typename Chain::Bucket;
  using Node = typename Chain::Node;
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr const char* kTypeName = TypeText<"holdfast.HashMap", K, V, Hash>::kValue;
  static constexpr uint32_t kTypeVersion = 1;

  HashMap();
  HashMap(const HashMap&) = delete;
  HashMap& operator=(const HashMap&) = delete;

  std::optional<V> find(const K& key) const { return Chain::find(bucket_of(Hash()(key)), key); }
  bool contains(const K& key) const {
    return Chain::locate(bucket_of(Hash()(key)), key) != nullptr;
  }

  /// Returns false, changing nothing, if the key exists.
  bool insert(const K& key, const V& value) { return add(key, value, false); }
  /// Inserts or overwrites. Returns true if the key is new.
  bool put(const K& key, const V& value) { return add(key, value, true); }
  /// Returns false, changing nothing, if there is no such key.
  bool erase(const K& key) {
    const uint64_t hash = Hash()(key);
    if (!Chain::erase(bucket_of(hash), key)) {
      return false;
    }
    stripe_of(hash).entries -= 1;
    return true;
  }

  uint64_t buckets() const { return buckets_; }
  size_t size() const {
    uint64_t n = 0;
    for (const Stripe& stripe : stripe_) {
      n += stripe.entries.load();
    }
    return n;
  }

  /// Calls f(key, value), in no particular order, until it returns false.
  template <class F>
  void for_each(F&& f) const {
    walk([&](const Node* node) { return f(node->key.load(), node->value.load()); });
  }

  /// Erases all entries. The buckets stay.
  void clear();
  /// Frees everything the map owns. Call it before destroying the map, and call nothing after it.
  void dispose() {
    clear();
    for (int s = 0; s < segments(); ++s) {
      H::deallocate(segment_[s].load(), segment_size(s) * sizeof(Bucket));
    }
  }

  /// Checks that every entry is in its bucket, that no key occurs twice, that the stripes' counts
  /// are right, and that exactly the needed segments exist.
  Status check() const;

  /// Calls visit(p, n) for each block of the heap that the map owns.
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    for (int s = 0; s < segments(); ++s) {
      visit(static_cast<const void*>(segment_[s].load()), segment_size(s) * sizeof(Bucket));
    }
    walk([&](const Node* node) {
      visit(static_cast<const void*>(node), sizeof(Node));
      return true;
    });
  }

 private:
  static constexpr uint64_t kFirstSegment = 64;  ///< buckets, in use from the beginning
  static constexpr int kSegments = 36;
  static constexpr uint64_t kStep =
      8;  ///< buckets per growth: a line of new ones, a line of old ones
  static constexpr int kStripes = 16;
  static constexpr size_t kLongestChain = size_t{1} << 20;

  struct alignas(kLineBytes) Stripe {
    Field<uint64_t> entries;
  };

  /// Segment 0 holds the first kFirstSegment buckets; each later one as many as all before it.
  static uint64_t segment_size(int s) { return s == 0 ? kFirstSegment : kFirstSegment << (s - 1); }
  static uint64_t segment_start(int s) { return s == 0 ? 0 : kFirstSegment << (s - 1); }
  static int segment_number(uint64_t bucket) {
    return static_cast<int>(std::bit_width(bucket / kFirstSegment));
  }
  int segments() const { return segment_number(buckets_.load() - 1) + 1; }

  static uint64_t index_of(uint64_t hash, uint64_t buckets) {
    const uint64_t power = std::bit_ceil(buckets);
    const uint64_t index = hash & (power - 1);
    return index < buckets ? index : index - power / 2;
  }
  Bucket& bucket_at(uint64_t index) const {
    const int s = segment_number(index);
    return segment_[s].load()[index - segment_start(s)];
  }
  Bucket& bucket_of(uint64_t hash) const { return bucket_at(index_of(hash, buckets_)); }
  Stripe& stripe_of(uint64_t hash) { return stripe_[hash >> 60]; }
  static_assert(kStripes == 1 << (64 - 60));

  bool add(const K& key, const V& value, bool overwrite);
  void grow();
  void split(uint64_t fresh_index);

  template <class F>
  void walk(F&& f) const {
    const uint64_t n = buckets_;
    for (uint64_t i = 0; i < n && Chain::walk(bucket_at(i), f); ++i) {
    }
  }

  Field<uint64_t> buckets_;
  Field<Bucket*> segment_[kSegments];
  Stripe stripe_[kStripes];
};

template <class H, class K, class V, class Hash, bool kPromote>
HashMap<H, K, V, Hash, kPromote>::HashMap() : buckets_(kFirstSegment) {
  auto* first = static_cast<Bucket*>(H::allocate(kFirstSegment * sizeof(Bucket)));
  for (uint64_t i = 0; i < kFirstSegment; ++i) {
    first[i] = nullptr;
  }
  segment_[0] = first;
  for (int s = 1; s < kSegments; ++s) {
    segment_[s] = nullptr;
  }
  for (Stripe& stripe : stripe_) {
    stripe.entries = 0;
  }
}

template <class H, class K, class V, class Hash, bool kPromote>
bool HashMap<H, K, V, Hash, kPromote>::add(const K& key, const V& value, bool overwrite) {
  const uint64_t hash = Hash()(key);
  const uint64_t buckets = buckets_;
  if (!Chain::add(bucket_at(index_of(hash, buckets)), key, value, overwrite)) {
    return false;
  }
  Stripe& stripe = stripe_of(hash);
  const uint64_t entries = stripe.entries + 1;
  stripe.entries = entries;
  if (entries * kStripes > buckets) {
    grow();
  }
  return true;
}

template <class H, class K, class V, class Hash, bool kPromote>
void HashMap<H, K, V, Hash, kPromote>::grow() {
  const uint64_t buckets = buckets_;
  const int s = segment_number(buckets);
  if (s == kSegments) {
    return;  // 2^41 buckets: from here on chains grow longer
  }
  if (buckets == segment_start(s)) {
    segment_[s] = static_cast<Bucket*>(H::allocate(segment_size(s) * sizeof(Bucket)));
  }
  for (uint64_t fresh = buckets; fresh < buckets + kStep; ++fresh) {
    split(fresh);
  }
  buckets_ = buckets + kStep;
}

/// Brings one bucket into use, and moves the entries there that belong to it.
template <class H, class K, class V, class Hash, bool kPromote>
void HashMap<H, K, V, Hash, kPromote>::split(uint64_t fresh_index) {
  const uint64_t top = std::bit_floor(fresh_index);
  Bucket& old = bucket_at(fresh_index - top);
  Bucket& fresh = bucket_at(fresh_index);
  // Skew: a concurrent insert still sees the old number of buckets and stores to the front of the
  // old chain. Committed beside the split, its entry would be in the wrong bucket.
  hold<kPromote>(old);
  // The ends of the two chains. A link is stored only if it changes. An erase beside the split
  // stores the link before the node it frees. If the split stored that link too, unchanged, the two
  // transactions would conflict for nothing. If the split changes the link of the freed node, they
  // must conflict and do, because an erase promotes that link.
  struct End {
    Bucket* link;
    const Node* now;
  };
  Node* node = old;
  End stays{&old, node};       // NOLINT(misc-const-correctness): changed through `end`
  End moves{&fresh, nullptr};  // NOLINT(misc-const-correctness): as above
  fresh = nullptr;
  while (node != nullptr) {
    Node* next = node->next;
    End& end = (Hash()(node->key.load()) & top) != 0 ? moves : stays;
    if (end.now != node) {
      *end.link = node;
    }
    end = {&node->next, next};
    node = next;
  }
  for (const End& end : {stays, moves}) {
    if (end.now != nullptr) {
      *end.link = nullptr;
    }
  }
}

template <class H, class K, class V, class Hash, bool kPromote>
void HashMap<H, K, V, Hash, kPromote>::clear() {
  const uint64_t n = buckets_;
  for (uint64_t i = 0; i < n; ++i) {
    Chain::clear(bucket_at(i));
  }
  for (Stripe& stripe : stripe_) {
    stripe.entries = 0;
  }
}

template <class H, class K, class V, class Hash, bool kPromote>
Status HashMap<H, K, V, Hash, kPromote>::check() const {
  const uint64_t n = buckets_;
  if (n < kFirstSegment || n % kStep != 0 || segment_number(n - 1) >= kSegments) {
    return Status(Code::corrupt, "hash map: its number of buckets is impossible");
  }
  for (int s = 0; s < kSegments; ++s) {
    if ((segment_[s].load() != nullptr) != (s < segments())) {
      return Status(Code::corrupt, "hash map: the directory does not fit the number of buckets");
    }
  }
  uint64_t counted[kStripes] = {};
  for (uint64_t i = 0; i < n; ++i) {
    const Bucket& bucket = bucket_at(i);
    if (!Chain::unique(bucket, kLongestChain)) {
      return Status(Code::corrupt, "hash map: a key occurs twice, or a chain has a cycle");
    }
    if (!Chain::walk(bucket, [&](const Node* node) {
          const uint64_t hash = Hash()(node->key.load());
          counted[hash >> 60] += 1;
          return index_of(hash, n) == i;
        })) {
      return Status(Code::corrupt, "hash map: an entry is in the wrong bucket");
    }
  }
  for (int s = 0; s < kStripes; ++s) {
    if (stripe_[s].entries != counted[s]) {
      return Status(Code::corrupt, "hash map: a stripe's count is wrong");
    }
  }
  return {};
}

}  // namespace holdfast
