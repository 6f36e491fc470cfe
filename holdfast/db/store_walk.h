// SPDX-License-Identifier: Apache-2.0
//
// What the store's iterators read. Included by store.h only.
#pragma once

#include "holdfast/db/store.h"

namespace holdfast::db {

/// Calls f, as the tree's scans do, along the way until it returns false.
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

/// Versions lie anywhere in the heap, so a walk would wait for each of them. Their lines are asked
/// for side by side; on a long walk, those of a leaf before the versions of the leaf before it are
/// looked at.
template <class H>
holdfast::Status Store<H>::read_ahead(Step step, const Slice& from, const View* view, size_t most,
                                      EntryBuffer* to) {
  constexpr size_t kUsualEntry = 128;
  constexpr int kMost = SlotOrder::kSlots;
  struct Group {
    const V* version[kMost];
    int size = 0;
  };
  const int group_size = static_cast<int>(std::min(size_t{kMost}, 1 + most / kUsualEntry));
  const bool is_long = group_size == kMost;
  // What a view sees is neither changed nor freed while the view is open, so it may stay where it
  // lies if loads find it there. But a transaction frees at once what it has replaced of its own.
  const bool in_place = plain_reads() && view != nullptr && !in_transaction();
  return heap_.read([&] {
    to->clear(in_place);
    size_t spent = 0;
    bool more = true;
    Group groups[2];
    int next = 0;
    const auto take = [&](Group& group) {
      for (int i = 0; i < group.size && more; ++i) {
        more = add_entry(group.version[i], view, most, &spent, to);
      }
      group.size = 0;
    };
    visit_from(step, from, [&](const typename StoreRoot<H>::Tree::Run& run) {
      for (int i = 0; i < run.size() && more;) {
        Group& group = groups[next];
        for (; group.size < group_size && i < run.size(); ++i) {
          const V* const version = Versions<H>::newest(run.value(i));
          prefetch(version, sizeof(V) + kUsualEntry);
          group.version[group.size++] = version;
        }
        if (is_long) {
          next = 1 - next;
        }
        take(groups[next]);
      }
      return more;
    });
    take(groups[1 - next]);
    to->set_ended(more);
  });
}

/// False when there is no room for more, and perhaps not for this one.
template <class H>
bool Store<H>::add_entry(const V* newest, const View* view, size_t most, size_t* spent,
                         EntryBuffer* to) {
  constexpr size_t kLook = 32;  // a look at an entry costs this much, whether or not it is seen
  const V* version = Versions<H>::seen(newest, view);
  if (version == nullptr) {
    *spent += kLook;
    return *spent <= most || to->empty();
  }
  const auto content = Versions<H>::content(version);
  *spent += kLook + content.key_bytes + content.value_bytes;
  if (*spent > most && !to->empty()) {
    return false;
  }
  if (plain_reads() && to->in_place() && content.blob == nullptr) {
    to->add_in_place(version->key.content(), content.key_bytes, content.value_bytes);
  } else {
    const auto room = to->add(content.key_bytes, content.value_bytes);
    Versions<H>::load_both(version, content, room.key);
  }
  return *spent < most;
}

}  // namespace holdfast::db
