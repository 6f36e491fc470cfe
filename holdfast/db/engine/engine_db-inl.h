// SPDX-License-Identifier: Apache-2.0
//
// The members of EngineDB. Included by engine_db.h only.
#pragma once

#include <utility>
#include <vector>

#include "holdfast/db/engine/body_iterator.h"
#include "holdfast/db/engine/bounded_iterator.h"
#include "holdfast/db/engine/heap_iterator.h"
#include "holdfast/db/engine/heap_transaction.h"
#include "holdfast/db/engine/native_options.h"
#include "holdfast/db/store/store_audit.h"

namespace holdfast::db {

template <class H>
class StoreTransaction final : public Transaction {
 public:
  StoreTransaction(Store<H>& store, Versions<H>& versions) : store_(store), versions_(versions) {}

  Status Get(const Slice& key, std::string* value) override {
    versions_.hold_key(key);
    const auto* version = versions_.find(key, nullptr);
    if (version == nullptr) {
      return no_such_key();
    }
    Versions<H>::load_value(version, value);
    return Status::OK();
  }
  void Put(const Slice& key, const Slice& value) override { apply({key, value, false}); }
  void Delete(const Slice& key) override { apply({key, {}, true}); }
  Status DeleteRange(const Slice& begin, const Slice& end) override {
    return delete_range(*this, store_.comparator(), begin, end);
  }
  Iterator* NewIterator() override { return new BodyIterator<H>(store_, writes_); }

 private:
  void apply(const Change& change) {
    ++writes_;
    store_.apply(versions_, change);
  }

  Store<H>& store_;
  Versions<H>& versions_;
  uint64_t writes_ = 0;
};

/// The exception that carries a body's Status out of the transaction that it cancels.
struct Cancelled {
  Status status;
};

class BatchChanges final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override { list.push_back({key, value, false}); }
  void Delete(const Slice& key) override { list.push_back({key, {}, true}); }
  std::vector<Change> list;
};

template <class E>
EngineDB<E>::~EngineDB() {
  if (heap_->machine().forked_child()) {
    // A forked child has no mappings of the heap, and locks may stay held for ever. So the child
    // frees nothing; the operating system does.
    static_cast<void>(store_.release());
    static_cast<void>(heap_.release());
  }
}

template <class E>
DbEngine::Opened EngineDB<E>::open(const Options& options, const std::string& name,
                                   const CreateOptions* create) {
  const NativeOptions native = native_options(options);
  OpenOptions open;
  open.max_bytes = options.max_bytes;
  auto heap = create == nullptr ? H::open(name, open, native) : H::create(name, *create, native);
  if (!heap) {
    return heap.status();
  }
  if (options.paranoid_checks) {  // before Store::open follows any pointer
    if (const holdfast::Status status = StoreAudit<H>::run(**heap, options.comparator);
        !status.ok()) {
      return holdfast::Status(status.code(), name + ": " + status.message());
    }
  }
  StoreLimits limits;
  limits.feed_bytes = options.change_feed_bytes;
  auto store = Store<H>::open(**heap, options.comparator, limits, options.read_only);
  if (!store) {
    return holdfast::Status(store.status().code(), name + ": " + store.status().message());
  }
  return std::unique_ptr<HeapDB>(new EngineDB(std::move(*heap), std::move(*store)));
}

template <class E>
holdfast::Status EngineDB<E>::try_heap(const Options& options, const std::string& name) {
  NativeOptions native = native_options(options);
  native.domain = Domain::process;  // nothing is written
  return H::open(name, {}, native).status();
}

template <class E>
Status EngineDB<E>::Put(const WriteOptions& /*options*/, const Slice& key, const Slice& value) {
  return translated(store_->write(Change{key, value, false}));
}

template <class E>
Status EngineDB<E>::Delete(const WriteOptions& /*options*/, const Slice& key) {
  return translated(store_->write(Change{key, {}, true}));
}

template <class E>
Status EngineDB<E>::Write(const WriteOptions& /*options*/, WriteBatch* updates) {
  BatchChanges changes;
  if (updates != nullptr) {
    if (Status status = updates->Iterate(&changes); !status.ok()) {
      return status;
    }
  }
  return translated(store_->write(changes.list));
}

template <class E>
Status EngineDB<E>::Get(const ReadOptions& options, const Slice& key, std::string* value) {
  return answer(store_->get(key, view_of<H>(options.snapshot), value));
}

template <class E>
Status EngineDB<E>::RunTransaction(const std::function<Status(Transaction&)>& body) {
  try {
    return translated(store_->update([&](Versions<H>& versions) {
      StoreTransaction<H> transaction(*store_, versions);
      if (Status status = body(transaction); !status.ok()) {
        throw Cancelled{std::move(status)};
      }
    }));
  } catch (const Cancelled& cancelled) {
    return cancelled.status;
  }
}

template <class E>
OptimisticTransaction* EngineDB<E>::BeginTransaction() {
  auto view = store_->open_view();
  return view ? new HeapTransaction<H>(*store_, *view) : nullptr;
}

template <class E>
Iterator* EngineDB<E>::NewIterator(const ReadOptions& options) {
  const auto* view = view_of<H>(options.snapshot);
  if (view != nullptr) {
    Store<H>::share_view(view);  // the snapshot may be released before the iterator ends
  } else {
    auto opened = store_->open_brief_view();
    if (!opened) {
      return NewErrorIterator(translated(opened.status()));
    }
    view = *opened;
  }
  return bounded(new HeapIterator<H>(*store_, view), options, store_->comparator());
}

template <class E>
const Snapshot* EngineDB<E>::GetSnapshot() {
  auto view = store_->open_view();
  // LevelDB's interface cannot report a failure; a null snapshot reads the present state.
  return view ? new HeapSnapshot<H>(*view) : nullptr;
}

template <class E>
void EngineDB<E>::ReleaseSnapshot(const Snapshot* snapshot) {
  if (snapshot != nullptr) {
    const auto* mine = static_cast<const HeapSnapshot<H>*>(snapshot);
    store_->close_view(mine->view);
    delete mine;
  }
}

template <class E>
void EngineDB<E>::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
  for (int i = 0; i < n; ++i) {
    auto bytes = store_->bytes_between(range[i].start, range[i].limit);
    sizes[i] = bytes ? *bytes : 0;
  }
}

template <class E>
void EngineDB<E>::CompactRange(const Slice* /*begin*/, const Slice* /*end*/) {
  static_cast<void>(store_->collect().ok());
}

template <class E>
Status EngineDB<E>::ChangesSince(uint64_t sequence,
                                 const std::function<bool(uint64_t, const WriteBatch&)>& see) {
  for (;; ++sequence) {
    WriteBatch changes;
    bool found = false;
    const holdfast::Status status = store_->change_after(sequence, &changes, &found);
    if (!status.ok() || !found || !see(sequence + 1, changes)) {
      return translated(status);
    }
  }
}

template <class E>
holdfast::Status EngineDB<E>::check() {
  return StoreAudit<H>::run(*heap_, store_->comparator());
}

}  // namespace holdfast::db
