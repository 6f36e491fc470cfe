// SPDX-License-Identifier: Apache-2.0
//
// The table of engines that the database is compiled for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/heap/file/heap_options.h"

namespace holdfast::db {

/// The database compiled for one engine.
struct DbEngine {
  using Opened = holdfast::Result<std::unique_ptr<HeapDB>>;

  const Description* description;
  /// Opens the database in the file, or creates one if `create` is not null. Null if the engine is
  /// not durable.
  Opened (*open)(const Options& options, const std::string& name, const CreateOptions* create);
  /// Returns ok if the file is a heap of this engine that no process has open, and whose roots, if
  /// it has any, are those of a database.
  holdfast::Status (*try_heap)(const Options& options, const std::string& name);
};

/// All engines, in the order of the list in holdfast/engines/CMakeLists.txt. CMake generates the
/// table. Rows of engines that are not inlined use AnyEngine (any_engine_db.cc).
const std::vector<DbEngine>& db_engines();

}  // namespace holdfast::db
