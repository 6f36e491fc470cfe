// SPDX-License-Identifier: Apache-2.0
//
// Reading ahead for iterators. Included by store.h only.
#pragma once

namespace holdfast::db {

/// Calls f for the entries from `step` on, like the tree's scans, until f returns false.
template <class H>
template <class F>
void Store<H>::visit_from(Step step, const Slice& from, F&& f) const {
  const auto& tree = root_->tree;
  const Probe<H> probe(from, comparator_);
  switch (step) {
    case Step::first:
      return tree.for_each(f);
    case Step::last:
      return tree.for_each_back(f);
    case Step::at_or_after:
      return tree.scan(probe, f);
    case Step::after:
      return tree.scan(probe, f, true);
    case Step::before:
      return tree.scan_back(probe, f);
  }
}

/// A put of a key in the tree, deleted or not, stores to `newer` of its newest version. An insert
/// stores to the order of the leaf that has the key's place (BPlusTree). The range's places are in
/// the leaves of its keys and of its limits, because no leaf is empty but an empty tree's root. The
/// root needs no hold: every transaction that writes something inserts there.
template <class H>
bool Store<H>::hold_range(const KeyRange& range, const View* since) const {
  using Run = typename StoreRoot<H>::Tree::Run;
  const auto hold_place = [&](const Slice& key) {
    root_->tree.hold_place(Probe<H>(key, comparator_));
  };
  const Slice first = range.first ? Slice(*range.first) : Slice();
  const Slice last = range.last ? Slice(*range.last) : Slice();
  const Probe<H> limit(last, comparator_);
  bool seen = true;
  std::string in_leaf;
  visit_from(range.first ? Step::at_or_after : Step::first, first, [&](const Run& run) {
    int i = 0;
    for (; i < run.size(); ++i) {
      const auto& held = run.value(i);
      if (range.last && TreeKey<StoredKey<H>>::order(held, limit) > 0) {
        break;
      }
      const V* const version = Versions<H>::newest(held);
      version->newer.promote();
      seen = seen && (since == nullptr || since->sees(version->stamp));
    }
    if (i > 0) {
      load_key(load_block<H>(run.value(i - 1)), &in_leaf);
      hold_place(in_leaf);
    }
    return i == run.size();
  });
  if (range.first || range.last) {
    hold_place(range.first ? first : last);
    hold_place(range.last ? last : first);
  }
  return seen;
}

/// The versions of neighbouring keys lie anywhere in the heap, so a walk would wait for each of
/// them. Therefore this prefetches the versions of a group of entries together. On a long walk a
/// group is a leaf, and the next leaf's versions are prefetched before the present leaf's are
/// examined.
template <class H>
holdfast::Status Store<H>::read_ahead(Step step, const Slice& from, const View* view, size_t most,
                                      EntryBuffer* to, PageGuard* guard) {
  constexpr size_t kUsualEntry = 128;
  constexpr int kMost = SlotOrder::kSlots;
  struct Group {
    const V* version[kMost];
    int size = 0;
  };
  // While a view is open, no version that it sees is changed or freed. So entries may stay in place
  // if plain loads find them there. Inside a transaction they may not: a transaction frees its own
  // versions as soon as it replaces them.
  const bool in_place = plain_reads() && view != nullptr && !in_transaction();
  const size_t usual_cost = in_place ? kLookCost : kLookCost + kUsualEntry;
  const int group_size = static_cast<int>(std::min(size_t{kMost}, 1 + most / usual_cost));
  const bool is_long = group_size == kMost;
  return heap_.read([&] {
    const Guarded guarded(H::Machine::context(), guard);
    check_root(guard);
    const HeapBounds<H> bounds;
    to->clear(in_place);
    size_t spent = 0;
    bool more = true;
    Group groups[2];
    int next = 0;
    const auto take = [&](const Group& group) {
      const std::span<const V* const> versions(group.version, static_cast<size_t>(group.size));
      more = more && add_entries(versions, view, most, &spent, to);
    };
    visit_from(step, from, [&](const typename StoreRoot<H>::Tree::Run& run) {
      for (int i = 0; i < run.size() && more; i += group_size) {
        Group& group = groups[next];
        const int size = std::min(group_size, run.size() - i);
        for (int j = 0; j < size; ++j) {
          const V* const version = Versions<H>::newest(run.value(i + j), bounds);
          prefetch(version, sizeof(V) + kUsualEntry);
          group.version[j] = version;
        }
        group.size = size;
        if (is_long) {
          next = 1 - next;
        }
        take(groups[next]);
      }
      return more;
    });
    if (is_long) {
      take(groups[1 - next]);
    }
    to->set_ended(more);
    if ((step == Step::after || step == Step::before) && !to->empty()) {
      check_order(step, from, (*(to->end() - 1))->key());
    }
  });
}

/// Throws Error(corrupt) unless the last entry of a walk lies behind its origin. So a program that
/// walks through a damaged tree, and reads ahead again and again, comes to an end.
template <class H>
void Store<H>::check_order(Step step, const Slice& from, const Slice& last) const {
  const int order = comparator_->Compare(from, last);
  if (step == Step::after ? order >= 0 : order <= 0) [[unlikely]] {
    throw_damaged("the order of keys");
  }
}

/// Adds the entries that the view shows of these keys, whose newest versions are given. *total is
/// the cost so far; adds these entries' cost to it. Returns false once the cost has reached `most`;
/// then some of the entries may be missing.
template <class H>
bool Store<H>::add_entries(std::span<const V* const> newest, const View* view, size_t most,
                           size_t* total, EntryBuffer* to) {
  const bool in_place = plain_reads() && to->in_place();
  const HeapBounds<H> bounds;
  const bool maybe_plain = in_place && !bounds.guarded();  // is_plain looks at more than an entry
  const PackedEntry** at = to->extend(newest.size());
  *total += newest.size() * kLookCost;
  for (const V* const key : newest) {
    if (maybe_plain && Versions<H>::is_plain(key, *view, bounds)) [[likely]] {
      *at++ = key->entry();
      continue;
    }
    const V* const version = Versions<H>::seen(key, view);
    if (version == nullptr) {
      continue;
    }
    const auto content = Versions<H>::content(version);
    if (in_place && content.blob == nullptr) [[likely]] {
      *at++ = version->entry();
      continue;
    }
    const size_t bytes = whole_words(content.key_bytes) + content.value_bytes;
    *total += bytes;
    to->set_end(at);
    if (*total > most && !to->empty()) {
      return false;
    }
    PackedEntry* const copy = to->allocate_copy(bytes);
    *copy = {content.value_bytes, content.key_bytes};
    Versions<H>::load_both(version, content, reinterpret_cast<char*>(copy + 1));
    *at++ = copy;
  }
  to->set_end(at);
  return *total < most || to->empty();
}

}  // namespace holdfast::db
