// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/simulate.h"

#include "holdfast/runner/bench_entry.h"
#include "holdfast/runner/engine_table.h"
#include "holdfast/runner/environment.h"
#include "holdfast/runner/sim_run.h"

namespace holdfast {
namespace {

struct Plan {
  SessionSpec common;
  std::vector<std::string> engines;
  std::vector<int> threads;
  uint64_t transactions = 0;
};

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
  plan.transactions = static_cast<uint64_t>(fields.number("transactions", 1000, 1, 1'000'000'000));
  const std::string machine = fields.text("machine", "sim");
  fields.finish();
  if (machine != "sim") {
    throw Error(Status(Code::not_found, "no simulated machine '" + machine + "'; there is sim"));
  }
  if (plan.engines.empty()) {
    plan.engines = engine_names(false);
  }
  std::vector<const Description*> chosen;
  for (const std::string& name : plan.engines) {
    chosen.push_back(AnyEngine<SimMachine>::describe(name).value());
  }
  check_options(chosen, plan.common.options).check();
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

Json entry(const SessionSpec& spec, const SimRun& run) {
  Json json = head(spec);
  json["iterations"] = run.operations;
  json["real_time"] = 0;
  json["cpu_time"] = 0;
  json["time_unit"] = "ns";
  json["rolled_back"] = run.rolled_back;
  const WorkloadInfo* info = find_workload(spec.workload).value();
  json["operations"] = Json::array();
  for (size_t kind = 0; kind < run.by_kind.size(); ++kind) {
    json["operations"].push_back(
        {{"operation", info->operations[kind]}, {"count", run.by_kind[kind]}});
  }
  add_counters(run.statistics, json);
  const PersistCounters& p = run.statistics.persist;
  json["persist"] = {{"pwb", p.pwb},
                     {"pfence", p.pfence},
                     {"psync", p.psync},
                     {"fence", p.fence},
                     {"bytes", p.bytes}};
  json["simulated_steps"] = run.steps;
  json["persist_events"] = run.persist_events;
  json["host_seconds"] = run.host_seconds;
  json["check"] = run.check.to_string();
  return json;
}

Json failed(const SessionSpec& spec, const std::string& why) {
  Json json = head(spec);
  json["run_type"] = "iteration";
  json["error_occurred"] = true;
  json["error_message"] = why;
  return json;
}

/// One configuration: its entry, or an entry that says why there is none.
Json simulate_one(const SessionSpec& spec, uint64_t transactions) {
  try {
    const SimRun run = run_simulated(spec, transactions);
    return run.check.ok() ? entry(spec, run) : failed(spec, run.check.to_string());
  } catch (const Error& error) {
    return failed(spec, error.status().to_string());
  } catch (const MediumFailure& failure) {
    return failed(spec, failure.status().to_string());
  } catch (const SimStuck& stuck) {
    return failed(spec, stuck.what());
  }
}

}  // namespace

Result<Json> simulate(const Json& spec, Progress progress) {
  return guarded([&] {
    const Plan plan = parse(spec);
    Json benchmarks = Json::array();
    const double steps = static_cast<double>(plan.engines.size() * plan.threads.size());
    for (const int threads : plan.threads) {
      for (const std::string& engine : plan.engines) {
        SessionSpec one = plan.common;
        one.engine = engine;
        one.threads = threads;
        progress(static_cast<double>(benchmarks.size()) / steps, "simulate " + engine);
        benchmarks.push_back(simulate_one(one, plan.transactions));
      }
    }
    progress(1, "done");
    Json context = environment();
    context["machine"] = "sim";
    context["workload"] = plan.common.workload;
    context["params"] = plan.common.parameters;
    context["options"] = plan.common.options;
    context["domain"] = to_string(plan.common.domain);
    context["transactions_per_thread"] = plan.transactions;
    context["seed"] = plan.common.seed;
    context["time_model"] = "none (functional simulation)";
    return Json{{"context", context}, {"benchmarks", benchmarks}};
  });
}

}  // namespace holdfast
