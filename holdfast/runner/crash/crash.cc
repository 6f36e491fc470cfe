// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/crash/crash.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "holdfast/check/crash/crash_explorer.h"
#include "holdfast/check/crash/register_subject.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/runner/crash/crash_registers.h"
#include "holdfast/runner/crash/workload_subject.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/spec/machines.h"
#include "holdfast/runner/spec/timeline_file.h"

namespace holdfast {
namespace {

using check::CrashCoverage;
using check::CrashPlan;
using check::CrashReport;
using check::RegisterProgram;
using check::RegisterSubject;
using check::Violation;

constexpr size_t kHeapBytes = 16 << 10;
constexpr size_t kMaxBytes = 1 << 20;
/// No legal run of a few transactions takes this many steps.
constexpr uint64_t kMaxSteps = 1'000'000;

struct Job {
  std::string workload;
  std::string program;
  std::map<std::string, std::string> parameters;
  CrashPlan plan;
  bool minimise = true;
  std::shared_ptr<TimelineFile> timeline;
};

Schedule schedule_of(const std::string& name, const SimOptions& machine) {
  if (name.empty()) {
    return machine.design.empty() ? Schedule::random : Schedule::timed;
  }
  return parse_name("schedule", name,
                    std::array{Schedule::random, Schedule::timed, Schedule::exhaustive})
      .value();
}

SimOptions machine_of(Fields& fields, const Description& engine) {
  SimOptions o;
  const std::string name = fields.text("machine", "sim");
  const std::string directory = fields.text("machines_dir", "");
  if (name != "sim") {
    o.machine =
        std::make_shared<MachineDescription>(std::move(find_machine(name, directory)).value());
    o.line_bytes = o.machine->line_bytes;
  }
  o.rmw_orders_pwb = fields.flag("rmw_orders_pwb", true);
  const std::string design = fields.text("design", "");
  use_design(o, design, fields.map("design_options"));
  o.schedule = schedule_of(fields.text("schedule", ""), o);
  const bool chosen = !design.empty() && find_design(design).value()->domain.has_value();
  const bool eadr = o.domain == Domain::eadr || engine.needs_lasting_caches ||
                    (!chosen && o.machine != nullptr && o.machine->persistence.eadr);
  o.domain =
      parse_domain(fields.text("domain", to_string(eadr ? Domain::eadr : Domain::pmem))).value();
  engine.check_domain(o.domain).check();
  o.journal = fields.flag("journal", false);
  if (o.journal && o.domain != Domain::file) {
    throw Error(Status(Code::invalid_argument,
                       std::string("a journal is for domain file, not ") + to_string(o.domain)));
  }
  if (o.journal) {
    engine.check_journal().check();
  }
  o.switch_probability = fields.real("switch_probability", o.switch_probability, 0, 1);
  o.drain_probability = fields.real("drain_probability", o.drain_probability, 0, 1);
  o.max_steps = kMaxSteps;
  o.medium_limit = 16 * kMaxBytes;
  o.list_sites = fields.flag("sites", false);
  for (const std::string& text : fields.texts("mutations")) {
    o.mutations.push_back(parse_mutation(text).value());
  }
  o.list_sites = o.list_sites || !o.mutations.empty();
  return o;
}

/// Completes the user's options with the engine's tiny values, `times` as large for the larger
/// transactions of structures.
Options tiny_options(const Description& engine, const std::map<std::string, std::string>& given,
                     uint64_t times) {
  Options options = engine_options(engine, given);
  for (size_t i = 0; i < engine.option_count; ++i) {
    if (engine.options[i].tiny != nullptr) {
      const uint64_t tiny = std::strtoull(engine.options[i].tiny, nullptr, 10);
      options.try_emplace(engine.options[i].name, std::to_string(times * tiny));
    }
  }
  return options;
}

uint64_t count(Fields& fields, const char* name, int64_t fallback, int64_t low = 0) {
  return static_cast<uint64_t>(fields.number(name, fallback, low, int64_t{1} << 40));
}

Job parse_crash(const Json& spec) {
  Fields fields(spec, "crash");
  Job job;
  CrashPlan& plan = job.plan;
  job.workload = fields.text("workload", "registers");
  job.program = fields.text("program", "");
  job.parameters = fields.map("params");
  plan.vary = !spec.contains("switch_probability") && !spec.contains("drain_probability");
  plan.heap.engine = fields.text("engine", "");
  const Description& engine = *AnyEngine<SimMachine>::describe(plan.heap.engine).value();
  if (engine.durability == Durability::none) {
    throw Error(Status(Code::unsupported,
                       std::string("engine ") + engine.name +
                           " keeps nothing over a crash; choose an engine whose durability is "
                           "lagging or strict (`holdfast engines`)"));
  }
  plan.machine = machine_of(fields, engine);
  const std::string isolation = fields.text("isolation", to_string(engine.isolation));
  if (isolation != to_string(Isolation::snapshot) && isolation != to_string(Isolation::opaque)) {
    throw Error(
        Status(Code::invalid_argument, "isolation is snapshot or opaque, not '" + isolation + "'"));
  }
  plan.promised.isolation =
      isolation == to_string(Isolation::opaque) ? Isolation::opaque : Isolation::snapshot;
  const auto options = fields.map("options");
  check_options(std::vector<const Description*>{&engine}, options).check();
  const bool registers = job.workload == crash_registers_info().name;
  const uint64_t times = registers ? 1 : 4;
  plan.heap.options = tiny_options(engine, options, times);
  engine.area_bytes(plan.heap.options, 1).status().check();  // before the options are used
  plan.promised.any_size = engine.any_size;
  plan.promised.durability = engine.promised(plan.heap.options, plan.machine.journal);
  plan.heap.bytes = count(fields, "bytes", static_cast<int64_t>(times * kHeapBytes), kPageBytes);
  plan.heap.partitions = Parameters::partitions_in(job.parameters);
  plan.heap.max_bytes = count(fields, "max_bytes", kMaxBytes, kPageBytes);
  plan.bounds.preemptions = static_cast<int>(fields.number("preemptions", 2, 0, 100));
  plan.bounds.drains = static_cast<int>(fields.number("drains", 2, 0, 100));
  if (spec.contains("delays")) {
    if (plan.machine.schedule != Schedule::exhaustive) {
      throw Error(Status(Code::invalid_argument, "delays are for --schedule exhaustive"));
    }
    plan.bounds.delays = static_cast<int>(fields.number("delays", 0, 0, 100));
  }
  plan.first_seed = count(fields, "seed", 1);
  plan.program_seed = count(fields, "program_seed", 0);
  plan.schedules = count(fields, "schedules", 100, 1);
  plan.points = count(fields, "points", 0);
  plan.events = count(fields, "events", 0);
  plan.only_point = spec.contains("point") ? count(fields, "point", 0) : kNever;
  plan.images = count(fields, "images", 16, 1);
  plan.crash_recovery = count(fields, "crash_recovery", 64);
  plan.go_on = count(fields, "go_on", 64);
  plan.mutants = count(fields, "mutants", 0);
  if (plan.mutants != 0 && plan.machine.design.empty()) {
    throw Error(Status(Code::invalid_argument, "mutants are those of a hardware design: --design"));
  }
  plan.most_violations = count(fields, "violations", 1, 1);
  job.minimise = fields.flag("minimise", true);
  const std::string timeline = fields.text("timeline", "");
  fields.finish();
  if (!timeline.empty()) {
    job.timeline =
        TimelineFile::open(timeline, "crash / " + plan.heap.engine + " / " + job.workload).value();
  }
  return job;
}

std::unique_ptr<check::Subject> subject_of(const Job& job, SimOptions& machine,
                                           std::optional<RegisterProgram> program = {}) {
  const bool registers = job.workload == crash_registers_info().name;
  const WorkloadInfo& info =
      registers ? crash_registers_info() : *find_workload(job.workload).value();
  auto given = job.parameters;
  if (registers) {
    const Parameters parameters = Parameters::make(info, given).value();
    const RegisterSubject::Shape shape = crash_registers_shape(parameters);
    if (!program && !job.program.empty()) {
      program = RegisterProgram::parse(job.program, kMostRegisters).value();
    }
    auto subject = std::make_unique<RegisterSubject>(shape, std::move(program));
    machine.threads = subject->threads();
    return subject;
  }
  if (!job.program.empty()) {
    throw Error(Status(Code::invalid_argument, "a program is for workload registers only"));
  }
  const auto take = [&](const char* name, int fallback) {
    const auto at = given.find(name);
    if (at == given.end()) {
      return fallback;
    }
    const std::map<std::string, std::string> one{{name, at->second}};
    const int value = static_cast<int>(
        Parameters::make(crash_registers_info(), one).value().number(name, 1, 1000));
    given.erase(at);
    return value;
  };
  const int threads = take("threads", 3);
  const int transactions = take("transactions", 2);
  for (const OptionInfo& parameter : info.parameters) {
    if (parameter.tiny != nullptr) {
      given.try_emplace(parameter.name, parameter.tiny);
    }
  }
  machine.threads = threads;
  return std::make_unique<WorkloadSubject>(info, Parameters::make(info, given).value(), threads,
                                           transactions);
}

/// Makes the program of a violation smaller as long as some schedule still shows a fault of the
/// same name, and prefers a short schedule. A smaller program has other schedules, so it searches
/// anew.
Violation minimised(const Job& job, Violation violation) {
  constexpr uint64_t kTries = 800;
  constexpr uint64_t kCandidates = 8;
  CrashPlan plan = job.plan;
  plan.first_seed = 1;
  plan.schedules = kTries;
  plan.only_point = kNever;
  plan.points = 60;
  plan.images = std::min<uint64_t>(plan.images, 4);
  plan.mutants = 0;
  plan.go_on = 0;  // a fault of a run that went on is looked for from the start
  if (violation.phase != "recovery") {
    plan.crash_recovery = 0;
  }
  const auto search = [&](const RegisterProgram& program, uint64_t most) {
    plan.most_violations = most;
    auto subject = subject_of(job, plan.machine, program);
    auto found = check::CrashExplorer(plan, *subject).explore([](double) {}).violations;
    std::erase_if(found, [&](const Violation& v) { return v.fault.name != violation.fault.name; });
    return found;
  };
  const RegisterProgram original =
      RegisterProgram::parse(violation.program, kMostRegisters).value();
  const RegisterProgram small =
      check::shrink(original, [&](const RegisterProgram& p) { return !search(p, 1).empty(); });
  for (Violation& candidate : search(small, kCandidates)) {
    if (candidate.program.size() < violation.program.size() ||
        (candidate.program == violation.program &&
         candidate.story.size() < violation.story.size())) {
      violation = std::move(candidate);
    }
  }
  return violation;
}

/// Draws the first violation. Returns the reason if it cannot, else an empty text.
std::string draw(const Job& job, const std::vector<Violation>& violations) {
  if (violations.empty()) {
    return "there was no violation to draw";
  }
  const Violation& v = violations.front();
  if (job.plan.machine.schedule == Schedule::exhaustive || v.phase == "continued" ||
      v.phase == "creation") {
    return "a violation of an exhaustive search, of a run after a recovery, or in a heap that was "
           "just made, cannot be drawn";
  }
  CrashPlan plan = job.plan;
  std::optional<RegisterProgram> program;
  if (!v.program.empty()) {
    program = RegisterProgram::parse(v.program, kMostRegisters).value();
  }
  auto subject = subject_of(job, plan.machine, std::move(program));
  check::CrashExplorer(plan, *subject).draw(v, job.timeline->timeline());
  job.timeline->write().check();
  return {};
}

Json to_json(const CrashCoverage& c) {
  return {{"schedules", c.schedules},
          {"points", c.points},
          {"persist_events", c.events},
          {"legal", c.legal},
          {"explored", c.explored},
          {"images", c.images},
          {"recovery_points", c.recovery_points},
          {"continued", c.continued},
          {"judged", c.judged},
          {"too_large", c.too_large},
          {"epochs", c.epochs}};
}

/// The smallest spec that shows the violation again.
Json replay_of(const Json& spec, const Violation& v) {
  Json replay = spec;
  replay["seed"] = v.seed;
  replay["schedules"] = v.schedule.empty() ? Json(1) : spec.value("schedules", Json(100));
  replay["minimise"] = false;
  replay.erase("mutants");
  if (v.phase == "continued") {
    replay["go_on"] = 1;  // the program is the one of the next seed
  } else if (!v.program.empty()) {
    replay["program"] = v.program;
  }
  if (v.phase == "recovery") {
    replay["crash_recovery"] = 1;
  }
  if (v.point != kNever && v.phase == "crash") {
    replay["point"] = v.point;
  }
  return replay;
}

Json to_json(const check::DesignCoverage& design) {
  Json rows = Json::array();
  for (const check::DesignCoverage::Row& row : design.rows()) {
    rows.push_back({{"name", row.name}, {"met", row.met}, {"behind", row.behind}});
  }
  return rows;
}

Json to_json(const check::DesignMutants& mutants) {
  Json json = {{"planted", mutants.planted},
               {"caught", mutants.caught},
               {"equivalent", mutants.equivalent},
               {"masked", mutants.masked},
               {"survivors", Json::array()}};
  for (const DesignFault& mutant : mutants.survivors) {
    json["survivors"].push_back({{"change", to_string(mutant.change)},
                                 {"kind", to_string(mutant.kind)},
                                 {"number", mutant.number}});
  }
  return json;
}

Json to_json(const Json& spec, const Violation& v) {
  Json json = {{"name", v.fault.name},
               {"phase", v.phase},
               {"text", v.fault.text},
               {"program", v.program},
               {"seed", v.seed},
               {"schedule", v.schedule},
               {"point", v.point == kNever ? Json(nullptr) : Json(v.point)},
               {"image", v.image},
               {"story", v.story}};
  json["replay"] = replay_of(spec, v);
  return json;
}

}  // namespace

Result<Json> crash(const Json& spec, Progress progress) {
  return guarded([&] {
    Job job = parse_crash(spec);
    auto subject = subject_of(job, job.plan.machine);
    CrashReport report = check::CrashExplorer(job.plan, *subject).explore([&](double share) {
      progress(share, "crash " + job.workload + " on " + job.plan.heap.engine);
    });
    if (job.minimise && !report.violations.empty() && !report.violations[0].program.empty()) {
      progress(1, "make the first violation smaller");
      report.violations[0] = minimised(job, std::move(report.violations[0]));
    }
    Json json = {{"engine", job.plan.heap.engine},
                 {"workload", job.workload},
                 {"domain", to_string(job.plan.machine.domain)},
                 {"machine", spec.value("machine", "sim")},
                 {"points", report.coverage.points},
                 {"schedules", report.coverage.schedules},
                 {"images", report.coverage.images},
                 {"coverage", to_json(report.coverage)},
                 {"lost_max", report.lost_max},
                 {"mutated", report.mutated},
                 {"mutated_in_creation", report.mutated_in_creation},
                 {"probes", report.probes},
                 {"sites", Json::array()},
                 {"violations", Json::array()}};
    for (const auto& [name, use] : report.sites) {
      const auto made = report.sites_of_creation.find(name);
      json["sites"].push_back({{"name", name},
                               {"kind", to_string(use.kind)},
                               {"count", use.count},
                               {"only_in_creation", made != report.sites_of_creation.end() &&
                                                        made->second == use.count}});
    }
    if (!job.plan.machine.design.empty()) {
      json["design"] = job.plan.machine.design;
      json["design_coverage"] = to_json(report.design);
      json["uncovered"] = report.design.uncovered();
    }
    if (job.plan.mutants != 0) {
      json["mutants"] = to_json(report.mutants);
    }
    if (job.timeline != nullptr) {
      json["timeline"] = {{"path", job.timeline->path()},
                          {"missing", draw(job, report.violations)}};
    }
    for (const Violation& violation : report.violations) {
      json["violations"].push_back(to_json(spec, violation));
    }
    return json;
  });
}

}  // namespace holdfast
