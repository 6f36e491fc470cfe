// SPDX-License-Identifier: Apache-2.0
//
// One instance of the sessions for several engines, over AnyEngine and its virtual calls.
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sessions/native_session.h"

namespace holdfast {

NativeEngine native_any_engine(const char* name) {
  using Any = NativeSession<AnyEngine<NativeMachine>>;
  const EngineRow<NativeMachine>& row =
      *find_row("engine", name, engine_rows<NativeMachine>()).value();
  return {row.description, &Any::open, &Any::create, row.replays};
}

}  // namespace holdfast
