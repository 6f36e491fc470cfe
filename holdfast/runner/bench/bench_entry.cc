// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/bench/bench_entry.h"

#include <algorithm>

#include "holdfast/runner/spec/median.h"

namespace holdfast {
namespace {

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

template <class F>
std::vector<double> each(const std::vector<Measurement>& measurements, F&& value) {
  std::vector<double> values;
  values.reserve(measurements.size());
  for (const Measurement& measurement : measurements) {
    values.push_back(value(measurement));
  }
  return values;
}

/// Google Benchmark's times per operation: wall time, and processor time of the process.
void add_times(double per_second, double cpu_ns, Json& entry) {
  entry["real_time"] = per_second > 0 ? 1e9 / per_second : 0;
  entry["cpu_time"] = cpu_ns;
  entry["time_unit"] = "ns";
  entry["items_per_second"] = per_second;
}

double cpu_ns(const Measurement& measurement) {
  return measurement.operations == 0
             ? 0
             : measurement.cpu_seconds * 1e9 / static_cast<double>(measurement.operations);
}

Json head(const Measured& m, int family, const char* run_type) {
  return {{"name", m.name()},     {"family_index", family}, {"per_family_instance_index", 0},
          {"run_name", m.name()}, {"run_type", run_type},   {"repetitions", m.measurements.size()},
          {"threads", m.threads}, {"workload", m.workload}, {"engine", m.engine}};
}

Json kind_entry(const Measured& m, size_t kind, double operations) {
  Histogram latency;
  uint64_t count = 0;
  for (const Measurement& measurement : m.measurements) {
    latency += measurement.latency[kind];
    count += measurement.by_kind[kind];
  }
  const auto rates = each(m.measurements, [&](const Measurement& measurement) {
    return measurement.seconds > 0
               ? static_cast<double>(measurement.by_kind[kind]) / measurement.seconds
               : 0;
  });
  return {{"operation", m.kinds[kind]},
          {"items_per_second", median(rates)},
          {"share", operations > 0 ? static_cast<double>(count) / operations : 0},
          {"p50_ns", latency.percentile(0.50)},
          {"p99_ns", latency.percentile(0.99)},
          {"latency_samples", latency.count()}};
}

Json median_entry(const Measured& m, int family) {
  Json entry = head(m, family, "aggregate");
  entry["name"] = m.name() + "_median";
  entry["aggregate_name"] = "median";
  entry["aggregate_unit"] = "time";
  entry["iterations"] = m.measurements.size();
  const auto rates =
      each(m.measurements, [](const Measurement& measurement) { return measurement.per_second(); });
  add_times(median(rates), median(each(m.measurements, cpu_ns)), entry);
  entry["items_per_second_min"] = *std::min_element(rates.begin(), rates.end());
  entry["items_per_second_max"] = *std::max_element(rates.begin(), rates.end());
  Statistics statistics;
  Histogram latency;
  double operations = 0;
  uint64_t rolled_back = 0;
  for (const Measurement& measurement : m.measurements) {
    statistics += measurement.statistics;
    operations += static_cast<double>(measurement.operations);
    rolled_back += measurement.rolled_back;
    for (const Histogram& h : measurement.latency) {
      latency += h;
    }
  }
  entry["p50_ns"] = latency.percentile(0.50);
  entry["p99_ns"] = latency.percentile(0.99);
  entry["rolled_back"] = rolled_back;
  entry["operations"] = Json::array();
  for (size_t kind = 0; kind < m.kinds.size(); ++kind) {
    entry["operations"].push_back(kind_entry(m, kind, operations));
  }
  add_counters(statistics, entry);
  entry["domain"] = m.domain;
  entry["set_up_seconds"] = m.set_up_seconds;
  entry["heap_bytes"] = m.heap_bytes;
  entry["check"] = m.check;
  return entry;
}

}  // namespace

void add_counters(const Statistics& s, Json& entry) {
  const uint64_t updates = s.update_commits;
  entry["update_commits"] = updates;
  entry["read_commits"] = s.read_commits;
  entry["user_aborts"] = s.user_aborts;
  Json aborts = Json::object();
  for (int cause = 1; cause < kAbortCauses; ++cause) {
    aborts[to_string(static_cast<AbortCause>(cause))] = s.aborts[static_cast<size_t>(cause)];
  }
  entry["aborts"] = aborts;
  Json codes = Json::object();
  for (int code = 0; code < kAbortCodes; ++code) {
    codes[to_string(static_cast<AbortCode>(code))] = s.explicit_aborts[static_cast<size_t>(code)];
  }
  entry["explicit_aborts"] = codes;
  entry["lock_fallbacks"] = s.lock_fallbacks;
  entry["batches"] = s.batches;
  entry["replayed"] = s.replayed;
  entry["pwb_per_update"] = ratio(s.persist.pwb, updates);
  entry["pfence_per_update"] = ratio(s.persist.pfence, updates);
  entry["psync_per_update"] = ratio(s.persist.psync, updates);
  entry["fences_per_update"] = ratio(s.persist.pfence + s.persist.psync, updates);
  entry["bytes_stored"] = s.bytes_stored;
  entry["bytes_written"] = s.bytes_written;
  entry["bytes_written_per_byte_stored"] = ratio(s.bytes_written, s.bytes_stored);
}

void append_entries(const Measured& m, int family, Json& benchmarks) {
  if (!m.status.ok() || m.measurements.empty()) {
    Json entry = head(m, family, "iteration");
    entry["error_occurred"] = true;
    entry["error_message"] = m.status.ok() ? "nothing was measured" : m.status.to_string();
    benchmarks.push_back(entry);
    return;
  }
  for (size_t i = 0; i < m.measurements.size(); ++i) {
    const Measurement& measurement = m.measurements[i];
    Json entry = head(m, family, "iteration");
    entry["repetition_index"] = i;
    entry["iterations"] = measurement.operations;
    add_times(measurement.per_second(), cpu_ns(measurement), entry);
    benchmarks.push_back(entry);
  }
  benchmarks.push_back(median_entry(m, family));
}

}  // namespace holdfast
