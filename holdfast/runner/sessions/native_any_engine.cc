// SPDX-License-Identifier: Apache-2.0
//
// The table of engines in builds that compile one session for all engines.
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sessions/native_session.h"

namespace holdfast {

std::span<const NativeEngine> native_engines() {
  using Any = NativeSession<AnyEngine<NativeMachine>>;
  static const std::vector<NativeEngine> engines = [] {
    std::vector<NativeEngine> all;
    for (const auto& row : engine_rows<NativeMachine>()) {
      all.push_back({row.description, &Any::open, &Any::create, row.replays});
    }
    return all;
  }();
  return engines;
}

}  // namespace holdfast
