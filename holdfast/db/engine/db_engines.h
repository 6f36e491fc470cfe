// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/engine/heap_db.h"
#include "holdfast/heap/heap_options.h"

namespace holdfast::db {

/// The database compiled for one engine.
struct DbEngine {
  using Opened = holdfast::Result<std::unique_ptr<HeapDB>>;

  const Description* description;
  /// What there is in the file, or with `create` a new one. Null where the engine keeps nothing
  /// over a crash.
  Opened (*open)(const Options& options, const std::string& name, const CreateOptions* create);
  /// Ok where the file is a heap of this engine that nobody has open.
  holdfast::Status (*try_heap)(const Options& options, const std::string& name);
};

/// All engines, in the order of the list in holdfast/engines/CMakeLists.txt. Generated; without
/// HOLDFAST_INLINED_SESSIONS one AnyEngine stands behind all of them.
const std::vector<DbEngine>& db_engines();

}  // namespace holdfast::db
