// SPDX-License-Identifier: Apache-2.0
//
// The members of EngineDB. Included by engine_db.h only.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "holdfast/db/engine/body_iterator.h"
#include "holdfast/db/engine/bounded_iterator.h"
#include "holdfast/db/engine/heap_iterator.h"
#include "holdfast/db/engine/heap_transaction.h"
#include "holdfast/db/engine/map_iterator.h"
#include "holdfast/db/engine/mapped_transaction.h"
#include "holdfast/db/engine/maps_exist.h"
#include "holdfast/db/engine/native_options.h"
#include "holdfast/db/store/store_audit.h"
#include "holdfast/heap/heap_page_guard.h"

namespace holdfast::db {

/// The exception that carries a body's Status out of the transaction that it cancels.
struct Cancelled {
  Status status;
};

/// Throws what an operation of the body has asked for, if that is more room: then the transaction
/// runs again, whatever the body has made of the exception.
template <class M>
void repeat_if_asked() {
  if (const auto& failure = static_cast<const Context*>(M::context())->nested_failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const GrowthNeeded&) {
      throw;
    } catch (const LoanNeeded&) {
      throw;
    } catch (...) {  // the body's own result tells of it
    }
  }
}

/// Each operation that can fail is a nested transaction. So the transaction does not commit after a
/// failure, even if the body swallows the exception.
template <class H>
class StoreTransaction final : public MappedTransaction<Transaction> {
 public:
  StoreTransaction(Store<H>& store, KeySpace& keys, Versions<H>& versions)
      : MappedTransaction(keys, store.comparator()), store_(store), versions_(versions) {}

 private:
  Status get_stored(const Slice& key, std::string* value) override {
    bool found = false;
    auto load = [&] {
      versions_.hold_key(key);
      const auto* version = versions_.find(key, nullptr);
      found = version != nullptr;
      if (found) {
        Versions<H>::load_value(version, value);
      }
    };
    store_.heap().read(load).check();
    return found ? Status::OK() : no_such_key();
  }
  void write_stored(const Slice& key, const Slice* value) override {
    ++writes_;
    auto apply = [&] {
      store_.apply(versions_, {key, value == nullptr ? Slice() : *value, value == nullptr});
    };
    store_.heap().update(apply).check();
  }
  Iterator* iterate_stored(const ColumnFamilyHandle* /*family*/) override {
    return new BodyIterator<H>(store_, writes_);
  }
  void need(const std::shared_ptr<NamedMap>& map) override {
    if (std::find(existing_.begin(), existing_.end(), map.get()) == existing_.end()) {
      bool missing = false;
      auto look = [&] { missing = MapsExist({map}).first_missing(versions_) != nullptr; };
      store_.heap().read(look).check();
      if (missing) {
        refuse(KeySpace::dropped(map->name));
      }
      existing_.push_back(map.get());
    }
  }
  void refuse(Status status) override {
    auto cancel = [&] { throw Cancelled{std::move(status)}; };
    store_.heap().read(cancel).check();
  }

  Store<H>& store_;
  Versions<H>& versions_;
  uint64_t writes_ = 0;
  std::vector<const NamedMap*> existing_;  ///< named maps that exist, as this transaction has read
};

template <class E>
EngineDB<E>::~EngineDB() {
  if (heap_->machine().forked_child()) {
    // A forked child has no mappings of the heap, and locks may stay held for ever. So the child
    // frees nothing; the operating system does. It closes the file, whose lock it shares.
    static_cast<void>(heap_->close());
    static_cast<void>(store_.release());
    static_cast<void>(heap_.release());
  }
}

inline Commit commit_of(const WriteOptions& options) {
  return options.sync ? Commit::durable : Commit::later;
}

/// Returns a status with the file's name in front.
inline holdfast::Status of_file(const std::string& name, const holdfast::Status& status) {
  const bool has_name = status.message().rfind(name, 0) == 0;
  return {status.code(), has_name ? status.message() : name + ": " + status.message()};
}

template <class E>
DbEngine::Opened EngineDB<E>::open(const Options& options, const std::string& name,
                                   const CreateOptions* create) {
  NativeOptions native = native_options(options);
  if (create != nullptr) {
    return open_store(options, name, H::create(name, *create, native));
  }
  OpenOptions open;
  open.options = options.engine_options;
  open.max_bytes = options.max_bytes;
  // The store gets more slots before the heap does. If it fails to, the file opens as before.
  native.max_threads = 0;
  auto opened = open_store(options, name, H::open(name, open, native));
  if (!opened || options.read_only) {
    return opened;
  }
  const uint32_t slots = static_cast<const EngineDB&>(**opened).superblock().slots;
  if (static_cast<int>(slots) > options.max_threads) {
    return opened;
  }
  opened.value().reset();
  native.max_threads = options.max_threads;
  return open_store(options, name, H::open(name, open, native));
}

/// Returns the time; it is larger than the number of changes that any database has had.
inline uint64_t microseconds_since_epoch() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

/// Opens the store in the heap, if that has been opened.
template <class E>
DbEngine::Opened EngineDB<E>::open_store(const Options& options, const std::string& name,
                                         holdfast::Result<std::unique_ptr<H>> heap) {
  if (!heap) {
    return heap.status();
  }
  if (options.paranoid_checks) {  // before Store::open follows any pointer
    holdfast::Status status = (*heap)->verify_pages().status();
    if (status.ok()) {
      status = StoreAudit<H>::run(**heap, options.comparator);
    }
    if (!status.ok()) {
      return of_file(name, status);
    }
  }
  StoreLimits limits;
  limits.feed_bytes = options.change_feed_bytes;
  limits.feed_begin = microseconds_since_epoch();
  limits.slots = static_cast<size_t>(options.max_threads) + 1;  // one slot is the machine's own
  auto store = Store<H>::open(**heap, options.comparator, limits, options.read_only);
  if (!store) {
    return of_file(name, store.status());
  }
  const bool bytewise = std::string(options.comparator->Name()) == BytewiseComparator()->Name();
  const auto kind = !bytewise                ? KeySpace::Kind::own_comparator
                    : (*store)->plain_keys() ? KeySpace::Kind::old_file
                                             : KeySpace::Kind::with_maps;
  std::unique_ptr<EngineDB> opened(new EngineDB(kind, std::move(*heap), std::move(*store)));
  if (const Status status = opened->start_maps(options.read_only); !status.ok()) {
    return of_file(name, {status.code(), status.message()});
  }
  return std::unique_ptr<HeapDB>(std::move(opened));
}

template <class E>
holdfast::Status EngineDB<E>::try_heap(const Options& options, const std::string& name) {
  NativeOptions native = native_options(options);
  native.read_only = true;  // recovers in memory: another program's heap stays as it is
  native.domain = Domain::process;
  native.max_threads = 0;
  auto heap = H::open(name, {}, native);
  if (!heap) {
    return heap.status();
  }
  bool plain_keys = false;
  const Code found = find_store_root(**heap, &plain_keys).status().code();
  if (found == Code::not_found && !(*heap)->list_roots().empty()) {
    return of_file(name, {Code::wrong_format, "the heap holds something else than a database"});
  }
  return {};
}

template <class E>
Status EngineDB<E>::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  if (keys().escapes(key)) [[unlikely]] {
    return WriteToMap(options, nullptr, key, &value);
  }
  return translated(store_->write(Change{key, value, false}, nullptr, commit_of(options)));
}

template <class E>
Status EngineDB<E>::Delete(const WriteOptions& options, const Slice& key) {
  if (keys().escapes(key)) [[unlikely]] {
    return WriteToMap(options, nullptr, key, nullptr);
  }
  return translated(store_->write(Change{key, {}, true}, nullptr, commit_of(options)));
}

template <class E>
Status EngineDB<E>::Write(const WriteOptions& options, WriteBatch* updates) {
  const WriteBatch none;
  const WriteBatch& batch = updates == nullptr ? none : *updates;
  std::vector<Change> changes;
  bool names = false;
  if (Status status = stored_changes(batch, &changes, &names); !status.ok()) {
    return status;
  }
  const auto write = [&] {
    return write_to(WriteBatchContents::maps(batch), [&](const auto* cancel_if) {
      return store_->write(changes, cancel_if, commit_of(options));
    });
  };
  return names ? change_names(changes, write) : write();
}

template <class E>
Status EngineDB<E>::WriteToMap(const WriteOptions& options, const ColumnFamilyHandle* family,
                               const Slice& key, const Slice* value) {
  if (Status status = keys().readable(family, false); !status.ok()) {
    return status;
  }
  std::vector<std::shared_ptr<NamedMap>> maps;
  if (!KeySpace::is_default(family)) {
    maps.push_back(family->map());
  }
  std::string buffer;
  const Slice stored = keys().stored(family, key, &buffer);
  keys().note_write(stored);
  return write_to(maps, [&](const auto* cancel_if) {
    const Slice content = value == nullptr ? Slice() : *value;
    return store_->write(Change{stored, content, value == nullptr}, cancel_if, commit_of(options));
  });
}

/// Calls write_if(cancel_if), which writes unless one of the maps has been dropped.
template <class E>
template <class WriteIf>
Status EngineDB<E>::write_to(const std::vector<std::shared_ptr<NamedMap>>& maps,
                             WriteIf&& write_if) {
  const MapsExist exist(maps);
  const std::string* missing = nullptr;
  auto look = [&](const Versions<H>& now) {
    missing = exist.first_missing(now);
    return missing != nullptr;
  };
  const typename Store<H>::CancelIf cancel_if(look);
  const holdfast::Status status = write_if(exist.empty() ? nullptr : &cancel_if);
  return status.ok() && missing != nullptr ? KeySpace::dropped(*missing) : translated(status);
}

template <class E>
Status EngineDB<E>::Get(const ReadOptions& options, const Slice& key, std::string* value) {
  if (keys().escapes(key)) [[unlikely]] {
    return get_stored(options, kEscape + key.ToString(), value);
  }
  return get_stored(options, key, value);
}

template <class E>
Status EngineDB<E>::get_stored(const ReadOptions& options, const Slice& key, std::string* value) {
  if (options.verify_checksums) [[unlikely]] {
    HeapPageGuard<H> guard(*heap_);
    return answer(store_->get(key, view_of<H>(options.snapshot), value, nullptr, &guard));
  }
  return answer(store_->get(key, view_of<H>(options.snapshot), value));
}

template <class E>
Status EngineDB<E>::RunTransaction(const WriteOptions& options,
                                   const std::function<Status(Transaction&)>& body) {
  constexpr size_t kUnknown = 0;  // number of changes
  try {
    return translated(store_->update(
        [&](Versions<H>& versions) {
          StoreTransaction<H> transaction(*store_, keys(), versions);
          Status status;
          try {
            status = body(transaction);
          } catch (const TransactionAbort&) {
            throw;
          } catch (...) {
            repeat_if_asked<typename H::Machine>();
            throw;
          }
          if (!status.ok()) {
            repeat_if_asked<typename H::Machine>();
            throw Cancelled{std::move(status)};
          }
        },
        kUnknown, commit_of(options)));
  } catch (const Cancelled& cancelled) {
    return cancelled.status;
  }
}

template <class E>
OptimisticTransaction* EngineDB<E>::BeginTransaction() {
  auto view = store_->open_view();
  if (!view) {
    return nullptr;
  }
  HeldView<H> held(*view, {store_.get()});
  return new HeapTransaction<H>(*store_, keys(), std::move(held));
}

template <class E>
Iterator* EngineDB<E>::NewIterator(const ReadOptions& options) {
  std::unique_ptr<Iterator> all(iterate_stored(options));
  if (keys().has_escaped()) {
    all = std::make_unique<MapIterator>(std::move(all), nullptr);
  }
  return bounded(std::move(all), options, store_->comparator());
}

template <class E>
Iterator* EngineDB<E>::iterate_stored(const ReadOptions& options) {
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
  HeldView<H> held(view, {store_.get()});
  std::unique_ptr<PageGuard> guard;
  if (options.verify_checksums) {
    guard = std::make_unique<HeapPageGuard<H>>(*heap_);
  }
  return new HeapIterator<H>(*store_, std::move(held), std::move(guard));
}

template <class E>
const Snapshot* EngineDB<E>::GetSnapshot() {
  auto view = store_->open_view();
  if (!view) {
    return nullptr;  // LevelDB's interface has no errors here; null reads the present state
  }
  HeldView<H> held(*view, {store_.get()});
  return new HeapSnapshot<H>(std::move(held), ages_);
}

template <class E>
void EngineDB<E>::ReleaseSnapshot(const Snapshot* snapshot) {
  if (snapshot != nullptr && !store_->forked_child()) {
    delete static_cast<const HeapSnapshot<H>*>(snapshot);
  }
}

template <class E>
uint64_t EngineDB<E>::stored_bytes(const Slice& from, const Slice& to) {
  auto bytes = store_->bytes_between(from, to);
  return bytes ? *bytes : 0;
}

template <class E>
void EngineDB<E>::CompactRange(const Slice* /*begin*/, const Slice* /*end*/) {
  static_cast<void>(Compact(nullptr).ok());
}

template <class E>
Status EngineDB<E>::Compact(uint64_t* returned) {
  if (const holdfast::Status status = store_->collect(); !status.ok()) {
    return translated(status);
  }
  const holdfast::Result<uint64_t> bytes = heap_->compact();
  if (bytes.ok() && returned != nullptr) {
    *returned = bytes.value();
  }
  return translated(bytes.status());
}

template <class E>
Status EngineDB<E>::ChangesSince(uint64_t sequence,
                                 const std::function<bool(uint64_t, const WriteBatch&)>& see) {
  uint64_t durable = sequence;  // the changes up to this number are durable
  for (;; ++sequence) {
    WriteBatch changes;
    bool found = false;
    holdfast::Status status = store_->change_after(sequence, &changes, &found);
    if (status.ok() && found && sequence >= durable) {
      // A crash takes changes that are not durable, and others get their numbers.
      auto last = durable_sequence();
      status = last.status();
      durable = last ? *last : durable;
    }
    if (!status.ok() || !found || !see(sequence + 1, shown_changes(changes))) {
      return translated(status);
    }
  }
}

template <class E>
holdfast::Result<uint64_t> EngineDB<E>::durable_sequence() {
  auto last = sequence();
  holdfast::Status status = last.ok() ? store_->fence() : last.status();
  return status.ok() ? std::move(last) : std::move(status);
}

template <class E>
holdfast::Status EngineDB<E>::check() {
  return StoreAudit<H>::run(*heap_, store_->comparator());
}

}  // namespace holdfast::db
