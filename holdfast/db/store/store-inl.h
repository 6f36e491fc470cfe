// SPDX-License-Identifier: Apache-2.0
//
// Opening, writing, reading and reclaiming. Included by store.h only.
#pragma once

namespace holdfast::db {

template <class H>
Result<std::unique_ptr<Store<H>>> Store<H>::open(H& heap, const Comparator* comparator,
                                                 const StoreLimits& limits, bool read_only) {
  bool plain_keys = false;
  auto root = find_store_root(heap, &plain_keys);
  const bool is_new = !root && root.status().code() == Code::not_found;
  if (is_new) {
    if (!heap.list_roots().empty()) {
      return Status(Code::wrong_format, "the heap holds something else than a database");
    }
    if (read_only) {
      return Status(Code::wrong_format, "the heap is empty and holds no database");
    }
    const size_t slots = heap.superblock().slots;
    root = heap.template root<StoreRoot<H>>("holdfast.db", std::string(comparator->Name()), slots);
  }
  if (!root) {
    return root.status();
  }
  auto slots = slots_of(heap, **root, limits, read_only);
  if (!slots) {
    return slots.status();
  }
  std::unique_ptr<Store> store(new Store(heap, *root, comparator, limits, *slots));
  store->plain_keys_ = plain_keys;
  Status status = store->check_comparator();
  if (status.ok()) {
    status = store->clean_up_after_crash(read_only);
  }
  if (status.ok()) {
    status = store->open_feed(read_only ? std::nullopt : limits.feed_bytes, is_new);
  }
  if (status.ok() && !read_only) {
    status = store->drain();
  }
  return status.ok() ? Result<std::unique_ptr<Store>>(std::move(store)) : status;
}

/// Returns the number of slots of the store. First gives it those that the heap or the caller wants
/// and it lacks, unless the heap is read-only: there no thread needs one. The store may have more
/// slots than the heap, because it gets them first.
template <class H>
Result<size_t> Store<H>::slots_of(H& heap, StoreRoot<H>& root, const StoreLimits& limits,
                                  bool read_only) {
  auto slots = heap.read([&] { return root.slot_count.load(); });
  if (!slots) {
    return slots.status();
  }
  if (*slots == 0 || *slots > kMostSlots) {
    return Status(Code::corrupt,
                  "the database's number of thread slots is damaged; restore the file from a copy");
  }
  const size_t wanted = std::max<size_t>(heap.superblock().slots, limits.slots);
  if (*slots >= wanted || read_only) {
    return static_cast<size_t>(*slots);
  }
  if (wanted > kMostSlots) {
    return Status(Code::invalid_argument,
                  "the heap has slots for " + std::to_string(wanted - 1) +
                      " threads, a database for " + std::to_string(kMostSlots - 1) +
                      "; copy the original file again with a smaller `holdfast convert "
                      "--max-threads N`");
  }
  const Status status = heap.update([&] { root.add_slots(wanted); });
  return status.ok() ? Result<size_t>(wanted) : status;
}

template <class H>
holdfast::Status Store<H>::check_comparator() {
  std::string recorded;
  Status status = heap_.read([&] { load_key(root_->comparator.load(), &recorded); });
  if (status.ok() && recorded != comparator_->Name()) {
    status = Status(Code::invalid_argument, "the database is ordered by comparator '" + recorded +
                                                "', not '" + comparator_->Name() +
                                                "'; open it with that one");
  }
  return status;
}

/// No snapshot survives a crash. So this frees every version but the newest, and all values that
/// were being written. In a read-only heap these stay, and no reader sees them.
template <class H>
holdfast::Status Store<H>::clean_up_after_crash(bool read_only) {
  std::vector<uint64_t> counts;
  Status status = heap_.read([&] {
    counts.assign(slots_, 0);
    for (size_t i = 0; i < slots_; ++i) {
      counts[i] = slot(i).count;
    }
  });
  for (size_t i = 0; i < slots_ && status.ok(); ++i) {
    if (counts[i] != 0) {
      snapshots_.announce_stamps(i);
    }
  }
  for (bool more = !read_only; more && status.ok();) {
    status = heap_.update([&] {
      Blob<H>* const blob = root_->filling;
      more = blob != nullptr;
      if (more) {
        Blobs<H>::unlink(root_->filling, blob);
        Blobs<H>::link(root_->garbage, blob);
      }
    });
  }
  if (status.ok() && !read_only) {
    status = free_listed();
  }
  return status.ok() && !read_only ? drain() : status;
}

/// Frees all old versions that the slots list. No other thread has the store yet.
template <class H>
holdfast::Status Store<H>::free_listed() {
  Status status;
  for (size_t i = 0; i < slots_ && status.ok(); ++i) {
    bool more = false;
    status = heap_.read([&] {
      check_list(slot(i).nested);
      check_list(slot(i).old);
      more = slot(i).nested.load() || slot(i).old.load();
    });
    while (more && status.ok()) {
      status = heap_.update(
          [&] { more = versions(nullptr).free_listed(slot(i), limits_.versions_freed); });
    }
  }
  return status;
}

/// Throws Error(corrupt) if a list of old versions leads out of the heap or in a circle.
template <class H>
void Store<H>::check_list(const V* first) {
  const HeapBounds<H> bounds;
  CycleCheck cycle;
  for (const V* version = first; version != nullptr; version = version->next) {
    cycle.arrive(bounds.check(version));
    if (version->listed == 0) {
      throw_damaged("a list of old versions");
    }
  }
}

/// A share of the backlog that goes back when its transaction is over.
template <class H>
class Store<H>::Share {
 public:
  Share(Backlog<M>& backlog, int slot, std::unique_ptr<BacklogShare> share)
      : backlog_(backlog), slot_(slot), share_(std::move(share)) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  ~Share() { put(false); }

  BacklogShare* get() { return share_.get(); }
  void put(bool committed) {
    if (!std::exchange(done_, true)) {
      backlog_.put(slot_, std::move(share_), committed);
    }
  }
  /// Returns the share as after an abort, and goes on with an empty one.
  void replace_by_empty() {
    backlog_.put(slot_, std::exchange(share_, std::make_unique<BacklogShare>()), false);
  }

 private:
  Backlog<M>& backlog_;
  const int slot_;
  std::unique_ptr<BacklogShare> share_;
  bool done_ = false;
};

template <class H>
template <class F>
holdfast::Status Store<H>::update(F&& body, size_t changes, Commit commit) {
  if (forked_child()) [[unlikely]] {
    return check_process();
  }
  if (in_transaction()) {  // the outer transaction commits later, or never
    return heap_.update([&] {
      Versions<H> v = versions(nullptr);
      body(v);
      append_to_feed(v);
    });
  }
  const int self = heap_.machine().self();
  Share share(backlog_, self, backlog_.take(self, changes));
  bool garbage = false;
  auto attempt = [&] {
    return heap_.update(
        [&] {
          Versions<H> v = versions(share.get());
          body(v);
          append_to_feed(v);
          garbage = v.made_garbage();
        },
        commit);
  };
  Status status = attempt();
  if (lacks_room(status.code())) {
    share.replace_by_empty();
    if (collect(commit).ok()) {
      status = attempt();  // old versions of other slots may have filled the heap
    }
  }
  share.put(status.ok());
  // The update has committed. If freeing its garbage fails, a later one or the next open frees it.
  if (status.ok() && garbage) {
    static_cast<void>(drain(commit).ok());
  }
  return status;
}

/// Waits until all present old versions can be judged, and returns their number. The views that are
/// being opened now must be known first. A thread that opens one may be waiting for the engine's
/// lock, which this thread has taken again and again. So this thread waits outside of transactions.
/// The wait is bounded: the other thread may be stopped.
template <class H>
size_t Store<H>::await_views() {
  constexpr int kPatience = 1 << 20;  // tens of milliseconds or more on this computer
  size_t versions = 0;
  const uint64_t period = backlog_.mark(&versions);
  for (int i = 0; i < kPatience && !snapshots_.outlasted(period); ++i) {
    heap_.machine().pause();
  }
  return versions;
}

template <class H>
void Store<H>::apply(Versions<H>& versions, const Change& change, Blob<H>* ahead) {
  if (feeding_) {
    add_to_batch(&versions.changes(), change);
  }
  if (change.deletion) {
    versions.erase(change.key);
    return;
  }
  if (ahead != nullptr) {
    Blobs<H>::unlink(root_->filling, ahead);
  } else if (change.value.size() > limits_.short_value) {
    ahead = Blobs<H>::make();
    Blobs<H>::append(ahead, change.value);
  }
  versions.put(change.key, change.value, ahead);
}

/// Writes long values, and the feed's record, before the transaction if they are longer than one
/// should write, or if the engine's log is too small for all.
template <class H>
holdfast::Status Store<H>::write_all(std::span<const Change> changes, const CancelIf* cancel_if,
                                     Commit commit) {
  size_t total = 0;
  bool can_split = feeding_;
  for (const Change& change : changes) {
    total += change.value.size();
    can_split = can_split || change.value.size() > limits_.short_value;
  }
  can_split = can_split && !in_transaction();
  const bool split = can_split && total > limits_.per_transaction;
  const Status status = write_once(changes, split, cancel_if, commit);
  if (status.code() == Code::too_large && can_split && !split) [[unlikely]] {
    return write_once(changes, true, cancel_if, commit);
  }
  return status;
}

/// Applies all changes as one transaction. `split`: writes long values, and the feed's record, in
/// transactions before it.
template <class H>
holdfast::Status Store<H>::write_once(std::span<const Change> changes, bool split,
                                      const CancelIf* cancel_if, Commit commit) {
  std::vector<Blob<H>*> ahead(split ? changes.size() + 1 : 0);  // the last one: the feed's record
  for (size_t i = 0; i < ahead.size(); ++i) {
    const bool record = i == changes.size();
    if (record ? feeding_ : changes[i].value.size() > limits_.short_value) {
      auto blob =
          record ? write_ahead_of_feed(changes, commit) : write_ahead(changes[i].value, commit);
      if (!blob) {
        abandon(ahead, commit);
        return blob.status();
      }
      ahead[i] = *blob;
    }
  }
  Blob<H>* const record_ahead = split ? ahead.back() : nullptr;
  bool refused = false;
  bool stored = false;
  const Status status = update(
      [&](Versions<H>& versions) {
        refused = cancel_if != nullptr && (*cancel_if)(versions);
        versions.set_record_ahead(record_ahead);
        for (size_t i = 0; i < changes.size() && !refused; ++i) {
          apply(versions, changes[i], split ? ahead[i] : nullptr);
        }
        stored = versions.stamp() != 0;
      },
      changes.size(), commit);
  const bool unused = record_ahead != nullptr && !stored;  // only deletions of absent keys
  if (split && (!status.ok() || refused || unused)) {
    abandon(ahead, commit);
  }
  return status;
}

/// Writes a long value ahead of the transaction that will use it. In a full heap frees the old
/// versions first, like update(): one of them may be the value that this one replaces.
template <class H>
Result<Blob<H>*> Store<H>::write_ahead(const Slice& value, Commit commit) {
  auto blob = fill_blob(value, commit);
  if (lacks_room(blob.status().code()) && collect(commit).ok()) {
    blob = fill_blob(value, commit);
  }
  return blob;
}

/// Writes a long value in as many transactions as it needs, into a blob in the list `filling`. Each
/// commits like the one that will use the value, because that one makes all of them durable. A part
/// that does not fit into the engine's log is halved.
template <class H>
Result<Blob<H>*> Store<H>::fill_blob(const Slice& value, Commit commit) {
  auto made = heap_.update(
      [&] {
        Blob<H>* const blob = Blobs<H>::make();
        Blobs<H>::link(root_->filling, blob);
        return blob;
      },
      commit);
  if (!made) {
    return made;
  }
  constexpr size_t kLeastPart = 1024;
  size_t most = limits_.per_transaction;
  Slice rest = value;
  Status status;
  while (!rest.empty() && status.ok()) {
    const Slice part(rest.data(), std::min(rest.size(), most));
    status = heap_.update([&] { Blobs<H>::append(*made, part); }, commit);
    if (status.code() == Code::too_large && part.size() > kLeastPart) {
      most = part.size() / 2;
      status = Status();
      continue;
    }
    rest.remove_prefix(part.size());
  }
  if (status.ok()) {
    return made;
  }
  abandon({*made}, commit);
  return status;
}

/// Frees values that were written ahead for a transaction that has not committed. If that fails,
/// the next open frees them.
template <class H>
void Store<H>::abandon(const std::vector<Blob<H>*>& ahead, Commit commit) {
  for (Blob<H>* blob : ahead) {
    if (blob != nullptr) {
      const Status status = heap_.update(
          [&] {
            Blobs<H>::unlink(root_->filling, blob);
            Blobs<H>::link(root_->garbage, blob);
          },
          commit);
      static_cast<void>(status.ok());
    }
  }
  static_cast<void>(drain(commit).ok());
}

/// Frees up to `most` long values of the list `garbage`, a bounded number of pieces in each
/// transaction.
template <class H>
holdfast::Status Store<H>::drain(Commit commit, size_t most) {
  const Blob<H>* checked = nullptr;
  for (size_t left = most; left > 0;) {
    bool more = false;
    bool freed = false;
    const Status status = heap_.update(
        [&] {
          Blob<H>* const blob = root_->garbage;
          more = blob != nullptr;
          if (more) {
            if (blob != checked) {
              Blobs<H>::check(blob);  // a chain that leads to itself would never be free
            }
            freed = Blobs<H>::free_some(root_->garbage, blob, limits_.pieces_freed);
          }
          checked = blob;
        },
        commit);
    if (!status.ok()) {
      return status;
    }
    left = more ? left - (freed ? 1 : 0) : 0;
  }
  return {};
}

/// Ends beside threads that replace more and more: it frees at most as many versions and long
/// values as there were.
template <class H>
holdfast::Status Store<H>::collect(Commit commit) {
  if (in_transaction() || forked_child()) {
    return check_process();
  }
  const int self = heap_.machine().self();
  const auto most = static_cast<size_t>(limits_.versions_freed);
  Status status = adopt_nested(commit);
  int again = 3;  // for older marks, for a queue's other versions, for those moved meanwhile
  for (size_t left = await_views(); left > 0 && status.ok();) {
    Share share(backlog_, self, backlog_.take_any(std::min(left, most)));
    if (share.get()->empty()) {
      left = --again > 0 ? await_views() : 0;
      continue;
    }
    status = heap_.update([&] { versions(share.get()).free_some(most); }, commit);
    left -= std::min(left, share.get()->gone());
    share.put(status.ok());
  }
  if (!status.ok()) {
    return status;
  }
  auto garbage = heap_.read([&] {
    const HeapBounds<H> bounds;
    CycleCheck cycle;
    size_t n = 0;
    for (const Blob<H>* blob = root_->garbage; blob != nullptr; blob = blob->next) {
      cycle.arrive(bounds.check(blob));
      ++n;
    }
    return n;
  });
  return garbage ? drain(commit, *garbage) : garbage.status();
}

/// Moves the versions that were replaced inside other transactions to the backlog, as many as there
/// are now.
template <class H>
holdfast::Status Store<H>::adopt_nested(Commit commit) {
  std::vector<size_t> nested(slots_);
  Status status = heap_.read([&] {
    for (size_t i = 0; i < slots_; ++i) {
      nested[i] = length(slot(i).nested);
    }
  });
  for (size_t i = 0; i < slots_; ++i) {
    for (size_t left = nested[i]; left > 0 && status.ok();) {
      const size_t most = std::min(left, static_cast<size_t>(limits_.versions_freed));
      bool more = false;
      Share share(backlog_, heap_.machine().self(), std::make_unique<BacklogShare>());
      status = heap_.update([&] { more = versions(share.get()).adopt(i, most); }, commit);
      share.put(status.ok());
      left = more ? left - most : 0;
    }
  }
  return status;
}

}  // namespace holdfast::db
