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

namespace holdfast::db {
namespace {

constexpr int kMostThreads = 255;  // a stamp has one byte for the slot

bool exists(const std::string& name) {
  struct stat ignored{};
  return stat(name.c_str(), &ignored) == 0;
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
  if (exists(name)) {
    if (options.error_if_exists) {
      return holdfast::Status(Code::invalid_argument, name + " exists (error_if_exists is true)");
    }
    const DbEngine& engine = engine_of_file(name);
    return engine.open != nullptr ? engine.open(options, name, nullptr)
                                  : not_durable(engine.description->name);
  }
  if (!options.create_if_missing || options.read_only) {
    const char* const why =
        options.read_only ? ", and read_only creates nothing" : " (create_if_missing is false)";
    return holdfast::Status(Code::invalid_argument, name + " does not exist" + why);
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

holdfast::Result<std::unique_ptr<HeapDB>> HeapDB::open(const Options& options,
                                                       const std::string& name) {
  if (options.comparator == nullptr) {
    return holdfast::Status(Code::invalid_argument, "a database needs a comparator");
  }
  const std::string file = file_of(name);
  std::error_code error;
  if (file != name && !exists(file) && !std::filesystem::is_empty(name, error)) {
    return holdfast::Status(Code::invalid_argument,
                            name +
                                " is a directory with other files and no database; name a file, "
                                "or an empty directory");
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
      return Status::IOError(file, std::generic_category().message(errno));
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
