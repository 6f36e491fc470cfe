// SPDX-License-Identifier: Apache-2.0
//
// LevelDB with default options, so with compression and a block cache of 8 MiB. A write without
// sync reaches the operating system before it returns, so it survives a killed process.
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/write_batch.h>

#include "bench/peers/log_structured.h"
#include "bench/peers/plug_in.h"

namespace holdfast::store_bench {
namespace {

struct LevelDb {
  using DB = leveldb::DB;
  using Iterator = leveldb::Iterator;
  using Slice = leveldb::Slice;
  using WriteBatch = leveldb::WriteBatch;
  using WriteOptions = leveldb::WriteOptions;
  using ReadOptions = leveldb::ReadOptions;
  using Value = std::string;
  static leveldb::Status get(DB& db, const Slice& key, Value* value) {
    return db.Get({}, key, value);
  }
};

class LevelDbStore final : public LogStructuredStore<LevelDb> {
 public:
  LevelDbStore(const std::string& path, int /*threads*/) {
    // The first thread that schedules work starts the compaction thread, which runs on that
    // thread's processors. This call makes it a thread that is not pinned.
    leveldb::Env::Default()->Schedule([](void*) {}, nullptr);
    leveldb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    leveldb::DB* opened = nullptr;
    check(leveldb::DB::Open(options, path, &opened));
    db_.reset(opened);
  }
};

const std::string& version() {
  static const std::string text =
      std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  return text;
}

}  // namespace
}  // namespace holdfast::store_bench

HOLDFAST_PEER(holdfast::store_bench::LevelDbStore, holdfast::store_bench::version().c_str())
