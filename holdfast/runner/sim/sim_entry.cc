// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_entry.h"

#include <numeric>

#include "holdfast/runner/bench/bench_entry.h"
#include "holdfast/runner/sim/sim_counters_json.h"
#include "holdfast/workloads/catalogue.h"

namespace holdfast {
namespace {

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

/// Adds the figures of this computer, as opposed to those of the simulated one.
void add_host(double seconds, const SetUp& set_up, Json& json) {
  json["host_seconds"] = seconds;
  json["host_set_up_seconds"] = set_up.host_seconds;
  json["host_image"] = {
      {"path", set_up.image}, {"built", set_up.built}, {"data_bytes", set_up.data_bytes}};
}

}  // namespace

Json sim_entry(const SessionSpec& spec, const SimRun& run, const SimPlan& plan) {
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
  json["check"] = plan.check ? run.check.to_string() : "not asked for";
  if (plan.lint) {
    json["lint"] = to_json(run.lint);
  }
  if (plan.timeline != nullptr) {
    json["timeline"] = {{"path", plan.timeline->path()},
                        {"slices", plan.timeline->timeline().slices().size()},
                        {"left_out", plan.timeline->timeline().left_out()}};
  }
  return json;
}

Json failed_sim_entry(const SessionSpec& spec, const std::string& why) {
  Json json = head(spec);
  json["run_type"] = "iteration";
  json["error_occurred"] = true;
  json["error_message"] = why;
  return json;
}

Json sim_replay_entry(MeasuredReplay measured, const SimReplay& run, const SimPlan& plan) {
  measured.report = run.report;
  measured.seconds = run.simulated_seconds;
  measured.persist = run.persist;
  Json json = replay_entry(measured);
  json["simulated_steps"] = run.steps;
  json["simulated_memory_operations"] = run.counters.memory_operations();
  json["simulated_seconds"] = run.simulated_seconds;
  json["machine_counters"] = to_json(run.counters);
  add_host(run.host_seconds, run.set_up, json);
  json["check"] = plan.check ? run.check.to_string() : "not asked for";
  return json;
}

}  // namespace holdfast
