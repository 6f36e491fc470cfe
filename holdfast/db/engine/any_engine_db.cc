// SPDX-License-Identifier: Apache-2.0
//
// One instance of the database for several engines, over AnyEngine and its virtual calls.
#include "holdfast/db/engine/engine_db.h"
#include "holdfast/engines/parts/any/any_engine.h"

namespace holdfast::db {

DbEngine db_any_engine(const char* name);

DbEngine db_any_engine(const char* name) {
  using Any = EngineDB<AnyEngine<NativeMachine>>;
  const EngineRow<NativeMachine>& row =
      *find_row("engine", name, engine_rows<NativeMachine>()).value();
  if (row.description->durability == Durability::none) {
    return {row.description, nullptr, nullptr};
  }
  return {row.description, &Any::open, &Any::try_heap};
}

}  // namespace holdfast::db
