// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/sim/arrivals.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// One worker: its generator, which the measured part continues where the warm-up left it, and its
/// counts. Simulated threads take turns on one host thread, so plain counters suffice.
struct SimWorker {
  Random random;
  SimRun own;

  void run(SimMachine& machine, WorkloadInstance& workload, int number, uint64_t transactions) {
    uint64_t begin = machine.timed() ? machine.now() : 0;
    for (uint64_t i = 0; i < transactions; ++i) {
      count(workload.operation(number, random), 1);
      if (machine.timed()) {
        begin = responded(begin, machine.now());
      }
    }
  }

  void run_until(uint64_t end, SimMachine& machine, WorkloadInstance& workload, int number) {
    uint64_t begin = machine.now();
    while (begin < end) {
      begin = operation(begin, begin, end, machine, workload, number);
    }
  }

  /// As run_until, with operations from the queue of all workers.
  void serve(Arrivals& arrivals, uint64_t end, SimMachine& machine, WorkloadInstance& workload,
             int number) {
    uint64_t now = machine.now();
    for (uint64_t arrived = arrivals.next(); arrived < end; arrived = arrivals.next()) {
      if (now >= end) {
        ++own.queued;
        continue;
      }
      if (arrived > now) {
        machine.sleep_until(arrived);
        now = std::max(arrived, machine.now());
      }
      now = operation(arrived, now, end, machine, workload, number);
    }
  }

 private:
  /// Runs an operation that has arrived, and begins now. Returns the time of its end.
  uint64_t operation(uint64_t arrived, uint64_t begin, uint64_t end, SimMachine& machine,
                     WorkloadInstance& workload, int number) {
    const OperationResult result = workload.operation(number, random);
    const uint64_t now = machine.now();
    own.late += now > end ? 1 : 0;
    count(result, done_by(end, std::max(begin, machine.lock_wait_end()), now));
    return responded(arrived, now);
  }

  /// Counts the time of an operation. Returns its end.
  uint64_t responded(uint64_t begin, uint64_t end) {
    own.response.add(end - begin);
    own.response_sum += static_cast<double>(end - begin);
    return end;
  }

  /// The part of [begin, now] before `end`.
  static double done_by(uint64_t end, uint64_t begin, uint64_t now) {
    return now <= end     ? 1
           : begin >= end ? 0
                          : static_cast<double>(end - begin) / static_cast<double>(now - begin);
  }

  void count(const OperationResult& result, double share) {
    ++own.operations;
    own.done_by_kind.at(static_cast<size_t>(result.kind)) += share;
    ++own.by_kind.at(static_cast<size_t>(result.kind));
    own.rolled_back += result.committed ? 0 : 1;
  }
};

}  // namespace holdfast
