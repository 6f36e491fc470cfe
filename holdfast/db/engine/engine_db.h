// SPDX-License-Identifier: Apache-2.0
//
// The database over one engine. CMake generates one source file per engine that includes this.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/engine/db_engines.h"
#include "holdfast/db/engine/heap_db.h"
#include "holdfast/db/engine/snapshot_ages.h"
#include "holdfast/db/store/store.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast::db {

/// The database over engine E: connects LevelDB's interface to Store.
template <class E>
class EngineDB final : public HeapDB {
  using H = Heap<E>;

 public:
  ~EngineDB() override;
  static DbEngine::Opened open(const Options& options, const std::string& name,
                               const CreateOptions* create);
  static holdfast::Status try_heap(const Options& options, const std::string& name);

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
  Status Delete(const WriteOptions& options, const Slice& key) override;
  Status Write(const WriteOptions& options, WriteBatch* updates) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
  OptimisticTransaction* BeginTransaction() override;
  Iterator* NewIterator(const ReadOptions& options) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  void CompactRange(const Slice* begin, const Slice* end) override;
  Status Sync() override { return translated(store_->fence()); }
  Status Compact(uint64_t* returned) override;
  Status ChangesSince(
      uint64_t sequence,
      const std::function<bool(uint64_t sequence, const WriteBatch& changes)>& see) override;

  holdfast::Status check() override;
  holdfast::Result<uint64_t> verify_pages() override { return heap_->verify_pages(); }

 private:
  EngineDB(KeySpace::Kind kind, std::unique_ptr<H> heap, std::unique_ptr<Store<H>> store)
      : HeapDB(kind), heap_(std::move(heap)), store_(std::move(store)) {}
  static DbEngine::Opened open_store(const Options& options, const std::string& name,
                                     holdfast::Result<std::unique_ptr<H>> heap);
  Status RunTransaction(const WriteOptions& options,
                        const std::function<Status(Transaction&)>& body) override;
  Status WriteToMap(const WriteOptions& options, const ColumnFamilyHandle* family, const Slice& key,
                    const Slice* value) override;
  Status get_stored(const ReadOptions& options, const Slice& key, std::string* value) override;
  Iterator* iterate_stored(const ReadOptions& options) override;
  uint64_t stored_bytes(const Slice& from, const Slice& to) override;
  template <class WriteIf>
  Status write_to(const std::vector<std::shared_ptr<NamedMap>>& maps, WriteIf&& write_if);

  const Description& engine() const override { return heap_->description(); }
  const Superblock& superblock() const override { return heap_->superblock(); }
  const NativeMedium& medium() const override { return heap_->machine().medium(); }
  const Comparator* comparator() const override { return store_->comparator(); }
  Statistics statistics() const override { return heap_->statistics(); }
  size_t open_views() const override { return store_->open_views(); }
  holdfast::Result<uint64_t> sequence() override { return store_->sequence(); }
  holdfast::Result<uint64_t> durable_sequence() override;
  uint64_t lag() const override { return heap_->promise().bound; }
  holdfast::PendingUpdates pending() override { return heap_->pending(); }
  double milliseconds(uint64_t ticks) const override {
    return static_cast<double>(ticks) / static_cast<double>(heap_->machine().ticks_of_ms(1));
  }
  holdfast::Result<uint64_t> old_versions() override { return store_->old_versions(); }
  holdfast::Result<HeapSpace> space() override { return heap_->space(); }
  holdfast::Status collect() override { return store_->collect(); }
  double oldest_snapshot_seconds() const override { return ages_.oldest_seconds(); }
  Status check_process() const override { return translated(store_->check_process()); }

  SnapshotAges ages_;
  std::unique_ptr<H> heap_;
  std::unique_ptr<Store<H>> store_;
};

/// The row of engine E in db_engines().
template <class E>
DbEngine db_engine() {
  if constexpr (E::kDescription.durability == Durability::none) {
    return {&E::kDescription, nullptr, nullptr};
  } else {
    return {&E::kDescription, &EngineDB<E>::open, &EngineDB<E>::try_heap};
  }
}

}  // namespace holdfast::db

#include "holdfast/db/engine/engine_db-inl.h"
