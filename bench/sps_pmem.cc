// SPDX-License-Identifier: Apache-2.0
//
// Durable transactions of one swap per second, one thread, with real cache-line write-backs and
// fences (domain pmem over a memory-backed file: the instructions are executed, the memory is not
// persistent).
//
//   sps_pmem [--enforce]     exit status 1 when a bar is missed
#include <cstdio>
#include <string>
#include <string_view>

#include "holdfast/runner/bench.h"

namespace holdfast {
namespace {

constexpr double kBar = 1.5e6;  // of romulus-log; fur-opa has one log flush less and must be faster

int run(bool enforce) {
  const Json spec = {
      {"workload", "sps"}, {"params", {{"swaps", "1"}}}, {"engines", {"romulus-log", "fur-opa"}},
      {"threads", {1}},    {"domain", "pmem"},           {"force", true},
      {"seconds", 1.0},    {"repetitions", 10}};
  const auto quiet = [](double /*share*/, const std::string& /*text*/) {};
  const Json report = bench(spec, quiet).value();
  const Json& context = report["context"];
  std::printf("%s, %s, commit %s, build %s\n%s\n", context["cpu_model"].get<std::string>().c_str(),
              context["kernel"].get<std::string>().c_str(),
              context["commit"].get<std::string>().c_str(),
              context["library_build_type"].get<std::string>().c_str(),
              context.value("domain_text", "").c_str());
  double rates[2] = {};
  int next = 0;
  for (const Json& entry : report["benchmarks"]) {
    if (entry.contains("error_message")) {
      std::fprintf(stderr, "%s\n", entry["error_message"].get<std::string>().c_str());
      return 3;
    }
    if (entry["run_type"] == "aggregate") {
      rates[next++] = entry["items_per_second"];
      std::printf(
          "%-12s %.3f M tx/s (%.3f to %.3f), %.2f fences and %.2f write-backs per transaction\n",
          entry["engine"].get<std::string>().c_str(), entry["items_per_second"].get<double>() / 1e6,
          entry["items_per_second_min"].get<double>() / 1e6,
          entry["items_per_second_max"].get<double>() / 1e6,
          entry["fences_per_update"].get<double>(), entry["pwb_per_update"].get<double>());
    }
  }
  const bool met = rates[0] >= kBar && rates[1] > rates[0];
  std::printf("bar: romulus-log at least %.1f M tx/s, fur-opa more: %s\n", kBar / 1e6,
              met ? "met" : "MISSED");
  return enforce && !met ? 1 : 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  try {
    return holdfast::run(argc > 1 && std::string_view(argv[1]) == "--enforce");
  } catch (const holdfast::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
