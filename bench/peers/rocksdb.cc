// SPDX-License-Identifier: Apache-2.0
//
// RocksDB with default options, so with compression and a block cache of 8 MiB. A write without
// sync reaches the operating system before it returns, so it survives a killed process.
#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include "bench/peers/log_structured.h"
#include "bench/peers/plug_in.h"

namespace holdfast::store_bench {
namespace {

/// A value that may stay in the store's memory, without a copy.
class Pinned {
 public:
  rocksdb::PinnableSlice* anew() {
    slice_.Reset();
    return &slice_;
  }
  const char* data() const { return slice_.data(); }
  size_t size() const { return slice_.size(); }

 private:
  rocksdb::PinnableSlice slice_;
};

struct RocksDb {
  using DB = rocksdb::DB;
  using Iterator = rocksdb::Iterator;
  using Slice = rocksdb::Slice;
  using WriteBatch = rocksdb::WriteBatch;
  using WriteOptions = rocksdb::WriteOptions;
  using ReadOptions = rocksdb::ReadOptions;
  using Value = Pinned;
  static rocksdb::Status get(DB& db, const Slice& key, Value* value) {
    return db.Get({}, db.DefaultColumnFamily(), key, value->anew());
  }
};

class RocksDbStore final : public LogStructuredStore<RocksDb> {
 public:
  RocksDbStore(const std::string& path, int /*threads*/) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    rocksdb::DB* opened = nullptr;
    check(rocksdb::DB::Open(options, path, &opened));
    db_.reset(opened);
  }
};

const std::string& version() {
  static const std::string text = std::to_string(ROCKSDB_MAJOR) + "." +
                                  std::to_string(ROCKSDB_MINOR) + "." +
                                  std::to_string(ROCKSDB_PATCH);
  return text;
}

}  // namespace
}  // namespace holdfast::store_bench

HOLDFAST_PEER(holdfast::store_bench::RocksDbStore, holdfast::store_bench::version().c_str())
