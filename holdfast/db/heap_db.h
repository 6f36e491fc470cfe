// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "holdfast/db/db.h"
#include "holdfast/db/store.h"
#include "holdfast/engines/common/any_engine.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast::db {

/// The database on this computer. The engine is chosen by name when the file is made, and found in
/// the file afterwards, so the store is compiled once.
class HeapDB final : public DB {
 public:
  using H = Heap<AnyEngine<NativeMachine>>;

  ~HeapDB() override;
  static holdfast::Result<std::unique_ptr<HeapDB>> open(const Options& options,
                                                        const std::string& name);

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override;
  Status Delete(const WriteOptions& options, const Slice& key) override;
  Status Write(const WriteOptions& options, WriteBatch* updates) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override;
  OptimisticTransaction* BeginTransaction() override;
  Iterator* NewIterator(const ReadOptions& options) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  bool GetProperty(const Slice& property, std::string* value) override;
  void GetApproximateSizes(const Range* range, int n, uint64_t* sizes) override;
  void CompactRange(const Slice* begin, const Slice* end) override;
  Status Checkpoint(const std::string& file) override;
  Status ChangesSince(
      uint64_t sequence,
      const std::function<bool(uint64_t sequence, const WriteBatch& changes)>& see) override;
  Status Verify() override;

  /// Walks everything: damage, and blocks nobody owns.
  holdfast::Status check();

 private:
  HeapDB(std::unique_ptr<H> heap, std::unique_ptr<Store<H>> store)
      : heap_(std::move(heap)), store_(std::move(store)) {}
  Status RunTransaction(const std::function<Status(Transaction&)>& body) override;
  bool property(const std::string& name, std::string* value);
  std::string prometheus();
  Options same_kind() const;

  std::unique_ptr<H> heap_;
  std::unique_ptr<Store<H>> store_;
};

}  // namespace holdfast::db
