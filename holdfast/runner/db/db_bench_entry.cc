// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/db_bench_entry.h"

#include <algorithm>
#include <numeric>

#include "holdfast/runner/spec/median.h"

namespace holdfast::store_bench {
namespace {

Json head(const Measured& m, int family, const char* run_type) {
  const std::string name = m.benchmark + "/" + m.store + "/threads:" + std::to_string(m.threads);
  return {{"name", name},          {"family_index", family},   {"per_family_instance_index", 0},
          {"run_name", name},      {"run_type", run_type},     {"repetitions", m.runs.size()},
          {"threads", m.threads},  {"benchmark", m.benchmark}, {"store", m.store},
          {"survives", m.survives}};
}

template <class F>
std::vector<double> each(const Measured& m, F&& value) {
  std::vector<double> values;
  std::transform(m.runs.begin(), m.runs.end(), std::back_inserter(values), value);
  return values;
}

double megabytes_per_second(const Run& run) {
  return run.seconds > 0 ? static_cast<double>(run.bytes) / 1048576.0 / run.seconds : 0;
}

/// Times per operation: Google Benchmark's (wall time, processor time of the process), and
/// db_bench's.
void add_times(double per_second, double cpu_ns, double micros, Json& entry) {
  entry["real_time"] = per_second > 0 ? 1e9 / per_second : 0;
  entry["cpu_time"] = cpu_ns;
  entry["time_unit"] = "ns";
  entry["items_per_second"] = per_second;
  entry["micros_per_op"] = micros;
}

void add_percentiles(const Histogram& latency, Json& entry) {
  entry["p50_ns"] = latency.percentile(0.50);
  entry["p90_ns"] = latency.percentile(0.90);
  entry["p99_ns"] = latency.percentile(0.99);
  entry["p999_ns"] = latency.percentile(0.999);
  entry["latency_samples"] = latency.count();
}

Json median_entry(const Measured& m, int family) {
  Json entry = head(m, family, "aggregate");
  entry["name"] = entry["run_name"].get<std::string>() + "_median";
  entry["aggregate_name"] = "median";
  entry["aggregate_unit"] = "time";
  entry["iterations"] = m.runs.size();
  const auto rates = each(m, [](const Run& run) { return run.per_second(); });
  const auto micros = each(m, [](const Run& run) { return run.micros_per_op(); });
  add_times(median(rates), median(each(m, [](const Run& run) { return run.cpu_ns_per_op(); })),
            median(micros), entry);
  entry["items_per_second_min"] = *std::min_element(rates.begin(), rates.end());
  entry["items_per_second_max"] = *std::max_element(rates.begin(), rates.end());
  entry["micros_per_op_min"] = *std::min_element(micros.begin(), micros.end());
  entry["micros_per_op_max"] = *std::max_element(micros.begin(), micros.end());
  const Run& last = m.runs.back();  // every round has these counts: the seeds are equal
  entry["operations_done"] = last.operations;
  if (last.bytes > 0) {
    entry["megabytes_per_second"] = median(each(m, megabytes_per_second));
  }
  if (last.looked > 0) {
    entry["looked"] = last.looked;
    entry["found"] = last.found;
  }
  Histogram all;
  entry["operations"] = Json::array();
  for (size_t kind = 0; kind < m.kinds.size(); ++kind) {
    Histogram latency;
    for (const Run& run : m.runs) {
      latency += run.latency[kind];
    }
    all += latency;
    if (last.by_kind[kind] > 0) {
      Json one = {{"operation", m.kinds[kind]}, {"count", last.by_kind[kind]}};
      add_percentiles(latency, one);
      entry["operations"].push_back(one);
    }
  }
  add_percentiles(all, entry);
  return entry;
}

}  // namespace

void append_entries(const Measured& m, int family, Json& benchmarks) {
  if (!m.status.ok() || m.runs.empty()) {
    Json entry = head(m, family, "iteration");
    entry["error_occurred"] = true;
    entry["error_message"] = m.status.ok() ? "nothing was measured" : m.status.to_string();
    benchmarks.push_back(entry);
    return;
  }
  for (size_t i = 0; i < m.runs.size(); ++i) {
    Json entry = head(m, family, "iteration");
    entry["repetition_index"] = i;
    entry["iterations"] = m.runs[i].operations;
    add_times(m.runs[i].per_second(), m.runs[i].cpu_ns_per_op(), m.runs[i].micros_per_op(), entry);
    benchmarks.push_back(entry);
  }
  benchmarks.push_back(median_entry(m, family));
}

}  // namespace holdfast::store_bench
