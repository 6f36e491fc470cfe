// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim_run.h"

#include <chrono>

#include "holdfast/runner/engine_table.h"

namespace holdfast {
namespace {

/// A run that needs this many steps per operation is stuck in a way the machine cannot see (a
/// livelock).
constexpr uint64_t kMaxStepsPerOperation = 10'000'000;

SimOptions machine_options(const SessionSpec& spec, uint64_t transactions) {
  SimOptions options;
  options.threads = spec.threads;
  options.seed = spec.seed;
  options.domain = spec.domain;
  options.max_steps = kMaxStepsPerOperation * transactions * static_cast<uint64_t>(spec.threads);
  return options;
}

CreateOptions heap_options(const SessionSpec& spec) {
  CreateOptions options;
  options.engine = spec.engine;
  options.options =
      engine_options(*AnyEngine<SimMachine>::describe(spec.engine).value(), spec.options);
  if (spec.bytes != 0) {
    options.bytes = spec.bytes;
  }
  if (spec.max_bytes != 0) {
    options.max_bytes = spec.max_bytes;
  }
  return options;
}

/// One thread's share. Simulated threads take turns on one host thread, so plain counters suffice;
/// each has its own all the same, as a native one would.
void run_thread(WorkloadInstance& workload, int number, uint64_t seed, uint64_t transactions,
                SimRun& own) {
  Random random(mix64(seed) ^ mix64(static_cast<uint64_t>(number) + 1));
  for (uint64_t i = 0; i < transactions; ++i) {
    const OperationResult result = workload.operation(number, random);
    ++own.operations;
    ++own.by_kind.at(static_cast<size_t>(result.kind));
    own.rolled_back += result.committed ? 0 : 1;
  }
}

}  // namespace

SimRun run_simulated(const SessionSpec& spec, uint64_t transactions) {
  const WorkloadInfo* info = find_workload(spec.workload).value();
  const Parameters parameters = Parameters::make(*info, spec.parameters).value();
  SimMachine machine(machine_options(spec, transactions));
  const auto heap = SimHeap::create(machine, heap_options(spec)).value();
  const auto workload = make_sim_workload(spec.workload, *heap, parameters);
  workload->set_up(spec.threads, spec.seed).check();

  SimRun empty;
  empty.by_kind.resize(info->operations.size());
  std::vector<SimRun> own(static_cast<size_t>(spec.threads), empty);
  const Statistics before = heap->statistics();
  const uint64_t steps_before = machine.now();
  const uint64_t events_before = machine.persist_events();
  const auto start = std::chrono::steady_clock::now();
  machine.run_threads(spec.threads, [&](int number) {
    run_thread(*workload, number, spec.seed, transactions, own[static_cast<size_t>(number)]);
  });
  SimRun run = empty;
  run.host_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.steps = machine.now() - steps_before;
  run.persist_events = machine.persist_events() - events_before;
  run.statistics = heap->statistics() - before;
  for (const SimRun& thread : own) {
    run.operations += thread.operations;
    run.rolled_back += thread.rolled_back;
    for (size_t kind = 0; kind < run.by_kind.size(); ++kind) {
      run.by_kind[kind] += thread.by_kind[kind];
    }
  }
  run.check = workload->check();
  heap->close().check();
  return run;
}

}  // namespace holdfast
