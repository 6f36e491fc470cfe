// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/common/any_engine.h"
#include "tests/native/world.h"

namespace holdfast::conformance {

void register_native();

/// Sanitizers take many times as long; to them the other two domains are these without write-backs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Domain kAsked[] = {Domain::file, Domain::pmem};
#else
constexpr const auto& kAsked = kDomains;
#endif

void register_native() {
  using World = NativeWorld<AnyEngine<NativeMachine>>;
  for (const auto& row : engine_rows<NativeMachine>()) {
    const std::string engine = row.description->name;
    for (const Domain domain : kAsked) {
      register_all<World>("native/" + engine + "/" + to_string(domain),
                          [engine, domain] { return std::make_unique<World>(engine, domain); });
    }
  }
}

}  // namespace holdfast::conformance
