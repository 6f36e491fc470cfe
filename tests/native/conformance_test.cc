// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/common/any_engine.h"
#include "tests/native/world.h"

namespace holdfast::conformance {

void register_native();

void register_native() {
  using World = NativeWorld<AnyEngine<NativeMachine>>;
  for (const auto& row : engine_rows<NativeMachine>()) {
    const std::string engine = row.description->name;
    for (const Domain domain : kDomains) {
      register_all<World>("native/" + engine + "/" + to_string(domain),
                          [engine, domain] { return std::make_unique<World>(engine, domain); });
    }
  }
}

}  // namespace holdfast::conformance
