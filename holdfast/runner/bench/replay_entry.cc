// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/bench/replay_entry.h"

#include <algorithm>

namespace holdfast {
namespace {

Json head(const MeasuredReplay& m) {
  return {{"name", m.name()},          {"run_name", m.name()},
          {"run_type", "aggregate"},   {"aggregate_name", "median"},
          {"aggregate_unit", "time"},  {"repetitions", 1},
          {"threads", m.threads},      {"workload", m.workload},
          {"engine", m.engine},        {"replayers", m.options.replayers},
          {"filter", m.options.filter}};
}

}  // namespace

std::string MeasuredReplay::name() const {
  return "replay/" + workload + "/" + engine + "/threads:" + std::to_string(threads) +
         "/replayers:" + std::to_string(options.replayers) + (options.filter ? "/filter" : "");
}

Json replay_entry(const MeasuredReplay& m) {
  Json json = head(m);
  const auto transactions = static_cast<double>(m.report.transactions);
  json["iterations"] = m.report.transactions;
  json["real_time"] = m.report.transactions == 0 ? 0 : m.seconds * 1e9 / transactions;
  json["cpu_time"] = json["real_time"];
  json["time_unit"] = "ns";
  if (m.seconds > 0) {
    json["items_per_second"] = transactions / m.seconds;
  }
  json["words"] = m.report.logged / 8;
  json["bytes_written"] = m.report.written;
  json["replay_seconds"] = m.seconds;
  json["persist"] = {{"pwb", m.persist.pwb},
                     {"pfence", m.persist.pfence},
                     {"psync", m.persist.psync},
                     {"fence", m.persist.fence},
                     {"bytes", m.persist.bytes}};
  return json;
}

Json failed_replay_entry(const MeasuredReplay& m, const std::string& why) {
  Json json = head(m);
  json["run_type"] = "iteration";
  json["error_occurred"] = true;
  json["error_message"] = why;
  return json;
}

Status check_replays(const std::vector<std::string>& engines,
                     const std::vector<std::string>& known) {
  for (const std::string& name : engines) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return {Code::unsupported, "engine " + name +
                                     " keeps no redo log that could be replayed by itself; those "
                                     "that do are " +
                                     join(known)};
    }
  }
  return {};
}

Error filled_too_far(uint64_t replayed) {
  return Error(Status(Code::out_of_space,
                      "a log was full, and " + std::to_string(replayed) +
                          " transactions were replayed before the measurement; choose a larger "
                          "log_bytes (and markers, where the engine has them), or fewer "
                          "transactions"));
}

}  // namespace holdfast
