// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/sim/ordinary_thread.h"
#include "holdfast/runner/sim/pending_gauge.h"
#include "holdfast/runner/spec/histogram.h"
#include "holdfast/runner/spec/timeline_file.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// Every workload, compiled once for the simulated machine in a translation unit of its own.
std::unique_ptr<WorkloadInstance> make_sim_workload(const std::string& name, SimHeap& heap,
                                                    const Parameters& parameters);

/// The value of an engine's option with last_levels != 0 that is not given: so many times the
/// machine's last level, and at least the fallback.
std::string default_on(const MachineDescription& machine, const OptionInfo& option);

/// How long a part of a simulated run is.
struct SimLength {
  uint64_t transactions = 0;  ///< per thread
  /// In place of them: each thread begins transactions until so much simulated time has passed.
  double microseconds = 0;
};

/// How long a simulated run is, and where it begins.
struct SimPlan {
  SimLength measured{.transactions = 1000};
  SimLength warm_up{.transactions = 100};  ///< before it, in the same way
  /// Folder of population images; empty: ImageCache::default_folder(). "off": the workload is set
  /// up on the simulated machine itself, transaction by transaction, which needs no file but takes
  /// far longer.
  std::string cache;
  /// Whether to check the workload's conditions afterwards, and to close the heap.
  bool check = true;
  /// The computer to simulate; null: the functional machine.
  std::shared_ptr<const MachineDescription> machine;
  Schedule schedule = Schedule::random;
  std::string design;  ///< hardware design; empty: none
  std::map<std::string, std::string> design_options;
  /// After the measured part the power fails in the middle of an update, and the heap is opened on
  /// a fresh machine of the same kind; `check` looks at that one.
  bool recovery = false;
  /// Looks for waste and gaps in how the measured part uses persistent memory.
  bool lint = false;
  /// Transactions that arrive per second of simulated time (arrivals.h); 0: each thread begins the
  /// next one when the last one has ended. For a measured part with a length in time.
  double arrivals = 0;
  /// Microseconds between samples of the updates that are not durable; 0: none. Another thread
  /// takes them. For a measured part with a length in time.
  double gauge_microseconds = 0;
  /// A thread without transactions beside the workers, also during the warm-up. With time.
  BesidePlan beside;
  /// The timeline of the measured part, written at its end; null: none. It serves one run.
  std::shared_ptr<TimelineFile> timeline;
};

/// How the host made the workload's initial state. The run does not depend on it.
struct SetUp {
  std::string image;        ///< file; empty: set up on the simulated machine
  std::string built;        ///< why the image had to be built; empty: it was found
  size_t data_bytes = 0;    ///< of the image
  double host_seconds = 0;  ///< up to the warm-up
};

/// The counters of a hardware design in the measured part, and of the controller behind it.
struct DesignMeasurement {
  DesignCounters counters;
  std::vector<std::pair<std::string, uint64_t>> own;  ///< the design's own counters, by name
  sim::MemoryCounters medium;
  uint64_t structure_bytes = 0;  ///< of its non-volatile structures
};

/// How a heap was opened after a power failure.
struct SimRecovery {
  double simulated_seconds = 0;  ///< 0 when there is no time; with that of the hardware design
  DesignRecovery design;         ///< of the hardware design, if there is one
  RecoveryReport report;
  PersistCounters persist;
};

/// The results of a simulated run.
struct SimRun {
  uint64_t operations = 0;  ///< all that began
  uint64_t rolled_back = 0;
  std::vector<uint64_t> by_kind;
  uint64_t late = 0;    ///< with a length in time: operations that ended after it
  uint64_t queued = 0;  ///< with arrivals: operations that had arrived and not begun at its end
  /// Operations done within the time. A late one counts for the part of its own time before the
  /// end, measured from the end of its last wait for a lock. Without the parts a short run would
  /// favour short operations; with the waits, threads that queue for a lock would count too much.
  std::vector<double> done_by_kind;
  /// Time of each operation from its begin, or its arrival, to its end, in picoseconds of simulated
  /// time. Empty on a machine without time.
  Histogram response;
  double response_sum = 0;  ///< of these
  PendingGauge pending;
  std::optional<BesideRun> beside;  ///< if asked for
  Statistics statistics;            ///< of the measured part
  uint64_t steps = 0;               ///< machine operations of the measured part
  uint64_t persist_events = 0;
  SimCounters counters;          ///< of the measured part, all threads
  double simulated_seconds = 0;  ///< the time of done_by_kind; 0 without time
  double host_seconds = 0;       ///< of the measured part
  std::vector<LintRow> lint;     ///< of the measured part; empty if not asked for
  SetUp set_up;
  std::optional<SimRecovery> recovery;      ///< if asked for
  std::optional<DesignMeasurement> design;  ///< with a hardware design
  /// On a timed machine: the accesses of the medium's controller in the measured part, and the
  /// computer, as the hardware design has adapted it.
  sim::MemoryCounters medium;
  sim::WearSummary wear;  ///< of the medium, in the measured part
  std::optional<MachineDescription> computer;
  Status check;
};

/// Sets the workload up on a fresh simulated machine, runs the warm-up and then the measured
/// transactions on each of spec.threads threads, and checks. Throws Error or SimStuck; with
/// plan.recovery Error(invalid_argument) for a workload that never updates.
///
/// The initial state comes from an image (population.h): it was populated once, natively, and is
/// mapped copy-on-write, so that set-up takes no simulated operation and memory only for what the
/// run changes. Whether the image was found or built makes no difference to the run.
SimRun run_simulated(const SessionSpec& spec, const SimPlan& plan);

/// The results of a replay of filled logs.
struct SimReplay {
  ReplayReport report;
  double simulated_seconds = 0;  ///< 0 when there is no time
  PersistCounters persist;
  SimCounters counters;
  uint64_t steps = 0;
  double host_seconds = 0;  ///< of the replay
  SetUp set_up;
  Status check;
};

/// Fills the logs with plan.measured, without a warm-up, and measures their replay. With plan.check
/// the heap is closed and opened again, so that the check sees the home that the replay wrote.
/// Throws as run_simulated, and Error(out_of_space) when a log was full.
SimReplay run_simulated_replay(const SessionSpec& spec, const SimPlan& plan,
                               const ReplayOptions& options);

}  // namespace holdfast
