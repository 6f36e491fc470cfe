// SPDX-License-Identifier: Apache-2.0
//
// Opening and destroying a database: chooses the engine, and finds the file.
#include "holdfast/db/db.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "holdfast/base/catalogue.h"
#include "holdfast/db/engine/db_engines.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/heap/engine_factory.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast::db {
namespace {

constexpr int kMostThreads = 255;  // a stamp has one byte for the slot
// A small database has some chunks of each size class that it uses.
constexpr size_t kChunkBytes = 16 << 10;
constexpr size_t kLeastGrowth = 256 << 10;
/// The table of records is the largest part of a small database. With fewer records the table is
/// emptied more often, and a transaction takes its log in the heap sooner.
constexpr const char* kRecordsOption = "records";
constexpr const char* kFewRecords = "65536";
constexpr const char* kNotOverridden = "this class derived from DB does not override it";

/// Returns false only if nothing has this name. A file that may not be examined counts as there:
/// opening it reports the reason.
bool exists(const std::string& name) {
  struct stat ignored{};
  return stat(name.c_str(), &ignored) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool is_empty_file(const std::string& name) {
  struct stat found{};
  return stat(name.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0;
}

/// Returns ok for a directory in which a database may be made: an empty one.
holdfast::Status check_directory(const std::string& name) {
  std::error_code error;
  const bool empty = std::filesystem::is_empty(name, error);
  if (error) {
    return native::file_error(name, "cannot be read", error.value());
  }
  return empty ? holdfast::Status()
               : holdfast::Status(Code::invalid_argument,
                                  name +
                                      " is a directory with other files and no database; name a "
                                      "file, or an empty directory",
                                  EISDIR);
}

/// Returns the database's file for a file's or a directory's name. A database of LevelDB is a
/// directory, which the program may have made; there the file is "holdfast.db".
std::string file_of(const std::string& name) {
  struct stat found{};
  const bool directory = stat(name.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  return directory ? name + "/holdfast.db" : name;
}

holdfast::Result<const DbEngine*> find_engine(const std::string& name) {
  return find_row("engine", name, db_engines(), Code::invalid_argument);
}

holdfast::Status not_durable(const std::string& name) {
  return {Code::unsupported, "engine " + name +
                                 " keeps nothing over a crash; a database needs one that is "
                                 "durable, such as " +
                                 kDefaultEngine};
}

/// Returns the engine that the superblock names. Without a superblock, because it cannot be read,
/// returns the default engine: opening the file with it reports the reason.
const DbEngine& engine_of_file(const Superblock* file) {
  auto named = find_engine(file != nullptr ? file->engine : kDefaultEngine);
  return named.ok() ? *named.value() : *find_engine(kDefaultEngine).value();
}

/// Returns the error of an option that contradicts an existing file.
holdfast::Status fixed_option(const std::string& name, const std::string& has,
                              const std::string& given, const std::string& convert) {
  return {Code::invalid_argument, name + " has " + has + ", not " + given +
                                      ", and keeps it; leave the option out, or copy the file with "
                                      "`holdfast convert" +
                                      convert + "`"};
}

/// Returns the value that the file has for the engine's option: the recorded one, or the default.
std::string value_in_file(const Superblock& file, const OptionInfo& option) {
  const auto recorded = file.options.find(option.name);
  return recorded != file.options.end() ? recorded->second : option.fallback;
}

/// Returns the engine's options for a new file: those given, and else kFewRecords. Engines without
/// `any_size` keep their default, which bounds their transactions.
holdfast::Options new_file_options(const Options& options, const Description& engine) {
  holdfast::Options all = options.engine_options;
  for (const OptionInfo& option : engine.option_list()) {
    if (engine.any_size && option.name == std::string(kRecordsOption)) {
      all.emplace(kRecordsOption, kFewRecords);
    }
  }
  return all;
}

/// Checks the engine's options against those of the file. An option that was not given at creation
/// may differ if the file's layout does not depend on it.
holdfast::Status check_engine_options(const Options& options, const std::string& name,
                                      const Description& engine, const Superblock& file) {
  if (holdfast::Status status = check_option_names(engine, options.engine_options); !status.ok()) {
    return status;
  }
  auto bytes = engine.area_bytes(file.options, static_cast<int>(file.slots));
  for (const OptionInfo& option : engine.option_list()) {
    const auto given = options.engine_options.find(option.name);
    if (given == options.engine_options.end()) {
      continue;
    }
    const std::string has = value_in_file(file, option);
    holdfast::Options with = file.options;
    with[option.name] = given->second;
    auto bytes_with = engine.area_bytes(with, static_cast<int>(file.slots));
    if (!bytes_with) {
      return bytes_with.status();
    }
    const bool fixed = file.options.contains(option.name) || (bytes.ok() && *bytes != *bytes_with);
    if (fixed && given->second != has) {
      return fixed_option(name, "engine option " + std::string(option.name) + "=" + has,
                          given->second,
                          " --option " + std::string(option.name) + "=" + given->second);
    }
  }
  return {};
}

/// Checks that no option contradicts what an existing file has recorded.
holdfast::Status check_fixed_options(const Options& options, const std::string& name,
                                     const DbEngine& engine, const Superblock& file) {
  if (!options.engine.empty() && options.engine != file.engine) {
    const auto found = find_engine(options.engine);
    return found.ok() ? fixed_option(name, "engine " + file.engine, options.engine,
                                     " --engine " + options.engine)
                      : found.status();
  }
  if (options.max_bytes != 0 && options.max_bytes <= file.capacity - kPageBytes) {
    return fixed_option(name, "max_bytes=" + std::to_string(file.capacity),
                        std::to_string(options.max_bytes),
                        " --max-bytes " + std::to_string(options.max_bytes));
  }
  const uint64_t journal = file.bytes_of(ExtentKind::journal);
  if (options.journal_bytes && journal_extent_bytes(*options.journal_bytes) != journal) {
    return fixed_option(name, "journal_bytes=" + std::to_string(journal),
                        std::to_string(*options.journal_bytes),
                        " --journal-bytes " + std::to_string(*options.journal_bytes));
  }
  return engine.description->name == file.engine
             ? check_engine_options(options, name, *engine.description, file)
             : holdfast::Status();
}

/// Returns the engine's options for the database's lag; none if the engine cannot lag, or not
/// beside its other options, `others`. A write without a word is durable: only WriteOptions::sync
/// asks for less.
holdfast::Options lag_options(const Options& options, const Description& engine,
                              const holdfast::Options& others) {
  const auto list = engine.option_list();
  const bool can_lag = std::any_of(list.begin(), list.end(), [](const OptionInfo& option) {
    return option.name == std::string(kLagOption.name);
  });
  if (!can_lag || options.lag == 0) {
    return {};
  }
  const holdfast::Options lag = {{kLagOption.name, std::to_string(options.lag)},
                                 {kLagTimeOption.name, std::to_string(options.lag_ms)},
                                 {kCommitOption.name, "durable"}};
  holdfast::Options all = others;
  all.insert(lag.begin(), lag.end());
  const bool refused = LagOptions::parse(lag).ok() && engine.area_bytes(others, 1).ok() &&
                       !engine.area_bytes(all, 1).ok();
  return refused ? holdfast::Options() : lag;
}

DbEngine::Opened open_file(const Options& options, const std::string& name) {
  if (options.max_threads < 0 || options.max_threads > kMostThreads) {
    return holdfast::Status(Code::invalid_argument,
                            "max_threads is from 1 to " + std::to_string(kMostThreads) +
                                "; 0 stands for the file's number, or the default of a new file");
  }
  // A program may have made an empty file, for example with mkstemp.
  const bool unfinished = is_unfinished_heap(name);
  const bool there = exists(name) && !unfinished;
  if (there && options.error_if_exists) {
    return holdfast::Status(Code::invalid_argument, name + " exists (error_if_exists is true)",
                            EEXIST);
  }
  if (there) {
    auto info = inspect_heap_file(name);
    const Superblock* const recorded = info ? &info->superblock : nullptr;
    const DbEngine& engine = engine_of_file(recorded);
    if (engine.open == nullptr) {
      return not_durable(engine.description->name);
    }
    holdfast::Options others;
    if (recorded != nullptr) {
      holdfast::Status status = check_fixed_options(options, name, engine, *recorded);
      if (!status.ok()) {
        return status;
      }
      others = recorded->options;
    }
    Options with_lag = options;
    others.insert(options.engine_options.begin(), options.engine_options.end());
    with_lag.engine_options.merge(lag_options(options, *engine.description, others));
    return engine.open(with_lag, name, nullptr);
  }
  if (!options.create_if_missing || options.read_only) {
    const char* const why = options.read_only ? ", and a read-only opening creates none"
                                              : " (create_if_missing is false)";
    if (!unfinished) {
      return holdfast::Status(Code::invalid_argument, name + " does not exist" + why, ENOENT);
    }
    const char* const what =
        is_empty_file(name) ? " is empty" : " has only the beginning of a heap";
    return holdfast::Status(Code::wrong_format, name + what + ": no database is in it yet" + why);
  }
  CreateOptions create;
  create.engine = options.engine.empty() ? kDefaultEngine : options.engine;
  const auto found = find_engine(create.engine);
  if (!found.ok()) {
    return found.status();
  }
  const DbEngine* engine = found.value();
  if (engine->open == nullptr) {
    return not_durable(create.engine);
  }
  create.options = new_file_options(options, *engine->description);
  create.run_options = lag_options(options, *engine->description, create.options);
  create.bytes = options.initial_bytes;
  create.max_bytes = options.max_bytes;
  create.journal_bytes = options.journal_bytes;
  create.max_threads = options.max_threads != 0 ? options.max_threads : create.max_threads;
  create.chunk_bytes = kChunkBytes;
  create.fine_classes = true;
  create.growth = kLeastGrowth;
  return engine->open(options, name, &create);
}

}  // namespace

DB::~DB() = default;

Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

Status DB::DeleteRange(const WriteOptions& /*options*/, const Slice& /*begin*/,
                       const Slice& /*end*/) {
  return Status::NotSupported("DeleteRange", kNotOverridden);
}

OptimisticTransaction* DB::BeginTransaction() {
  return nullptr;
}

Status DB::Sync() {
  return Status::NotSupported("Sync", kNotOverridden);
}

Status DB::Compact(uint64_t* /*returned*/) {
  return Status::NotSupported("Compact", kNotOverridden);
}

Status DB::Checkpoint(const std::string& /*file*/) {
  return Status::NotSupported("Checkpoint", kNotOverridden);
}

Status DB::ChangesSince(uint64_t /*sequence*/,
                        const std::function<bool(uint64_t, const WriteBatch&)>& /*see*/) {
  return Status::NotSupported("ChangesSince", kNotOverridden);
}

Status DB::Verify() {
  return Status::NotSupported("Verify", kNotOverridden);
}

Status DB::RunTransaction(const WriteOptions& /*options*/,
                          const std::function<Status(Transaction&)>& /*body*/) {
  return Status::NotSupported("Transact", kNotOverridden);
}

Status HeapDB::Verify() {
  const holdfast::Status pages = verify_pages().status();
  return translated(pages.ok() ? check() : pages);
}

Status HeapDB::DeleteRange(const WriteOptions& options, const Slice& begin, const Slice& end) {
  return Transact(options,
                  [&](Transaction& transaction) { return transaction.DeleteRange(begin, end); });
}

holdfast::Result<std::unique_ptr<HeapDB>> HeapDB::open(const Options& options,
                                                       const std::string& name) {
  if (options.comparator == nullptr) {
    return holdfast::Status(Code::invalid_argument, "a database needs a comparator");
  }
  if (holdfast::Status status = native::check_path(name); !status.ok()) {
    return status;
  }
  const std::string file = file_of(name);
  if (file != name && !exists(file)) {
    if (holdfast::Status status = check_directory(name); !status.ok()) {
      return status;
    }
  }
  return open_file(options, file);
}

Status DB::Open(const Options& options, const std::string& name, DB** db) {
  *db = nullptr;
  auto opened = HeapDB::open(options, name);
  if (opened) {
    *db = opened->release();
  }
  return translated(opened.status());
}

Status DestroyDB(const std::string& name, const Options& options) {
  if (const holdfast::Status status = native::check_path(name); !status.ok()) {
    return translated(status);
  }
  const std::string file = file_of(name);
  if (exists(file)) {
    // Deletes the file only if no heap is in it yet, or one that no process has open.
    holdfast::Status status;
    if (is_unfinished_heap(file)) {
      status = empty_unfinished_heap(file);
    } else {
      auto info = inspect_heap_file(file);
      const DbEngine& engine = engine_of_file(info ? &info->superblock : nullptr);
      status = engine.open != nullptr ? engine.try_heap(options, file)
                                      : not_durable(engine.description->name);
    }
    if (!status.ok()) {
      return translated(status);
    }
    const auto locked = native::open_file(file, native::Access::change);
    if (!locked) {
      return translated(locked.status());
    }
    if (unlink(file.c_str()) != 0) {
      return translated(native::file_error(file, "cannot be deleted", errno));
    }
  }
  if (file != name) {
    static_cast<void>(rmdir(name.c_str()));  // fails if the directory has other files
  }
  return Status::OK();
}

Status RepairDB(const std::string& name, const Options& options) {
  Options thorough = options;
  thorough.create_if_missing = false;
  thorough.error_if_exists = false;
  thorough.paranoid_checks = true;
  return translated(HeapDB::open(thorough, name).status());
}

}  // namespace holdfast::db
