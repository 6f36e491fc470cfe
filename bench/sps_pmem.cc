// SPDX-License-Identifier: Apache-2.0
//
// Measures the rate of durable transactions of one swap each, on one thread, with real cache-line
// write-backs and fences. The domain is pmem over a memory-backed file: the processor executes the
// instructions, but the memory is not persistent.
//
//   sps_pmem [--enforce]     exit status 1 when a bar is missed
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/native/native_machine.h"
#include "holdfast/runner/bench/bench.h"
#include "holdfast/runner/spec/temporary_heap.h"

namespace holdfast {
namespace {

/// Returns the swaps per second that the medium allows. A bare loop executes the stores,
/// write-backs and fences of a Romulus swap, without transactions, readers or an interface.
double bare_loop() {
  const TemporaryHeap file("", Domain::pmem, "bare");
  NativeOptions native;
  native.create = true;
  native.domain = Domain::pmem;
  native.force = true;
  const auto opened = NativeMachine::open(file.path(), native);
  NativeMachine& machine = *opened.value();
  constexpr size_t kWords = 10'000;
  constexpr size_t kBytes = 1 << 20;
  machine.medium().grow(2 * kBytes).check();
  auto* state = reinterpret_cast<uint64_t*>(
      machine.medium().map(0, 2 * kBytes, nullptr, MapMode::shared).value());
  uint64_t* const main_copy = state + 512;
  uint64_t* const twin = state + kBytes / sizeof(uint64_t);
  constexpr int kSwaps = 300'000;
  std::vector<double> rates;
  machine.run_threads(1, [&](int) {
    Random random(1);
    const auto mark = [&](uint64_t value) {
      machine.store(state, value);
      machine.pwb(state, Site{});
    };
    for (int turn = 0; turn < 7; ++turn) {
      const uint64_t start = machine.now();
      for (int i = 0; i < kSwaps; ++i) {
        const size_t places[] = {random.below(kWords), random.below(kWords)};
        mark(1);
        machine.pfence(Site{});
        const uint64_t values[] = {machine.load(main_copy + places[1]),
                                   machine.load(main_copy + places[0])};
        for (uint64_t* const copy : {main_copy, twin}) {
          for (const int k : {0, 1}) {
            machine.store(copy + places[k], values[k]);
            machine.pwb(copy + places[k], Site{});
          }
          machine.pfence(Site{});
          if (copy == main_copy) {
            mark(2);
            machine.psync(Site{});
          }
        }
        machine.store(state, uint64_t{0});
      }
      rates.push_back(1e9 * kSwaps /
                      (static_cast<double>(machine.now() - start) * machine.ns_per_tick()));
    }
  });
  std::nth_element(rates.begin(), rates.begin() + 3, rates.end());
  return rates[3];
}

constexpr double kBar = 1.5e6;  // for romulus-log; fur-opa has one log flush less: must be faster

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
  const double bare = bare_loop();
  std::printf(
      "bare loop    %.3f M swaps/s: the same stores, write-backs and fences, and nothing else\n",
      bare / 1e6);
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
  std::printf("romulus-log over the bare loop: %.2f\n", rates[0] / bare);
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
