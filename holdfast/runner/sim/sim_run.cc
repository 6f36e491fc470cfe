// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_run.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "holdfast/base/seconds_since.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/arrivals.h"
#include "holdfast/runner/sim/population.h"
#include "holdfast/runner/sim/sim_worker.h"

namespace holdfast {

std::string default_on(const MachineDescription& machine, const OptionInfo& option) {
  const auto fallback = std::strtoull(option.fallback, nullptr, 10);
  const uint64_t last_level = machine.llc.bytes != 0  ? machine.llc.bytes
                              : machine.l2.bytes != 0 ? machine.l2.bytes
                                                      : machine.l1.bytes;
  return std::to_string(std::max<uint64_t>(fallback, option.last_levels * last_level));
}

namespace {

using Clock = std::chrono::steady_clock;

/// A run with more steps per operation is in a livelock, which the machine does not detect itself.
constexpr uint64_t kMaxStepsPerOperation = 10'000'000;
/// The bound for a length in simulated time: a thread's step takes at least a tenth of a
/// nanosecond.
constexpr uint64_t kMaxStepsPerMicrosecond = 10'000;

uint64_t most_steps(const SimLength& length) {
  // An operation that began in time may end late.
  const auto in_time = static_cast<uint64_t>(length.microseconds + 1) * kMaxStepsPerMicrosecond;
  return length.microseconds > 0 ? in_time + kMaxStepsPerOperation
                                 : kMaxStepsPerOperation * length.transactions;
}

SimOptions machine_options(const SessionSpec& spec, const SimPlan& plan) {
  SimOptions options;
  options.threads = spec.threads + (plan.gauge_microseconds > 0 ? 1 : 0) +
                    (plan.beside.structure.empty() ? 0 : 1);
  options.seed = spec.seed;
  options.domain = spec.domain;
  options.machine = plan.machine;
  options.schedule = plan.schedule;
  use_design(options, plan.design, plan.design_options);
  options.lint = plan.lint;
  options.max_steps = std::max(most_steps(plan.measured), most_steps(plan.warm_up)) *
                      static_cast<uint64_t>(spec.threads);
  options.huge_pages = true;
  return options;
}

CreateOptions heap_options(const SessionSpec& spec, const SimPlan& plan) {
  const Description& engine = *AnyEngine<SimMachine>::describe(spec.engine).value();
  CreateOptions options;
  options.engine = spec.engine;
  options.options = engine_options(engine, spec.options);
  for (const OptionInfo& option : engine.option_list()) {
    if (option.last_levels != 0 && plan.machine != nullptr) {
      options.options.try_emplace(option.name, default_on(*plan.machine, option));
    }
  }
  options.partitions = Parameters::partitions_in(spec.parameters);
  options.bytes = spec.bytes != 0 ? spec.bytes : options.bytes;
  options.max_bytes = spec.max_bytes != 0 ? spec.max_bytes : options.max_bytes;
  return options;
}

/// Sizes a heap that holds the image, with an eighth of its size as free room and another to grow
/// into.
CreateOptions around(const PopulationImage& image, const SessionSpec& spec,
                     const Population& population, CreateOptions options) {
  const size_t data = image.content->bytes();
  if (spec.max_bytes != 0 && spec.max_bytes < data) {
    throw Error(Status(Code::out_of_space, "the initial state of workload " + spec.workload +
                                               " takes " + std::to_string(data) +
                                               " bytes, max_bytes is " +
                                               std::to_string(spec.max_bytes) +
                                               "; raise it, or choose a smaller workload"));
  }
  options.growth = options.bytes;
  if (data > options.bytes) {
    options.bytes = data + data / 8;
  }
  if (spec.max_bytes == 0) {
    constexpr size_t kUsualCapacity = size_t{8} << 30;
    options.max_bytes = std::max(kUsualCapacity, options.bytes + data / 8);
  }
  options.bytes = std::min(options.bytes, options.max_bytes);
  options.base = population.base;
  options.slots = image.slots;
  options.partitions = image.partitions;
  options.chunk_bytes = image.chunk_bytes;
  options.content = image.content->data();
  options.content_bytes = data;
  return options;
}

/// A machine, a heap on it, and a workload in its initial state.
class World {
 public:
  World(const SessionSpec& spec, const SimPlan& plan) {
    const auto start = Clock::now();
    const SimOptions options = machine_options(spec, plan);
    const WorkloadInfo& info = *find_workload(spec.workload).value();
    const Parameters parameters = Parameters::make(info, spec.parameters).value();
    const CreateOptions create = heap_options(spec, plan);
    options_ = create.options;
    if (plan.cache == "off") {
      machine_ = std::make_unique<SimMachine>(options);
      heap_ = SimHeap::create(*machine_, create).value();
      workload_ = make_sim_workload(spec.workload, *heap_, parameters);
      workload_->set_up(spec.threads, kPopulationSeed).check();
    } else {
      const Population population = Population::of(spec, options);
      const PopulationImage image = open_population(population, ImageCache(plan.cache));
      set_up.image = image.file.file.path();
      set_up.built = image.file.because;
      set_up.data_bytes = image.content->bytes();
      machine_ = std::make_unique<SimMachine>(options);
      machine_->medium().offer(image.content);
      heap_ = SimHeap::create(*machine_, around(image, spec, population, create)).value();
      workload_ = make_sim_workload(spec.workload, *heap_, parameters);
      workload_->attach().check();
    }
    if (!plan.beside.structure.empty()) {
      ordinary_ = std::make_unique<OrdinaryThread>(*machine_, plan.beside, spec.seed);
    }
    set_up.host_seconds = seconds_since(start);
  }

  SimMachine& machine() { return *machine_; }
  SimHeap& heap() { return *heap_; }
  WorkloadInstance& workload() { return *workload_; }
  OrdinaryThread* ordinary() { return ordinary_.get(); }  ///< null: there is none

  /// Closes the heap and opens it again. Returns the work of recovery, which should be none.
  uint64_t reopen(const SessionSpec& spec) {
    heap_->close().check();
    workload_.reset();
    heap_.reset();
    open_heap(spec);
    attach(spec);
    return heap_->recovery().transactions;
  }

  /// After a power failure: opens the heap on a machine that holds the surviving image.
  SimRecovery power_on(const SessionSpec& spec, const SimPlan& plan) {
    // A hardware design adds its state to the image, and there is only one.
    const SimImage image =
        plan.design.empty() ? machine_->surviving_image() : machine_->earliest_image();
    workload_.reset();
    heap_.reset();
    ordinary_.reset();
    machine_.reset();
    SimOptions options = machine_options(spec, plan);
    options.max_steps = SimOptions{}.max_steps;  // recovery may look at the whole heap
    machine_ = std::make_unique<SimMachine>(options, image);
    SimRecovery recovery;
    machine_->power_on();
    recovery.design = machine_->design_recovery();
    const uint64_t began = machine_->timed() ? machine_->now() : 0;
    machine_->run_threads(1, [&](int) {  // operations outside run_threads take no time
      open_heap(spec);
      if (machine_->timed()) {
        const uint64_t took = machine_->now() - began + recovery.design.duration;
        recovery.simulated_seconds = static_cast<double>(took) * 1e-12;
      }
      recovery.persist = machine_->counters();
    });
    recovery.report = heap_->recovery();
    attach(spec);
    return recovery;
  }

  SetUp set_up;

 private:
  void open_heap(const SessionSpec& spec) {
    heap_ = SimHeap::open(*machine_, {spec.engine, options_}).value();
  }

  void attach(const SessionSpec& spec) {
    workload_ = make_sim_workload(
        spec.workload, *heap_,
        Parameters::make(*find_workload(spec.workload).value(), spec.parameters).value());
    workload_->attach().check();
  }

  Options options_;  // of the engine
  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<OrdinaryThread> ordinary_;
  std::unique_ptr<SimHeap> heap_;
  std::unique_ptr<WorkloadInstance> workload_;
};

std::vector<SimWorker> make_workers(const SessionSpec& spec, const SimRun& empty) {
  std::vector<SimWorker> workers;
  workers.reserve(static_cast<size_t>(spec.threads));
  for (int number = 0; number < spec.threads; ++number) {
    workers.push_back({Random(mix64(spec.seed) ^ mix64(static_cast<uint64_t>(number) + 1)), empty});
  }
  return workers;
}

/// The findings since `before`. A row's example stays the first one since the machine began.
std::vector<LintRow> lint_since(const std::vector<LintRow>& before, std::vector<LintRow> rows) {
  for (LintRow& row : rows) {
    for (const LintRow& old : before) {
      row.count -= old.kind == row.kind && old.where == row.where ? old.count : 0;
    }
  }
  std::erase_if(rows, [](const LintRow& row) { return row.count == 0; });
  std::stable_sort(rows.begin(), rows.end(), [](const LintRow& a, const LintRow& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.count > b.count;
  });
  return rows;
}

/// Measurements beside the counts.
struct Watch {
  double arrivals = 0;            ///< SimPlan::arrivals
  double gauge_microseconds = 0;  ///< SimPlan::gauge_microseconds
  uint64_t seed = 0;              ///< of the arrivals
};

DesignMeasurement measurement_of(SimMachine& machine) {
  DesignMeasurement m{
      machine.design_counters(), {}, machine.medium_counters(), machine.design_structure_bytes()};
  for (const auto& [name, count] : machine.hardware_design()->counters()) {
    m.own.emplace_back(name, count);
  }
  return m;
}

/// The computer of a timed run, as its hardware design has adapted it.
std::optional<MachineDescription> computer_of(SimMachine& machine, const SimPlan& plan) {
  if (!machine.timed() || plan.machine == nullptr) {
    return std::nullopt;
  }
  MachineDescription computer = *plan.machine;
  if (const HardwareDesign* design = machine.hardware_design()) {
    design->adapt(computer);
  }
  return computer;
}

DesignMeasurement operator-(DesignMeasurement now, const DesignMeasurement& before) {
  now.counters = now.counters - before.counters;
  now.medium = now.medium - before.medium;
  for (size_t i = 0; i < now.own.size(); ++i) {
    now.own[i].second -= before.own[i].second;
  }
  return now;
}

/// Counts a worker out when it ends, also by an exception, so that the thread beside it ends, too.
struct Leaving {
  int& running;
  ~Leaving() { running -= 1; }
};

/// Runs the transactions on all workers and fills in the counts of the machine and the engine.
SimRun measure(World& world, std::vector<SimWorker>& workers, const SimLength& length,
               const Watch& watch = {}) {
  SimRun run;
  SimMachine& machine = world.machine();
  const Statistics before = world.heap().statistics();
  const uint64_t steps_before = machine.steps();
  const SimCounters counters_before = machine.statistics();
  const std::vector<LintRow> lint_before = machine.lint_report();
  const uint64_t began = machine.timed() ? machine.now() : 0;
  const uint64_t events_before = machine.persist_events();
  const sim::MemoryCounters medium_before = machine.medium_counters();
  machine.count_wear();
  const bool with_design = !machine.design().empty();
  const DesignMeasurement design_before =
      with_design ? measurement_of(machine) : DesignMeasurement{};
  const auto start = Clock::now();
  const auto in_time = static_cast<uint64_t>(length.microseconds * 1e6);
  run.pending.interval = static_cast<uint64_t>(watch.gauge_microseconds * 1e6);
  const bool open_loop = watch.arrivals > 0;
  Arrivals arrivals(open_loop ? watch.arrivals : 1, began, watch.seed);
  const int threads = static_cast<int>(workers.size());
  const int gauges = run.pending.interval > 0 ? 1 : 0;
  const int beside = world.ordinary() != nullptr ? 1 : 0;
  int running = threads;   // simulated threads take turns on one host thread
  uint64_t ended = began;  // by the last worker; a round of background work may end after it
  machine.run_threads(threads + beside + gauges, [&](int number) {
    if (number == threads + beside) {
      run.pending.watch(machine, world.heap(), began + in_time);
      return;
    }
    if (number == threads) {
      run.beside = world.ordinary()->run(running);
      return;
    }
    const Leaving leaving{running};
    SimWorker& worker = workers[static_cast<size_t>(number)];
    if (in_time == 0) {
      worker.run(machine, world.workload(), number, length.transactions);
      ended = machine.timed() ? std::max(ended, machine.now()) : 0;
    } else if (open_loop) {
      worker.serve(arrivals, began + in_time, machine, world.workload(), number);
    } else {
      worker.run_until(began + in_time, machine, world.workload(), number);
    }
  });
  run.host_seconds = seconds_since(start);
  run.steps = machine.steps() - steps_before;
  run.counters = machine.statistics() - counters_before;
  run.lint = lint_since(lint_before, machine.lint_report());
  const uint64_t took = in_time != 0 ? in_time : ended - began;
  run.simulated_seconds = static_cast<double>(took) * 1e-12;
  run.persist_events = machine.persist_events() - events_before;
  run.statistics = world.heap().statistics() - before;
  run.medium = machine.medium_counters() - medium_before;
  run.wear = machine.medium_wear();
  if (with_design) {
    run.design = measurement_of(machine) - design_before;
  }
  return run;
}

/// Runs the measured part. Writes the timeline up to its end, also when it fails.
SimRun measure_and_draw(World& world, std::vector<SimWorker>& workers, const SimPlan& plan,
                        uint64_t seed) {
  const Watch watch{plan.arrivals, plan.gauge_microseconds, seed};
  if (plan.timeline == nullptr) {
    return measure(world, workers, plan.measured, watch);
  }
  world.machine().record(&plan.timeline->timeline());
  try {
    SimRun run = measure(world, workers, plan.measured, watch);
    world.machine().record(nullptr);
    plan.timeline->write().check();
    return run;
  } catch (...) {
    world.machine().record(nullptr);
    static_cast<void>(plan.timeline->write());  // the caller reports the first error
    throw;
  }
}

/// Chooses the persist event of the power failure: an update has begun and is not durable.
constexpr uint64_t kIntoAnUpdate = 8;
/// Operations per thread after which a workload with updates has begun one.
constexpr int kMostReadsInARow = 10'000;

/// The workers go on until the power fails in the middle of an update.
void fail_power(World& world, std::vector<SimWorker>& workers) {
  SimMachine& machine = world.machine();
  machine.crash_at(machine.persist_events() + kIntoAnUpdate);
  machine.run_threads(static_cast<int>(workers.size()), [&](int number) {
    workers[static_cast<size_t>(number)].run(machine, world.workload(), number, kMostReadsInARow);
  });
  if (!machine.crashed()) {
    throw Error(Status(Code::invalid_argument,
                       "recovery: the workload does not update, so there is nothing to recover "
                       "from; change its parameters"));
  }
}

}  // namespace

SimRun run_simulated(const SessionSpec& spec, const SimPlan& plan) {
  World world(spec, plan);
  SimRun empty;
  empty.by_kind.resize(world.workload().info().operations.size());
  empty.done_by_kind.resize(empty.by_kind.size());
  std::vector<SimWorker> workers = make_workers(spec, empty);
  if (plan.warm_up.transactions != 0 || plan.warm_up.microseconds != 0) {
    measure(world, workers, plan.warm_up);
    for (SimWorker& worker : workers) {
      worker.own = empty;
    }
  }
  SimRun run = measure_and_draw(world, workers, plan, spec.seed);
  run.set_up = world.set_up;
  run.computer = computer_of(world.machine(), plan);
  run.by_kind = empty.by_kind;
  run.done_by_kind = empty.done_by_kind;
  for (const SimWorker& worker : workers) {
    run.operations += worker.own.operations;
    run.late += worker.own.late;
    run.queued += worker.own.queued;
    run.response += worker.own.response;
    run.response_sum += worker.own.response_sum;
    run.rolled_back += worker.own.rolled_back;
    for (size_t kind = 0; kind < run.by_kind.size(); ++kind) {
      run.by_kind[kind] += worker.own.by_kind[kind];
      run.done_by_kind[kind] += worker.own.done_by_kind[kind];
    }
  }
  if (plan.recovery) {
    fail_power(world, workers);
    run.recovery = world.power_on(spec, plan);
  }
  if (plan.check) {
    run.check = world.workload().check();
    world.heap().close().check();
  } else {
    world.machine().switch_off();  // closing in full could take longer than the run
  }
  return run;
}

SimReplay run_simulated_replay(const SessionSpec& spec, const SimPlan& plan,
                               const ReplayOptions& options) {
  SessionSpec roomy = spec;
  roomy.threads = std::max(spec.threads, options.replayers);
  World world(roomy, plan);
  SimRun empty;
  empty.by_kind.resize(world.workload().info().operations.size());
  empty.done_by_kind.resize(empty.by_kind.size());
  std::vector<SimWorker> workers = make_workers(spec, empty);
  world.heap().engine().replay({}).status().check();  // the logs of the set-up
  const SimRun filled = measure(world, workers, plan.measured);
  if (filled.statistics.replayed != 0) {
    throw filled_too_far(filled.statistics.replayed);
  }
  SimReplay result;
  result.set_up = world.set_up;
  SimMachine& machine = world.machine();
  const PersistCounters persist_before = machine.counters();
  const SimCounters counters_before = machine.statistics();
  const uint64_t steps_before = machine.steps();
  const uint64_t began = machine.timed() ? machine.now() : 0;
  const auto start = Clock::now();
  result.report = world.heap().engine().replay(options).value();
  result.host_seconds = seconds_since(start);
  result.simulated_seconds =
      machine.timed() ? static_cast<double>(machine.now() - began) * 1e-12 : 0;
  result.persist = machine.counters() - persist_before;
  result.counters = machine.statistics() - counters_before;
  result.steps = machine.steps() - steps_before;
  if (!plan.check) {
    world.machine().switch_off();
  } else if (const uint64_t left = world.reopen(spec); left != 0) {
    result.check =
        Status(Code::corrupt, std::to_string(left) + " transactions were left to recovery");
  } else {
    result.check = world.workload().check();
    world.heap().close().check();
  }
  return result;
}

}  // namespace holdfast
