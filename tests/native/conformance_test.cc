// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/any/any_engine.h"
#include "tests/engine_options.h"
#include "tests/native/rtm_stand_in.h"
#include "tests/native/world.h"
#include "tests/sanitized.h"

namespace holdfast::conformance {

void register_native();

namespace {

constexpr HtmBackend kHardware = native::hardware::kBackend;

/// Makes a World that uses the processor's hardware transactions, even if none of them commits
/// here.
template <class World>
std::unique_ptr<World> in_hardware(const std::string& engine) {
  static const RtmStandIn stand_in;
  auto world = std::make_unique<World>(engine, Domain::process);
  world->native().htm_backend = kHardware;
  world->native().htm_unproven = true;
  return world;
}

/// Makes a World whose heap has a journal, so small that checkpoints come often.
template <class World>
std::unique_ptr<World> journaled(const std::string& engine) {
  auto world = std::make_unique<World>(engine, Domain::file);
  world->options().journal_bytes = 256 << 10;
  return world;
}

/// Registers all questions.
template <class World>
void register_each(const std::string& prefix, const std::function<std::unique_ptr<World>()>& make) {
  register_all<World>(prefix, make);
  register_questions<World>(prefix, native_questions<World>(), make);
}

}  // namespace

void register_native() {
  using World = NativeWorld<AnyEngine<NativeMachine>>;
  const std::string first = engine_rows<NativeMachine>().front().description->name;
  for (const auto& row : engine_rows<NativeMachine>()) {
    const std::string engine = row.description->name;
    // Domains differ in how a line becomes durable, not in how threads meet. Under a sanitizer the
    // first engine has all of them, others their usual one.
    const bool all_domains = !kSanitized || engine == first;
    for (const Domain domain : kDomains) {
      const bool asked = all_domains || domain == usual_domain(*row.description);
      if (!asked || !row.description->runs_in(domain)) {
        continue;
      }
      register_each<World>("native/" + engine + "/" + to_string(domain),
                           [engine, domain] { return std::make_unique<World>(engine, domain); });
    }
    if (row.description->check_journal().ok()) {
      register_each<World>("journal/" + engine, [engine] { return journaled<World>(engine); });
    }
    if (row.description->needs_htm && kHardware != HtmBackend::soft) {
      register_each<World>("hardware/" + engine, [engine] { return in_hardware<World>(engine); });
    }
  }
}

}  // namespace holdfast::conformance
