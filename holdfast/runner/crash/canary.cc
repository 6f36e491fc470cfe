// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/canary.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/crash.h"
#include "holdfast/runner/crash/crash_registers.h"

namespace holdfast {
namespace {

/// The searches, from cheap to thorough. Most bugs show within a few schedules of one transaction
/// per thread, also those of recovery. Most of the others need a rare order of threads: many
/// schedules with few crash points find it much sooner than few schedules with many. The rest need
/// logs that wrap around, a crash in recovery, or transactions after it.
Json stages() {
  const auto stage = [](int schedules, int transactions, int points, int images, int crash_recovery,
                        int go_on, int reads) {
    return Json{{"schedules", schedules}, {"transactions", transactions},     {"points", points},
                {"images", images},       {"crash_recovery", crash_recovery}, {"go_on", go_on},
                {"reads", reads}};
  };
  return {stage(8, 1, 40, 8, 8, 8, 35),      stage(400, 6, 8, 2, 0, 0, 35),
          stage(60, 1, 100, 16, 16, 16, 35), stage(60, 3, 60, 8, 16, 8, 35),
          stage(30, 2, 30, 8, 2, 2, 35),     stage(150, 6, 60, 4, 64, 32, 35),
          stage(600, 3, 40, 4, 64, 64, 60)};
}

}  // namespace

Result<std::vector<Canary>> load_canaries() {
  return guarded([&] {
    std::vector<Canary> all;
    auto checks = load_engine_checks().value();
    for (const auto& row : engine_rows<SimMachine>()) {
      if (row.description->durability != Durability::none) {
        auto& canaries = checks[row.description->name].canaries;
        std::move(canaries.begin(), canaries.end(), std::back_inserter(all));
      }
    }
    return all;
  });
}

Json spec_of(const Canary& canary) {
  Json spec = canary.needs;
  spec["engine"] = canary.engine;
  if (!canary.mutation.empty()) {
    spec["mutation"] = canary.mutation;
  }
  return spec;
}

Result<Json> planted_bug_catalog() {
  return guarded([&] {
    Json all = Json::object();
    const auto engines = load_engine_checks().value();
    for (const auto& [engine, checks] : engines) {
      Json canaries = Json::object();
      for (const Canary& canary : checks.canaries) {
        if (!canary.mutation.empty()) {
          canaries[canary.mutation] = canary.needs;
        }
      }
      Json harmless = Json::object();
      for (const HarmlessBug& bug : checks.harmless) {
        harmless[bug.mutation] = bug.reason;
      }
      all[engine] = {{"canaries", canaries}, {"harmless", harmless}};
    }
    return all;
  });
}

Result<Json> hunt(const Json& spec, Progress progress) {
  return guarded([&] {
    Json base = spec;
    const int least = base.value("transactions", 1);
    base.erase("transactions");
    base["mutations"] = Json::array({base.at("mutation")});
    base.erase("mutation");
    base["minimise"] = false;
    const size_t most = base.value("searches", stages().size());
    base.erase("searches");
    if (base.contains("design") && !base.contains("machine")) {
      base["machine"] = "tiny";
    }
    const bool registers = base.value("workload", crash_registers_info().name) ==
                           crash_registers_info().name;  // a structure has parameters of its own
    Json report;
    Json last;
    const Json all = stages();
    for (size_t i = 0; i < std::min(most, all.size()); ++i) {
      Json search = all[i];
      search.update(base);  // the caller's settings override the search's
      Json parameters = base.value("params", Json::object());
      parameters["transactions"] =
          std::to_string(std::max(least, all[i]["transactions"].get<int>()));
      search.erase("transactions");
      if (registers && !parameters.contains("reads")) {
        parameters["reads"] = std::to_string(all[i]["reads"].get<int>());
      }
      search.erase("reads");
      search["params"] = parameters;
      if (search == last) {
        continue;  // with the caller's settings both searches are equal
      }
      last = search;
      progress(static_cast<double>(i) / static_cast<double>(all.size()), "hunt");
      report = crash(search, [](double, const std::string&) {}).value();
      report["stage"] = i + 1;
      report["stages"] = all.size();
      const bool only_created = report["mutated"] == 0 && report["mutated_in_creation"] > 0;
      if (!report["violations"].empty() || only_created) {
        break;  // each search makes the same heap
      }
    }
    return report;
  });
}

}  // namespace holdfast
