// SPDX-License-Identifier: Apache-2.0
//
// Measures the speed of the simulated machine on this computer: TPC-C, fur-opa, power9, 64 threads,
// one host core. Also prints where this computer spends the time. Bars: 8 million simulated memory
// operations per second with 8 warehouses, 4 million with 64.
//
//   sim_speed [warehouses=8] [transactions per thread=200] [engine=fur-opa]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "bench/host_profile.h"
#include "holdfast/runner/sim/simulate.h"

namespace {

using holdfast::Json;

void print(const Json& entry) {
  const double operations = entry.at("simulated_memory_operations").get<double>();
  const Json& counters = entry.at("machine_counters");
  const double misses =
      counters.at("loads").get<double>() - counters.at("loads_from").at("l1").get<double>();
  std::printf(
      "%6.2f M operations/s   %.1f M operations in %.2f s; L1 load misses %.1f %%, lines from "
      "other "
      "cores %.1f %%, HTM aborts %.0f; %.0f simulated transactions/s\n",
      operations / entry.at("host_seconds").get<double>() / 1e6, operations / 1e6,
      entry.at("host_seconds").get<double>(), 100 * misses / counters.at("loads").get<double>(),
      100 *
          (counters.at("loads_from").at("peer").get<double>() +
           counters.at("loads_from").at("remote_peer").get<double>()) /
          counters.at("loads").get<double>(),
      counters.at("htm").at("begins").get<double>() -
          counters.at("htm").at("commits").get<double>(),
      entry.at("items_per_second").get<double>());
}

/// Returns the part of the program that a function belongs to: the simulator's classes each, and
/// everything that runs on the simulator as one part.
std::string part(const std::string& function) {
  static const std::string kSimulator = "holdfast::sim::";
  const std::string name = function.substr(0, function.find_first_of("<("));
  if (name.starts_with(kSimulator)) {
    const size_t end = name.find("::", kSimulator.size());
    return name.substr(kSimulator.size(), end - kSimulator.size());
  }
  if (name == "jump_fcontext") {
    return "switches of fibers";
  }
  return function.find("holdfast::") != std::string::npos ? "engine, heap, structures, workload"
                                                          : "other";
}

void print(const holdfast::HostProfile& profile) {
  std::printf("the last run, with set-up and warm-up, in shares of processor time:\n");
  for (const auto& [name, share] : profile.rows(part)) {
    if (share >= 0.005) {
      std::printf("  %5.1f %%  %s\n", 100 * share, name.c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string warehouses = argc > 1 ? argv[1] : "8";
  const Json spec = {{"workload", "tpcc"},
                     {"engines", {argc > 3 ? argv[3] : "fur-opa"}},
                     {"machine", "power9"},
                     {"threads", {64}},
                     {"transactions", argc > 2 ? std::atoi(argv[2]) : 200},
                     {"check", false},
                     {"params", {{"warehouses", warehouses}}}};
  std::printf("TPC-C, %s warehouses, power9, 64 threads; best of 3 counts\n", warehouses.c_str());
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    std::optional<holdfast::HostProfile> profile;
    if (i == 2) {
      profile.emplace();
    }
    auto report = holdfast::simulate(spec, [](double, const std::string&) {});
    if (profile) {
      profile->stop();
    }
    if (!report.ok()) {
      std::fprintf(stderr, "%s\n", report.status().to_string().c_str());
      return 1;
    }
    const Json& entry = report->at("benchmarks").at(0);
    if (entry.contains("error_message")) {
      std::fprintf(stderr, "%s\n", entry.at("error_message").get<std::string>().c_str());
      return 1;
    }
    print(entry);
    best = std::max(best, entry.at("simulated_memory_operations").get<double>() /
                              entry.at("host_seconds").get<double>() / 1e6);
    if (profile) {
      print(*profile);
    }
  }
  const double bar = warehouses == "64" ? 4 : 8;
  std::printf("best %.2f M operations/s; bar %.0f: %s\n", best, bar,
              best >= bar ? "met" : "missed");
  return 0;
}
