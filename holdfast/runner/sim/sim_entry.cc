// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_entry.h"

#include <algorithm>
#include <numeric>

#include "holdfast/runner/bench/bench_entry.h"
#include "holdfast/runner/sim/sim_counters_json.h"
#include "holdfast/workloads/catalogue.h"

namespace holdfast {
namespace {

Json head(const SessionSpec& spec, const SimPlan& plan) {
  const std::string design = plan.design.empty() ? "" : "/design:" + plan.design;
  const std::string name = "sim/" + spec.workload + "/" + spec.engine + design +
                           "/threads:" + std::to_string(spec.threads);
  return {{"name", name},
          {"run_name", name},
          {"run_type", "aggregate"},
          {"aggregate_name", "median"},
          {"aggregate_unit", "time"},
          {"repetitions", 1},
          {"threads", spec.threads},
          {"workload", spec.workload},
          {"engine", spec.engine},
          {"design", plan.design}};
}

Json to_json(const PendingGauge& gauge) {
  Json samples = Json::array();
  uint64_t most = 0;
  uint64_t oldest = 0;
  double sum = 0;
  for (const PendingGauge::Sample& sample : gauge.samples) {
    samples.push_back({static_cast<double>(sample.time) * 1e-6, sample.count,
                       static_cast<double>(sample.age) * 1e-6});
    most = std::max(most, sample.count);
    oldest = std::max(oldest, sample.age);
    sum += static_cast<double>(sample.count);
  }
  return {{"samples", std::move(samples)},
          {"mean", gauge.samples.empty() ? 0 : sum / static_cast<double>(gauge.samples.size())},
          {"max", most},
          {"max_age_us", static_cast<double>(oldest) * 1e-6}};
}

Json response_of(const SimRun& run) {
  constexpr double kPicoseconds = 1000;  // in a nanosecond
  const auto at = [&](double share) { return run.response.percentile(share) / kPicoseconds; };
  return {{"count", run.response.count()},
          {"mean_ns", run.response_sum / kPicoseconds / static_cast<double>(run.response.count())},
          {"p50_ns", at(0.5)},
          {"p90_ns", at(0.9)},
          {"p99_ns", at(0.99)},
          {"p999_ns", at(0.999)},
          {"max_ns", at(1)}};
}

Json to_json(const sim::MemoryCounters& medium, const sim::WearSummary& wear) {
  return {{"writes", medium.writes - medium.merged - medium.cancelled},
          {"reads", medium.reads - medium.forwarded},
          {"wear", {{"lines", wear.lines}, {"writes", wear.writes}, {"max", wear.most}}}};
}

/// The caches of a computer: the bytes of one cache of each level, and their number.
Json caches_of(const MachineDescription& computer) {
  const int cores = computer.cores * computer.sockets;
  Json json = {{"line_bytes", computer.line_bytes}};
  const auto add = [&](const char* name, const CacheDescription& level) {
    if (level.bytes != 0) {
      json[name] = {{"bytes", level.bytes}, {"count", cores / level.cores}};
    }
  };
  add("l1", computer.l1), add("l2", computer.l2), add("llc", computer.llc);
  return json;
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
  Json json = head(spec, plan);
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
  if (run.response.count() > 0) {
    json["response"] = response_of(run);
  }
  if (plan.arrivals > 0) {
    json["queued"] = run.queued;
  }
  if (plan.gauge_microseconds > 0) {
    json["pending"] = to_json(run.pending);
  }
  if (run.beside) {
    const BesideRun::MissRates rates = run.beside->miss_rates();
    json["beside"] = {{"structure", plan.beside.structure},
                      {"inserts", run.beside->inserts},
                      {"miss_rate", {{"l1", rates.l1}, {"l2", rates.l2}, {"llc", rates.llc}}},
                      {"machine_counters", to_json(run.beside->counters)}};
  }
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
  if (run.computer) {
    json["medium"] = to_json(run.medium, run.wear);
    json["caches"] = caches_of(*run.computer);
  }
  if (run.design) {
    json["design_counters"] = to_json(*run.design);
  }
  if (run.recovery) {
    json["recovery"] = {{"seconds", run.recovery->simulated_seconds},
                        {"needed", run.recovery->report.needed},
                        {"transactions", run.recovery->report.transactions},
                        {"bytes", run.recovery->report.bytes},
                        {"text", run.recovery->report.text},
                        {"pwb", run.recovery->persist.pwb}};
    const DesignRecovery& design = run.recovery->design;
    if (design.needed) {
      json["recovery"]["design"] = {{"seconds", static_cast<double>(design.duration) * 1e-12},
                                    {"transactions", design.transactions},
                                    {"discarded", design.discarded},
                                    {"lines_written", design.lines_written},
                                    {"text", design.text}};
    }
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

Json failed_sim_entry(const SessionSpec& spec, const SimPlan& plan, const std::string& why) {
  Json json = head(spec, plan);
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
