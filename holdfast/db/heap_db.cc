// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/heap_db.h"

#include <utility>
#include <vector>

#include "holdfast/db/heap_iterator.h"
#include "holdfast/db/heap_transaction.h"

namespace holdfast::db {
namespace {

class StoreTransaction final : public Transaction {
 public:
  StoreTransaction(Store<HeapDB::H>& store, Versions<HeapDB::H>& versions)
      : store_(store), versions_(versions) {}

  Status Get(const Slice& key, std::string* value) override {
    versions_.hold_key(key);
    const auto* version = versions_.find(key, nullptr);
    if (version == nullptr) {
      return Status::NotFound("the key is not in the database");
    }
    Versions<HeapDB::H>::load_value(version, value);
    return Status::OK();
  }
  void Put(const Slice& key, const Slice& value) override {
    store_.apply(versions_, {key, value, false});
  }
  void Delete(const Slice& key) override { store_.apply(versions_, {key, {}, true}); }

 private:
  Store<HeapDB::H>& store_;
  Versions<HeapDB::H>& versions_;
};

/// Takes a body's Status out of the transaction it cancels.
struct Cancelled {
  Status status;
};

class Changes final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override { list.push_back({key, value, false}); }
  void Delete(const Slice& key) override { list.push_back({key, {}, true}); }
  std::vector<Change> list;
};

}  // namespace

HeapDB::~HeapDB() {
  if (heap_->machine().forked_child()) {
    // The mappings do not exist here, and locks may be held for ever: left to the system.
    static_cast<void>(store_.release());
    static_cast<void>(heap_.release());
  }
}

Status HeapDB::Put(const WriteOptions& /*options*/, const Slice& key, const Slice& value) {
  return translated(store_->write({{key, value, false}}));
}

Status HeapDB::Delete(const WriteOptions& /*options*/, const Slice& key) {
  return translated(store_->write({{key, {}, true}}));
}

Status HeapDB::Write(const WriteOptions& /*options*/, WriteBatch* updates) {
  Changes changes;
  if (updates != nullptr) {
    if (Status status = updates->Iterate(&changes); !status.ok()) {
      return status;
    }
  }
  return translated(store_->write(changes.list));
}

Status HeapDB::Get(const ReadOptions& options, const Slice& key, std::string* value) {
  return translated(store_->get(key, view_of(options.snapshot), value));
}

Status HeapDB::RunTransaction(const std::function<Status(Transaction&)>& body) {
  try {
    return translated(store_->update([&](Versions<H>& versions) {
      StoreTransaction transaction(*store_, versions);
      if (Status status = body(transaction); !status.ok()) {
        throw Cancelled{std::move(status)};
      }
    }));
  } catch (const Cancelled& cancelled) {
    return cancelled.status;
  }
}

OptimisticTransaction* HeapDB::BeginTransaction() {
  auto view = store_->open_view();
  return view ? new HeapTransaction(*store_, *view) : nullptr;
}

Iterator* HeapDB::NewIterator(const ReadOptions& options) {
  if (options.snapshot != nullptr) {
    return new HeapIterator(*store_, view_of(options.snapshot), false);
  }
  auto view = store_->open_view();
  return view ? new HeapIterator(*store_, *view, true)
              : NewErrorIterator(translated(view.status()));
}

const Snapshot* HeapDB::GetSnapshot() {
  auto view = store_->open_view();
  // LevelDB's interface has no room for a failure; null reads the present state.
  return view ? new HeapSnapshot(*view) : nullptr;
}

void HeapDB::ReleaseSnapshot(const Snapshot* snapshot) {
  if (snapshot != nullptr) {
    const auto* mine = static_cast<const HeapSnapshot*>(snapshot);
    store_->close_view(mine->view);
    delete mine;
  }
}

void HeapDB::GetApproximateSizes(const Range* range, int n, uint64_t* sizes) {
  for (int i = 0; i < n; ++i) {
    auto bytes = store_->bytes_between(range[i].start, range[i].limit);
    sizes[i] = bytes ? *bytes : 0;
  }
}

void HeapDB::CompactRange(const Slice* /*begin*/, const Slice* /*end*/) {
  static_cast<void>(store_->collect().ok());
}

Status HeapDB::ChangesSince(uint64_t sequence,
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

Status HeapDB::Verify() {
  return translated(check());
}

holdfast::Status HeapDB::check() {
  auto found = heap_->check([&](const BlockVisitor& visit) { store_->visit_blocks(visit); });
  if (!found) {
    return found.status();
  }
  if (found->ok()) {
    return {};
  }
  return {Code::corrupt, found->errors.empty()
                             ? std::to_string(found->leaked_blocks) + " blocks belong to nobody"
                             : found->errors.front()};
}

}  // namespace holdfast::db
