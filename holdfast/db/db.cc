// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/db.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "holdfast/db/heap_db.h"

namespace holdfast::db {
namespace {

bool exists(const std::string& name) {
  struct stat ignored{};
  return stat(name.c_str(), &ignored) == 0;
}

NativeOptions native_options(const Options& options) {
  NativeOptions native;
  native.domain = options.domain;
  native.force = true;  // a domain somebody asked for by name, they get, emulated if need be
  native.max_threads = options.max_threads;
  native.read_only = options.read_only;
  return native;
}

holdfast::Result<std::unique_ptr<HeapDB::H>> open_heap(const Options& options,
                                                       const std::string& name) {
  if (exists(name)) {
    if (options.error_if_exists) {
      return holdfast::Status(Code::invalid_argument, name + " exists (error_if_exists is true)");
    }
    return HeapDB::H::open(name, {}, native_options(options));
  }
  if (!options.create_if_missing || options.read_only) {
    const char* const why =
        options.read_only ? ", and read_only creates nothing" : " (create_if_missing is false)";
    return holdfast::Status(Code::invalid_argument, name + " does not exist" + why);
  }
  auto engine = AnyEngine<NativeMachine>::describe(options.engine);
  if (!engine) {
    return holdfast::Status(Code::invalid_argument, engine.status().message());
  }
  if ((*engine)->durability == Durability::none) {
    return holdfast::Status(Code::unsupported, "engine " + options.engine +
                                                   " keeps nothing over a crash; a database needs "
                                                   "one that is durable, such as romulus-log");
  }
  CreateOptions create;
  create.engine = options.engine;
  create.options = options.engine_options;
  create.bytes = options.initial_bytes;
  create.max_bytes = options.max_bytes;
  create.max_threads = options.max_threads;
  return HeapDB::H::create(name, create, native_options(options));
}

}  // namespace

DB::~DB() = default;

holdfast::Result<std::unique_ptr<HeapDB>> HeapDB::open(const Options& options,
                                                       const std::string& name) {
  if (options.comparator == nullptr) {
    return holdfast::Status(Code::invalid_argument, "a database needs a comparator");
  }
  auto heap = open_heap(options, name);
  if (!heap) {
    return heap.status();
  }
  StoreLimits limits;
  limits.feed_bytes = options.change_feed_bytes;
  auto store = Store<H>::open(**heap, options.comparator, limits, options.read_only);
  if (!store) {
    return holdfast::Status(store.status().code(), name + ": " + store.status().message());
  }
  std::unique_ptr<HeapDB> db(new HeapDB(std::move(*heap), std::move(*store)));
  if (options.paranoid_checks) {
    if (holdfast::Status status = db->check(); !status.ok()) {
      return holdfast::Status(status.code(), name + ": " + status.message());
    }
  }
  return db;
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
  if (!exists(name)) {
    return Status::OK();
  }
  {
    // Only what is a heap nobody has open is removed.
    auto heap = HeapDB::H::open(name, {}, native_options(options));
    if (!heap) {
      return translated(heap.status());
    }
  }
  if (unlink(name.c_str()) != 0) {
    return Status::IOError(name, std::strerror(errno));
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
