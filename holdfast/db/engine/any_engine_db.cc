// SPDX-License-Identifier: Apache-2.0
//
// One instance of the database for all engines, over AnyEngine and its virtual calls. Builds
// without HOLDFAST_INLINED_SESSIONS compile it instead of the generated table.
#include "holdfast/db/engine/engine_db.h"
#include "holdfast/engines/parts/any/any_engine.h"

namespace holdfast::db {

const std::vector<DbEngine>& db_engines() {
  static const std::vector<DbEngine> engines = [] {
    using Any = EngineDB<AnyEngine<NativeMachine>>;
    std::vector<DbEngine> list;
    for (const EngineRow<NativeMachine>& row : engine_rows<NativeMachine>()) {
      const bool durable = row.description->durability != Durability::none;
      list.push_back(
          {row.description, durable ? &Any::open : nullptr, durable ? &Any::try_heap : nullptr});
    }
    return list;
  }();
  return engines;
}

}  // namespace holdfast::db
