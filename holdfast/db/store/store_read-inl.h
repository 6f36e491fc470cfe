// SPDX-License-Identifier: Apache-2.0
//
// The members of Store that read. Included by store.h only.
#pragma once

namespace holdfast::db {

/// Asks about the blocks that a read uses without HeapBounds: the root, and the counts of a view.
template <class H>
void Store<H>::check_root(PageGuard* guard) const {
  if (guard != nullptr) {
    guard->check(root_, sizeof(*root_));
    guard->check(root_->slots.load(), slots_ * sizeof(Slot<H>));
  }
}

template <class H>
Result<bool> Store<H>::get(const Slice& key, const View* view, std::string* value, uint64_t* stamp,
                           PageGuard* guard) {
  const Probe<H> probe(key, comparator_);
  if constexpr (reads_once<typename H::Engine>()) {
    return load_value(probe, view, value, stamp, guard);
  }
  if (forked_child()) [[unlikely]] {
    return check_process();
  }
  // An attempt that is rolled back has loaded a value, and the next one may find none. So *value,
  // which may hold the key as well, stays as it is until the transaction has ended.
  std::string temporary;
  std::string& loaded = spare(&temporary);
  Result<bool> found = load_value(probe, view, &loaded, stamp, guard);
  if (found && *found) {
    value->swap(loaded);
  }
  if (loaded.capacity() > kMostSpareBytes) [[unlikely]] {
    loaded = std::string();
  }
  return found;
}

/// As get(), but each attempt of the transaction may change *value.
template <class H>
Result<bool> Store<H>::load_value(const Probe<H>& probe, const View* view, std::string* value,
                                  uint64_t* stamp, PageGuard* guard) {
  bool found = false;
  Status status = heap_.read([&] {
    const Guarded guarded(H::Machine::context(), guard);
    check_root(guard);
    const V* version = Versions<H>::find(*root_, probe, view);
    found = version != nullptr;
    if (found) {
      Versions<H>::load_value(version, value);
    }
    if (stamp != nullptr) {
      *stamp = found ? version->stamp.load() : 0;
    }
  });
  return status.ok() ? Result<bool>(found) : Result<bool>(std::move(status));
}

/// Returns this thread's spare string. Inside a transaction returns `temporary`: the body may run
/// on a thread that is in get() itself.
template <class H>
std::string& Store<H>::spare(std::string* temporary) {
  if (in_transaction()) {
    return *temporary;
  }
  const auto slot = static_cast<size_t>(heap_.machine().self());  // -1 without a slot
  return slot < spares_.size() ? spares_[slot].value : *temporary;
}

template <class H>
Result<typename Store<H>::View*> Store<H>::open_view() {
  if (forked_child()) [[unlikely]] {
    return check_process();
  }
  return read_counts(snapshots_.open());
}

template <class H>
Result<typename Store<H>::View*> Store<H>::open_brief_view() {
  if (forked_child()) [[unlikely]] {
    return check_process();
  }
  return read_counts(snapshots_.open_briefly(heap_.machine().self()));
}

/// Sets the counts of a view that has just been registered. Reads them again if another slot has
/// written for the first time meanwhile.
template <class H>
Result<typename Store<H>::View*> Store<H>::read_counts(View* view) {
  Status status;
  size_t slots = 0;
  try {
    do {
      slots = snapshots_.used_slots();
      snapshots_.reserve(view, slots);
      status = heap_.read([&] {
        for (size_t i = 0; i < slots; ++i) {
          view->set_count(i, slot(i).count);
        }
      });
    } while (status.ok() && slots < snapshots_.used_slots() &&
             !heap_.machine().skips(Site{"views.slots"}));
    if (status.ok()) {
      snapshots_.announce(view);
    }
  } catch (...) {  // the transaction around this one aborts, or there is no memory
    snapshots_.close(view);
    throw;
  }
  if (!status.ok()) {
    snapshots_.close(view);
    return status;
  }
  return view;
}

template <class H>
Result<uint64_t> Store<H>::bytes_between(const Slice& from, const Slice& to) {
  constexpr int kEntriesPerRead = 256;
  const Probe<H> limit(to, comparator_);
  uint64_t total = 0;
  std::string at = from.ToString();
  Step step = Step::at_or_after;
  for (bool more = true; more;) {
    uint64_t bytes = 0;
    std::string last;
    const Status status = heap_.read([&] {
      bytes = 0;
      more = false;
      int left = kEntriesPerRead;
      visit_from(step, at, [&](const StoredKey<H>& key) {
        if (!(key < limit)) {
          return false;
        }
        const HeapBounds<H> bounds;
        CycleCheck cycle;
        for (const V* version = V::of(key.block); version != nullptr; version = version->older) {
          cycle.arrive(bounds.check(version));
          bytes += version->key.bytes + (version->deleted() ? 0 : version->bytes.load());
        }
        more = --left == 0;
        if (more) {
          load_key(key.block, &last);
        }
        return !more;
      });
      if (more) {
        check_order(Step::after, at, last);
      }
    });
    if (!status.ok()) {
      return status;
    }
    total += bytes;
    at = last;
    step = Step::after;
  }
  return total;
}

template <class H>
Result<uint64_t> Store<H>::old_versions() {
  return heap_.read([&] {
    uint64_t n = 0;
    for (size_t i = 0; i < slots_; ++i) {
      n += length(slot(i).nested) + length(slot(i).old);
    }
    return n;
  });
}

/// Returns the length of a list of old versions, inside a transaction.
template <class H>
size_t Store<H>::length(const V* first) {
  const HeapBounds<H> bounds;
  CycleCheck cycle;
  size_t n = 0;
  for (const V* version = first; version != nullptr; version = version->next) {
    cycle.arrive(bounds.check(version));
    ++n;
  }
  return n;
}

template <class H>
template <class Visitor>
void Store<H>::visit_blocks(Visitor&& visit) const {
  visit(static_cast<const void*>(root_->slots.load()), slots_ * sizeof(Slot<H>));
  const KeyBlock<H>* name = root_->comparator;
  visit(static_cast<const void*>(name), sizeof(KeyBlock<H>) + name->bytes.load());
  root_->tree.visit_blocks(visit);
  root_->tree.for_each([&](const StoredKey<H>& key) {
    const HeapBounds<H> bounds;
    CycleCheck cycle;
    for (const V* version = V::of(key.block); version != nullptr; version = version->older) {
      cycle.arrive(bounds.check(version));
      visit(static_cast<const void*>(version), version->block_bytes());
      if (const Blob<H>* blob = version->blob) {
        Blobs<H>::visit(blob, visit);
      }
    }
    return true;
  });
  if (feed_.exists()) {
    feed_.visit_blocks(visit);
  }
  for (const Blob<H>* first : {root_->filling.load(), root_->garbage.load()}) {
    CycleCheck cycle;
    for (const Blob<H>* blob = first; blob != nullptr; blob = blob->next) {
      cycle.arrive(blob);
      Blobs<H>::visit(blob, visit);
    }
  }
}

}  // namespace holdfast::db
