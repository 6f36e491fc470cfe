// SPDX-License-Identifier: Apache-2.0
//
// The options of opening, reading and writing a database.
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

/// The engine of a new database for which Options names none.
inline constexpr const char* kDefaultEngine = "romulus-log";

/// How a database is opened.
///
/// The first group of members is LevelDB's and has LevelDB's meaning. The second group has no
/// effect: it tunes log files, tables and block caches, and a heap has none. It is there so that
/// programs for LevelDB compile. The third group is Holdfast's own.
struct Options {
  const Comparator* comparator = BytewiseComparator();
  bool create_if_missing = false;
  bool error_if_exists = false;
  /// Walks the whole heap when the database is opened, and refuses to open a damaged one. Compares
  /// all pages with their checksums, if the file has them.
  bool paranoid_checks = false;

  // Accepted, without effect.
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

  // Holdfast's own. The file records the first members when it is created. Opening an existing file
  // takes those that are not set from there. A value that contradicts the file is InvalidArgument.
  /// The engine; see `holdfast engines`. Empty: that of the file, or kDefaultEngine for a new one.
  std::string engine = {};
  /// Options of the engine, like {"log_bytes", "16777216"}. Those given for a new file are fixed.
  /// An existing file takes further ones for this opening, unless they lay out the file.
  std::map<std::string, std::string> engine_options = {};
  size_t initial_bytes = 384 << 10;  ///< initial size of the data; no effect on an existing file
  /// The limit of growth. A new file: 0 means 1 TiB, or as much as the process has room for. An
  /// existing one: 0 means the recorded limit; a larger one is recorded; a smaller one is refused.
  size_t max_bytes = 0;
  /// The most that a journal takes, from 64 KiB, rounded up to pages. It makes durable writes in
  /// domain `file` cheaper, and is not used in other domains. Not with each engine. A new file: 0
  /// means none; not set means 64 MiB on a disk, and none in other domains, on file systems in
  /// memory, and with engines that do not run over a journal or rewrite the heap (`romulus`). An
  /// existing file: not set means the recorded size; another one is refused.
  std::optional<size_t> journal_bytes = {};
  /// Threads with a place of their own, 1 to 255. A new file: 0 means 64. An existing one: 0, or a
  /// number below the recorded one, means that one; a larger number is recorded.
  int max_threads = 0;
  /// Bytes of changes kept for DB::ChangesSince; 0 turns the feed off. Not set: the file's setting
  /// stays. With a feed, updates do not run in parallel, whatever the engine.
  std::optional<size_t> change_feed_bytes = {};
  /// The most writes with WriteOptions::sync false that a crash may take. These are always the last
  /// ones. 0: none, so sync has no effect. It holds until the database is closed. No effect on an
  /// engine that cannot lag; over a journal each one can. Property "holdfast.lag" tells the limit
  /// in force. A long value counts as several writes.
  uint64_t lag = 1024;
  /// The age in milliseconds, from 1, at which such a write is made durable in the background.
  uint64_t lag_ms = 100;
  /// Leaves the file unchanged: recovery happens in memory. Other processes may open the file
  /// read-only at the same time; none may open it for writing.
  bool read_only = false;
  /// The failures that an acknowledged write survives. Not set: the strongest domain the medium
  /// offers (README).
  std::optional<Domain> domain = {};
  /// Allows `domain` pmem or eadr on a file that is not on persistent memory. The database executes
  /// the write-backs and fences, but nothing survives a power cut: the domain is emulated, and
  /// property "holdfast.domain" says so. Without it such a domain is refused.
  bool force = false;
};

/// How a named map is created, with RocksDB's name. Only `comparator` counts; it must be the
/// bytewise one.
using ColumnFamilyOptions = Options;

/// How a database is read.
struct ReadOptions {
  /// Compares each page that the read needs with its checksum, and is Corruption if one differs. In
  /// a file with page checksums, which a new file with a journal has; else without effect.
  bool verify_checksums = false;
  bool fill_cache = true;              ///< without effect
  const Snapshot* snapshot = nullptr;  ///< null: the state at the time of the call

  // RocksDB's. They limit iterators; the iterator copies them.
  const Slice* iterate_lower_bound = nullptr;  ///< the first key; null: no limit
  const Slice* iterate_upper_bound = nullptr;  ///< behind the last key; null: no limit
};

/// How a database is written.
struct WriteOptions {
  /// True: the write, and all before it, are durable when it returns. False: a crash may take it,
  /// within the limits of Options::lag and lag_ms, until DB::Sync or a later write with sync
  /// returns. An engine that cannot lag makes it durable at once. The default differs from
  /// LevelDB's.
  bool sync = true;
};

}  // namespace holdfast::db
