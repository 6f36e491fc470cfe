// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/sim_spec.h"

#include <algorithm>
#include <array>
#include <optional>

#include "holdfast/base/catalogue.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/machines.h"

namespace holdfast {
namespace {

/// The machine without a description: random schedules, no time.
constexpr const char* kFunctional = "sim";

void choose_machine(SimSpec& plan, const std::string& directory, const std::string& schedule) {
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

BesidePlan read_beside(Fields& fields) {
  BesidePlan plan;
  plan.structure = fields.text("beside", "");
  plan.size = static_cast<uint64_t>(
      fields.number("beside_size", static_cast<int64_t>(plan.size), 0, int64_t{1} << 30));
  if (!plan.structure.empty() && std::find(kBesideStructures.begin(), kBesideStructures.end(),
                                           plan.structure) == kBesideStructures.end()) {
    throw Error(
        wrong_value("sim: beside", plan.structure, "one of " + row_names(kBesideStructures)));
  }
  return plan;
}

void check_lengths(const SimPlan& plan) {
  const bool in_time = plan.measured.microseconds > 0 || plan.warm_up.microseconds > 0;
  if ((plan.arrivals > 0 || plan.gauge_microseconds > 0) && plan.measured.microseconds == 0) {
    throw Error(Status(Code::invalid_argument,
                       "sim: arrivals and gauge_us need a measured part with a length in simulated "
                       "time; give duration_us"));
  }
  if (!plan.beside.structure.empty() && plan.schedule != Schedule::timed) {
    throw Error(Status(Code::invalid_argument,
                       "sim: a thread beside the workers needs simulated time; choose a machine "
                       "with a description"));
  }
  if (in_time && plan.schedule != Schedule::timed) {
    throw Error(Status(Code::invalid_argument,
                       "sim: without simulated time there is no duration_us; choose a machine with "
                       "a description, such as power9, or a number of transactions"));
  }
}

void check_design(const SimSpec& plan) {
  if (plan.run.design.empty()) {
    return;
  }
  make_design(plan.run.design, plan.run.design_options).status().check();
  const std::optional<Domain> domain = find_design(plan.run.design).value()->domain;
  if (domain && domain != plan.common.domain) {
    throw Error(Status(Code::invalid_argument, "sim: hardware design " + plan.run.design +
                                                   " is made for domain " + to_string(*domain) +
                                                   ", not for " + to_string(plan.common.domain)));
  }
  if (plan.run.schedule != Schedule::timed) {
    throw Error(Status(Code::invalid_argument,
                       "a hardware design needs a timed run on a machine with caches; choose one "
                       "with --machine, such as gem5-hercules"));
  }
}

/// The design keeps each transaction, or each but those of the latest epochs.
bool recovers(const std::string& design, const Options& options) {
  return find_design(design).value()->durable ||
         make_design(design, options).value()->epochs_behind().has_value();
}

void check_recovery(const SimSpec& plan, const std::vector<const Description*>& engines) {
  if (!plan.run.recovery) {
    return;
  }
  if (!plan.replayers.empty()) {
    throw Error(Status(Code::invalid_argument,
                       "sim: recovery is measured after transactions, not after log replay"));
  }
  if (!plan.run.design.empty() && !recovers(plan.run.design, plan.run.design_options)) {
    throw Error(Status(Code::invalid_argument, "sim: hardware design " + plan.run.design +
                                                   " makes nothing durable: it has no recovery"));
  }
  for (const Description* engine : engines) {
    if (engine->durability == Durability::none) {
      throw Error(Status(Code::invalid_argument, std::string("sim: engine ") + engine->name +
                                                     " is not durable: it has no recovery"));
    }
  }
}

/// Completes a request that measures log replay instead of transactions.
void prepare_replay(SimSpec& plan) {
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

void open_timeline(SimSpec& plan, const std::string& path) {
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

/// Engines that leave durability to a hardware design.
std::vector<std::string> engines_of_designs() {
  std::vector<std::string> names;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->needs_design) {
      names.emplace_back(row.description->name);
    }
  }
  return names;
}

}  // namespace

SimSpec parse_sim_spec(const Json& spec) {
  SimSpec plan;
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
  plan.run.arrivals = fields.real("arrivals", 0, 0, 1e9);
  plan.run.gauge_microseconds = fields.real("gauge_us", 0, 0, 1e9);
  plan.run.beside = read_beside(fields);
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
  if (!spec.contains("domain") && !plan.run.design.empty()) {
    const DesignInfo& design = *find_design(plan.run.design).value();
    plan.common.domain = design.domain.value_or(plan.common.domain);
  }
  check_design(plan);
  if (!plan.replayers.empty()) {
    prepare_replay(plan);
  }
  if (plan.engines.empty()) {
    plan.engines = plan.run.design.empty() ? engine_names(false) : engines_of_designs();
  }
  std::vector<const Description*> chosen;
  chosen.reserve(plan.engines.size());
  for (const std::string& name : plan.engines) {
    chosen.push_back(AnyEngine<SimMachine>::describe(name).value());
  }
  const bool all_need_caches =
      std::all_of(chosen.begin(), chosen.end(),
                  [](const Description* engine) { return engine->needs_lasting_caches; });
  if (!spec.contains("domain") && all_need_caches) {
    plan.common.domain = Domain::eadr;
  }
  check_recovery(plan, chosen);
  check_options(chosen, plan.common.options).check();
  open_timeline(plan, timeline);
  return plan;
}

}  // namespace holdfast
