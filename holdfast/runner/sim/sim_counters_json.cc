// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_counters_json.h"

#include "holdfast/machine/machine.h"

namespace holdfast {
namespace {

Json by_level(const std::array<uint64_t, sim::kLevels>& counts) {
  Json json = Json::object();
  for (size_t i = 0; i < sim::kLevels; ++i) {
    json[sim::to_string(static_cast<sim::Level>(i))] = counts[i];
  }
  return json;
}

double nanoseconds(uint64_t picoseconds) {
  return static_cast<double>(picoseconds) / 1000;
}

Json to_json(const SimCounters::OfKind& kind) {
  Json phases = Json::object();
  for (size_t i = 0; i < kind.phase_time.size(); ++i) {
    if (static_cast<Phase>(i) != Phase::outside) {
      phases[to_string(static_cast<Phase>(i))] = nanoseconds(kind.phase_time[i]);
    }
  }
  return {{"phase_ns", phases},
          {"execute_loads", kind.execute_loads},
          {"execute_stores", kind.execute_stores}};
}

}  // namespace

Json to_json(const SimCounters& c) {
  Json aborts = Json::object();
  for (size_t i = 1; i < c.htm_aborts.size(); ++i) {
    aborts[to_string(static_cast<AbortCause>(i))] = c.htm_aborts[i];
  }
  Json phases = Json::object();
  for (int i = 0; i < kPhases; ++i) {
    phases[to_string(static_cast<Phase>(i))] = nanoseconds(c.phase_time(static_cast<Phase>(i)));
  }
  return {{"loads", c.loads},
          {"stores", c.stores},
          {"atomics", c.atomics},
          {"instructions", c.instructions},
          {"loads_from", by_level(c.load_from)},
          {"fetched_for_stores", by_level(c.own_from)},
          {"lines_stolen_before_store", c.stolen},
          {"medium_reads", c.medium_reads},
          {"medium_writes", c.medium_writes},
          {"nontemporal_writes", c.nontemporal},
          {"table_hits", c.table_hits},
          {"table_misses", c.table_misses},
          {"table_reads", c.table_reads},
          {"dram_reads", c.dram_reads},
          {"dram_writes", c.dram_writes},
          {"tlb_second_level", c.tlb_second},
          {"page_walks", c.page_walks},
          {"stall_ns",
           {{"load", nanoseconds(c.stall_load)},
            {"store_buffer", nanoseconds(c.stall_buffer)},
            {"fence", nanoseconds(c.stall_fence)},
            {"wait", nanoseconds(c.blocked)}}},
          {"phase_ns", phases},
          {"update", to_json(c.of_kind[static_cast<size_t>(TransactionKind::update)])},
          {"read", to_json(c.of_kind[static_cast<size_t>(TransactionKind::read)])},
          {"htm", {{"begins", c.htm_begins}, {"commits", c.htm_commits}, {"aborts", aborts}}}};
}

Json to_json(const DesignMeasurement& measured) {
  const DesignCounters& c = measured.counters;
  Json causes = Json::object();
  for (size_t i = 0; i < kCauses; ++i) {
    causes[to_string(static_cast<Cause>(i))] = c.by_cause[i];
  }
  Json reads = Json::object();
  for (size_t i = 0; i < kReadCauses; ++i) {
    reads[to_string(static_cast<ReadCause>(i))] = c.reads_by_cause[i];
  }
  Json own = Json::object();
  for (const auto& [name, count] : measured.own) {
    own[name] = count;
  }
  return {
      {"transactions", c.transactions},
      {"aborts", c.aborts},
      {"doomed", c.doomed},
      {"first_stores", c.first_stores},
      {"fills", c.fills},
      {"dropped", c.dropped},
      {"reads", c.reads},
      {"reads_by_cause", reads},
      {"writes_by_cause", causes},
      {"writes_merged", measured.medium.merged},
      {"writes_cancelled", measured.medium.cancelled},
      {"media_writes", measured.medium.writes - measured.medium.merged - measured.medium.cancelled},
      {"media_reads", measured.medium.reads - measured.medium.forwarded},
      {"begin_wait_ns", nanoseconds(c.begin_waits)},
      {"commit_wait_ns", nanoseconds(c.commit_waits)},
      {"store_wait_ns", nanoseconds(c.store_waits)},
      {"structure_bytes", measured.structure_bytes},
      {"own", own}};
}

Json to_json(const std::vector<LintRow>& rows) {
  Json json = Json::array();
  for (const LintRow& row : rows) {
    const Json example = row.kind == LintKind::empty_fence ? Json(nullptr) : Json(row.example);
    json.push_back({{"what", to_string(row.kind)},
                    {"where", row.where},
                    {"count", row.count},
                    {"example", example}});
  }
  return json;
}

}  // namespace holdfast
