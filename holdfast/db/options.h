// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "holdfast/db/comparator.h"
#include "holdfast/db/env.h"
#include "holdfast/machine/machine.h"

namespace holdfast::db {

class Cache;
class FilterPolicy;
class Snapshot;

enum CompressionType { kNoCompression = 0x0, kSnappyCompression = 0x1, kZstdCompression = 0x2 };

/// How a database is opened. The first part is LevelDB's and means the same here; the second is
/// accepted for LevelDB's sake and has no effect: what it tunes (log files, tables, block caches)
/// does not exist here. The third is Holdfast's own.
struct Options {
  const Comparator* comparator = BytewiseComparator();
  bool create_if_missing = false;
  bool error_if_exists = false;
  /// Also walks the whole heap when the database is opened, and refuses it if something is wrong.
  bool paranoid_checks = false;

  // Without effect.
  Env* env = Env::Default();
  Logger* info_log = nullptr;
  size_t write_buffer_size = size_t{4} << 20;
  int max_open_files = 1000;
  Cache* block_cache = nullptr;
  size_t block_size = size_t{4} << 10;
  int block_restart_interval = 16;
  size_t max_file_size = size_t{2} << 20;
  CompressionType compression = kNoCompression;
  int zstd_compression_level = 1;
  bool reuse_logs = false;
  const FilterPolicy* filter_policy = nullptr;

  // Holdfast's. Those marked (new) are decided when the file is made, and recorded in it.
  std::string engine = "romulus-log";                      ///< (new) any of `holdfast engines`
  std::map<std::string, std::string> engine_options = {};  ///< (new) like {"log_bytes", "16777216"}
  size_t initial_bytes = 16 << 20;                         ///< (new) the file grows by as much
  size_t max_bytes = size_t{8} << 30;                      ///< (new) the file never grows beyond
  int max_threads = 64;                                    ///< (new) at the same time, 1 to 255
  /// Bytes of changes to keep for DB::ChangesSince, 0 for no feed; not set: as the file had it.
  /// With a feed no two updates run in parallel, whatever the engine.
  std::optional<size_t> change_feed_bytes = {};
  /// Changes nothing, in the file least of all; others may read it meanwhile, and nobody may write.
  bool read_only = false;
  /// What an acknowledged write survives; none: the strongest the medium offers (README).
  std::optional<Domain> domain = {};
};

struct ReadOptions {
  bool verify_checksums = false;       ///< without effect
  bool fill_cache = true;              ///< without effect
  const Snapshot* snapshot = nullptr;  ///< null: the state at the time of the call
};

struct WriteOptions {
  /// A write is durable when it returns, whatever this says. The default is true, unlike LevelDB's,
  /// because that is what happens.
  bool sync = true;
};

}  // namespace holdfast::db
