// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/simulate.h"

#include <numeric>

#include "holdfast/hardware/designs.h"
#include "holdfast/runner/bench/bench_entry.h"
#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/sim_counters_json.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/machines.h"

namespace holdfast {
namespace {

struct Plan {
  SessionSpec common;
  std::vector<std::string> engines;
  std::vector<int> threads;
  std::vector<int> replayers;  ///< empty: transactions are measured, not log replay
  bool filter = false;
  std::string machine;
  MachineChanges changes;  ///< of its description
  SimPlan run;
};

/// The machine without a description: random schedules, no time.
constexpr const char* kFunctional = "sim";

void choose_machine(Plan& plan, const std::string& directory, const std::string& schedule) {
  if (plan.machine == kFunctional && !plan.changes.empty()) {
    throw Error(Status(Code::invalid_argument, "machine sim has no description in which to set '" +
                                                   plan.changes.begin()->first +
                                                   "'; choose one of " +
                                                   join(machine_names(directory))));
  }
  if (plan.machine != kFunctional) {
    auto found = find_machine(plan.machine, directory, plan.changes);
    plan.run.machine = std::make_shared<MachineDescription>(std::move(found).value());
    plan.run.schedule = Schedule::timed;
  }
  if (!schedule.empty()) {
    find_row("schedule", schedule, std::array{"timed", "random"}, Code::invalid_argument)
        .status()
        .check();
  }
  if (schedule == "random") {
    plan.run.schedule = Schedule::random;
  } else if (schedule == "timed" && plan.run.machine == nullptr) {
    throw Error(Status(Code::invalid_argument,
                       "machine sim has no notion of time; for a timed run choose one of " +
                           join(machine_names(directory))));
  }
}

/// A number of transactions, or a time.
SimLength read_length(const Json& spec, Fields& fields, const std::string& in_time,
                      const std::string& counted, int64_t fallback, int64_t least) {
  constexpr int64_t kMost = 1'000'000'000;
  SimLength length;
  length.microseconds = fields.real(in_time, 0, 0, 1e9);
  length.transactions = static_cast<uint64_t>(fields.number(counted, fallback, least, kMost));
  if (length.microseconds > 0) {
    if (spec.contains(counted)) {
      throw Error(Status(Code::invalid_argument,
                         "sim: either " + counted + " or " + in_time + ", not both"));
    }
    length.transactions = 0;
  }
  return length;
}

void read_lengths(const Json& spec, Fields& fields, SimPlan& plan) {
  plan.measured = read_length(spec, fields, "duration_us", "transactions", 1000, 1);
  plan.warm_up = read_length(spec, fields, "warm_up_us", "warm_up",
                             static_cast<int64_t>(plan.measured.transactions / 10), 0);
  if (plan.measured.microseconds > 0 && !spec.contains("warm_up") && !spec.contains("warm_up_us")) {
    plan.warm_up.microseconds = plan.measured.microseconds / 10;
  }
}

void check_lengths(const SimPlan& plan) {
  const bool in_time = plan.measured.microseconds > 0 || plan.warm_up.microseconds > 0;
  if (in_time && plan.schedule != Schedule::timed) {
    throw Error(Status(Code::invalid_argument,
                       "sim: without simulated time there is no duration_us; choose a machine with "
                       "a description, such as power9, or a number of transactions"));
  }
}

void check_design(const Plan& plan) {
  if (plan.run.design.empty()) {
    return;
  }
  make_design(plan.run.design, plan.run.design_options).status().check();
  if (plan.run.schedule != Schedule::timed) {
    throw Error(Status(Code::invalid_argument,
                       "a hardware design needs a timed run on a machine with caches; choose one "
                       "with --machine, such as gem5-hercules"));
  }
}

void check_recovery(const Plan& plan, const std::vector<const Description*>& engines) {
  if (!plan.run.recovery) {
    return;
  }
  if (!plan.run.design.empty() || !plan.replayers.empty()) {
    throw Error(Status(Code::invalid_argument,
                       "sim: recovery is measured after transactions of an engine in software, "
                       "not after log replay or with a hardware design"));
  }
  for (const Description* engine : engines) {
    if (engine->durability == Durability::none) {
      throw Error(Status(Code::invalid_argument, std::string("sim: engine ") + engine->name +
                                                     " is not durable: it has no recovery"));
    }
  }
}

/// Log replay is measured instead of transactions.
void prepare_replay(Plan& plan) {
  std::vector<std::string> known;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.replays) {
      known.emplace_back(row.description->name);
    }
  }
  if (plan.engines.empty()) {
    plan.engines = known;
  }
  check_replays(plan.engines, known).check();
  plan.common.options.emplace("background", "0");
  if (plan.run.lint) {
    throw Error(
        Status(Code::invalid_argument, "sim: lint looks at transactions, not at replayers"));
  }
}

void open_timeline(Plan& plan, const std::string& path) {
  if (path.empty()) {
    return;
  }
  if (plan.engines.size() != 1 || plan.threads.size() != 1) {
    throw Error(Status(Code::invalid_argument,
                       "a timeline shows one run: choose one engine and one number of threads, "
                       "not " +
                           std::to_string(plan.engines.size()) + " and " +
                           std::to_string(plan.threads.size())));
  }
  plan.run.timeline = TimelineFile::open(path, plan.machine + " / " + plan.engines[0] + " / " +
                                                   plan.common.workload + " / " +
                                                   std::to_string(plan.threads[0]) + " threads")
                          .value();
}

Plan parse(const Json& spec) {
  Plan plan;
  Json with_default = spec;
  if (spec.is_object() && !spec.contains("domain")) {
    with_default["domain"] = to_string(Domain::pmem);
  }
  Fields fields(with_default, "sim");
  plan.common = SessionSpec::parse_common(fields);
  plan.engines = fields.texts("engines");
  plan.threads = fields.numbers("threads", 2, 1, 64);
  read_lengths(spec, fields, plan.run);
  plan.run.design = fields.text("design", "");
  plan.run.design_options = fields.map("design_options");
  plan.run.cache = fields.text("cache", "");
  plan.run.check = fields.flag("check", true);
  plan.run.lint = fields.flag("lint", false);
  plan.run.recovery = fields.flag("recovery", false);
  if (spec.contains("replayers")) {
    plan.replayers = fields.numbers("replayers", 1, 1, 64);
  }
  plan.filter = fields.flag("filter", false);
  plan.machine = fields.text("machine", kFunctional);
  const std::string directory = fields.text("machines_dir", "");
  plan.changes = fields.map("set");
  const std::string schedule = fields.text("schedule", "");
  const std::string timeline = fields.text("timeline", "");
  fields.finish();
  choose_machine(plan, directory, schedule);
  check_lengths(plan.run);
  if (!spec.contains("domain") && plan.run.machine != nullptr &&
      plan.run.machine->persistence.eadr) {
    plan.common.domain = Domain::eadr;
  }
  check_design(plan);
  if (!plan.replayers.empty()) {
    prepare_replay(plan);
  }
  if (plan.engines.empty()) {
    plan.engines = plan.run.design.empty() ? engine_names(false) : std::vector<std::string>{"hw"};
  }
  std::vector<const Description*> chosen;
  chosen.reserve(plan.engines.size());
  for (const std::string& name : plan.engines) {
    chosen.push_back(AnyEngine<SimMachine>::describe(name).value());
  }
  check_recovery(plan, chosen);
  check_options(chosen, plan.common.options).check();
  open_timeline(plan, timeline);
  return plan;
}

Json head(const SessionSpec& spec) {
  const std::string name =
      "sim/" + spec.workload + "/" + spec.engine + "/threads:" + std::to_string(spec.threads);
  return {{"name", name},
          {"run_name", name},
          {"run_type", "aggregate"},
          {"aggregate_name", "median"},
          {"aggregate_unit", "time"},
          {"repetitions", 1},
          {"threads", spec.threads},
          {"workload", spec.workload},
          {"engine", spec.engine}};
}

/// What depends on this computer, not on the simulated one.
void add_host(double seconds, const SetUp& set_up, Json& json) {
  json["host_seconds"] = seconds;
  json["host_set_up_seconds"] = set_up.host_seconds;
  json["host_image"] = {
      {"path", set_up.image}, {"built", set_up.built}, {"data_bytes", set_up.data_bytes}};
}

Json entry(const SessionSpec& spec, const SimRun& run, bool checked) {
  Json json = head(spec);
  json["iterations"] = run.operations;
  // Simulated time per transaction, all threads together; 0 on a machine without time.
  const double done = std::accumulate(run.done_by_kind.begin(), run.done_by_kind.end(), 0.0);
  json["real_time"] = done > 0 ? run.simulated_seconds * 1e9 / done : 0;
  json["cpu_time"] = json["real_time"];
  json["time_unit"] = "ns";
  if (run.simulated_seconds > 0) {
    json["items_per_second"] = done / run.simulated_seconds;
  }
  json["rolled_back"] = run.rolled_back;
  json["late"] = run.late;
  const WorkloadInfo* info = find_workload(spec.workload).value();
  json["operations"] = Json::array();
  for (size_t kind = 0; kind < run.by_kind.size(); ++kind) {
    json["operations"].push_back(
        {{"operation", info->operations[kind]}, {"count", run.by_kind[kind]}});
    if (run.simulated_seconds > 0) {
      json["operations"].back()["items_per_second"] =
          run.done_by_kind[kind] / run.simulated_seconds;
    }
  }
  add_counters(run.statistics, json);
  const PersistCounters& p = run.statistics.persist;
  json["persist"] = {{"pwb", p.pwb},
                     {"pfence", p.pfence},
                     {"psync", p.psync},
                     {"fence", p.fence},
                     {"bytes", p.bytes}};
  json["simulated_steps"] = run.steps;
  json["simulated_memory_operations"] = run.counters.memory_operations();
  json["simulated_seconds"] = run.simulated_seconds;
  json["machine_counters"] = to_json(run.counters);
  json["persist_events"] = run.persist_events;
  if (run.recovery) {
    json["recovery"] = {{"seconds", run.recovery->simulated_seconds},
                        {"needed", run.recovery->report.needed},
                        {"transactions", run.recovery->report.transactions},
                        {"bytes", run.recovery->report.bytes},
                        {"text", run.recovery->report.text},
                        {"pwb", run.recovery->persist.pwb}};
  }
  add_host(run.host_seconds, run.set_up, json);
  json["check"] = checked ? run.check.to_string() : "not asked for";
  return json;
}

void add_length(const SimLength& length, const char* counted, const char* in_time, Json& context) {
  if (length.microseconds > 0) {
    context[in_time] = length.microseconds;
  } else {
    context[counted] = length.transactions;
  }
}

Json failed(const SessionSpec& spec, const std::string& why) {
  Json json = head(spec);
  json["run_type"] = "iteration";
  json["error_occurred"] = true;
  json["error_message"] = why;
  return json;
}

/// One configuration: its entry, or an entry that says why there is none.
Json simulate_one(const SessionSpec& spec, const SimPlan& plan) {
  try {
    const SimRun run = run_simulated(spec, plan);
    if (!run.check.ok()) {
      return failed(spec, run.check.to_string());
    }
    Json json = entry(spec, run, plan.check);
    if (plan.lint) {
      json["lint"] = to_json(run.lint);
    }
    if (plan.timeline != nullptr) {
      json["timeline"] = {{"path", plan.timeline->path()},
                          {"slices", plan.timeline->timeline().slices().size()},
                          {"left_out", plan.timeline->timeline().left_out()}};
    }
    return json;
  } catch (const Error& error) {
    return failed(spec, error.status().to_string());
  } catch (const MediumFailure& failure) {
    return failed(spec, failure.status().to_string());
  } catch (const SimStuck& stuck) {
    return failed(spec, stuck.what());
  }
}

Json simulate_replay(const SessionSpec& spec, const Plan& plan, int replayers) {
  MeasuredReplay measured{.workload = spec.workload,
                          .engine = spec.engine,
                          .threads = spec.threads,
                          .options = {replayers, plan.filter}};
  try {
    const SimReplay run = run_simulated_replay(spec, plan.run, measured.options);
    run.check.check();
    measured.report = run.report;
    measured.seconds = run.simulated_seconds;
    measured.persist = run.persist;
    Json json = replay_entry(measured);
    json["simulated_steps"] = run.steps;
    json["simulated_memory_operations"] = run.counters.memory_operations();
    json["simulated_seconds"] = run.simulated_seconds;
    json["machine_counters"] = to_json(run.counters);
    add_host(run.host_seconds, run.set_up, json);
    json["check"] = plan.run.check ? run.check.to_string() : "not asked for";
    return json;
  } catch (const Error& error) {
    return failed_replay_entry(measured, error.status().to_string());
  } catch (const MediumFailure& failure) {
    return failed_replay_entry(measured, failure.status().to_string());
  } catch (const SimStuck& stuck) {
    return failed_replay_entry(measured, stuck.what());
  }
}

/// All entries of one engine with one number of threads.
void simulate_engine(const SessionSpec& spec, const Plan& plan, Json& benchmarks) {
  if (plan.replayers.empty()) {
    benchmarks.push_back(simulate_one(spec, plan.run));
  }
  for (const int replayers : plan.replayers) {
    benchmarks.push_back(simulate_replay(spec, plan, replayers));
  }
}

}  // namespace

Result<Json> simulate(const Json& spec, Progress progress) {
  return guarded([&] {
    const Plan plan = parse(spec);
    Json benchmarks = Json::array();
    const double steps = static_cast<double>(plan.engines.size() * plan.threads.size());
    double done = 0;
    for (const int threads : plan.threads) {
      for (const std::string& engine : plan.engines) {
        SessionSpec one = plan.common;
        one.engine = engine;
        one.threads = threads;
        progress(done++ / steps, "simulate " + engine);
        simulate_engine(one, plan, benchmarks);
      }
    }
    progress(1, "done");
    Json context = environment();
    context["machine"] = plan.machine;
    context["design"] = plan.run.design;
    context["design_options"] = plan.run.design_options;
    context["workload"] = plan.common.workload;
    context["params"] = plan.common.parameters;
    context["options"] = plan.common.options;
    context["domain"] = to_string(plan.common.domain);
    add_length(plan.run.measured, "transactions_per_thread", "duration_us", context);
    add_length(plan.run.warm_up, "warm_up_per_thread", "warm_up_us", context);
    context["set"] = plan.changes;
    context["seed"] = plan.common.seed;
    context["time_model"] =
        plan.run.schedule == Schedule::timed ? "simulated time" : "none (random schedule)";
    return Json{{"context", context}, {"benchmarks", benchmarks}};
  });
}

}  // namespace holdfast
