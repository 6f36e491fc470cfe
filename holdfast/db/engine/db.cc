// SPDX-License-Identifier: Apache-2.0
//
// Opening and destroying a database: chooses the engine, and finds the file.
#include "holdfast/db/db.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "holdfast/base/catalogue.h"
#include "holdfast/db/engine/db_engines.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast::db {
namespace {

constexpr int kMostThreads = 255;  // a stamp has one byte for the slot
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
                                 Options().engine};
}

/// Returns the engine that the file's superblock names. If the superblock cannot be read, returns
/// the default engine: opening the file with it reports the reason.
const DbEngine& engine_of_file(const std::string& name) {
  auto info = inspect_heap_file(name);
  auto named = find_engine(info ? info->superblock.engine : Options().engine);
  return named.ok() ? *named.value() : *find_engine(Options().engine).value();
}

DbEngine::Opened open_file(const Options& options, const std::string& name) {
  const bool empty = is_empty_file(name);  // for example from mkstemp
  if (exists(name) && options.error_if_exists) {
    return holdfast::Status(Code::invalid_argument, name + " exists (error_if_exists is true)",
                            EEXIST);
  }
  if (exists(name) && !empty) {
    const DbEngine& engine = engine_of_file(name);
    return engine.open != nullptr ? engine.open(options, name, nullptr)
                                  : not_durable(engine.description->name);
  }
  if (!options.create_if_missing || options.read_only) {
    const char* const why =
        options.read_only ? ", and read_only creates nothing" : " (create_if_missing is false)";
    return empty ? holdfast::Status(Code::wrong_format,
                                    name + " is empty: no database is in it yet" + why)
                 : holdfast::Status(Code::invalid_argument, name + " does not exist" + why, ENOENT);
  }
  if (options.max_threads > kMostThreads) {
    return holdfast::Status(Code::invalid_argument,
                            "max_threads is from 1 to " + std::to_string(kMostThreads));
  }
  const auto found = find_engine(options.engine);
  if (!found.ok()) {
    return found.status();
  }
  const DbEngine* engine = found.value();
  if (engine->open == nullptr) {
    return not_durable(options.engine);
  }
  CreateOptions create;
  create.engine = options.engine;
  create.options = options.engine_options;
  create.bytes = options.initial_bytes;
  create.max_bytes = options.max_bytes;
  create.max_threads = options.max_threads;
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

std::vector<Status> DB::MultiGet(const ReadOptions& options, const std::vector<Slice>& keys,
                                 std::vector<std::string>* values) {
  const auto release = [this](const Snapshot* snapshot) { ReleaseSnapshot(snapshot); };
  std::unique_ptr<const Snapshot, decltype(release)> own(nullptr, release);
  ReadOptions same_state = options;
  if (options.snapshot == nullptr && keys.size() > 1) {
    own.reset(GetSnapshot());
    same_state.snapshot = own.get();
  }
  values->resize(keys.size());
  std::vector<Status> found;
  found.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    found.push_back(Get(same_state, keys[i], &(*values)[i]));
  }
  return found;
}

Status DB::DeleteRange(const WriteOptions& /*options*/, const Slice& /*begin*/,
                       const Slice& /*end*/) {
  return Status::NotSupported("DeleteRange", kNotOverridden);
}

OptimisticTransaction* DB::BeginTransaction() {
  return nullptr;
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

Status DB::RunTransaction(const std::function<Status(Transaction&)>& /*body*/) {
  return Status::NotSupported("Transact", kNotOverridden);
}

Status HeapDB::DeleteRange(const WriteOptions& /*options*/, const Slice& begin, const Slice& end) {
  return Transact([&](Transaction& transaction) { return transaction.DeleteRange(begin, end); });
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
  auto opened = open_file(options, file);
  if (!opened) {
    return opened;
  }
  if (options.paranoid_checks) {
    if (const holdfast::Status status = (*opened)->check(); !status.ok()) {
      return holdfast::Status(status.code(), file + ": " + status.message());
    }
  }
  return opened;
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
    // Deletes the file only if it is a heap that no process has open.
    const DbEngine& engine = engine_of_file(file);
    const holdfast::Status status = engine.open != nullptr ? engine.try_heap(options, file)
                                                           : not_durable(engine.description->name);
    if (!status.ok()) {
      return translated(status);
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
