// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <semaphore>
#include <thread>

#include "holdfast/base/seconds_since.h"
#include "holdfast/runner/bench/bench_entry.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/temporary_heap.h"

namespace holdfast {
namespace {

/// The longest turn: short enough to heed an interrupt and to spread disturbances.
constexpr double kLongestTurnSeconds = 1;
/// The share of its time that each configuration first runs unmeasured, to fill caches and page
/// tables.
constexpr double kWarmUpShare = 0.05;

struct BenchPlan {
  SessionSpec common;
  std::vector<std::string> engines;
  std::vector<int> threads;
  double seconds = 1;
  int turns = 5;
  std::string folder;
  bool check = true;
};

/// One engine with one number of threads.
struct Configuration {
  Measured measured;
  std::string htm;  ///< backend of hardware transactions
  std::unique_ptr<TemporaryHeap> file;
  std::unique_ptr<Session> session;  // after file: closed before the file goes

  bool usable() const { return measured.status.ok() && session != nullptr; }
};

BenchPlan parse_bench(const Json& spec) {
  BenchPlan plan;
  Fields fields(spec, "bench");
  plan.common = SessionSpec::parse_common(fields);
  plan.engines = fields.texts("engines");
  plan.threads = fields.numbers("threads", 1, 1, kMaxThreads);
  plan.seconds = fields.real("seconds", 1, 0.001, 1e6);
  const auto turns = static_cast<int>(fields.number("repetitions", 5, 1, 10'000));
  plan.turns = std::max(turns, static_cast<int>(std::ceil(plan.seconds / kLongestTurnSeconds)));
  plan.folder = fields.text("dir", "");
  plan.check = fields.flag("check", true);
  fields.finish();
  const WorkloadInfo* info = find_workload(plan.common.workload).value();
  (void)Parameters::make(*info, plan.common.parameters).value();
  if (plan.engines.empty()) {
    plan.engines = engine_names(false);
  }
  std::vector<const Description*> chosen;
  for (const std::string& name : plan.engines) {
    if (name != kPlain) {
      chosen.push_back(find_native_engine(name).value()->description);
    }
  }
  check_options(chosen, plan.common.options).check();
  return plan;
}

void open_configuration(const BenchPlan& plan, Configuration& c) {
  SessionSpec spec = plan.common;
  spec.engine = c.measured.engine;
  spec.threads = c.measured.threads;
  spec.open = SessionSpec::Open::create;
  c.file = std::make_unique<TemporaryHeap>(
      plan.folder, spec.domain, c.measured.engine + "-" + std::to_string(c.measured.threads));
  spec.path = c.file->path();
  const auto start = std::chrono::steady_clock::now();
  auto session = open_session(spec);
  c.measured.set_up_seconds = seconds_since(start);
  if (!session.ok()) {
    c.measured.status = session.status();
    return;
  }
  c.session = std::move(*session);
  c.measured.domain = c.session->domain();
  c.htm = c.session->htm();
  for (const char* kind : c.session->workload().info().operations) {
    c.measured.kinds.emplace_back(kind);
  }
  if (c.measured.threads > c.session->max_threads()) {
    c.measured.status =
        Status(Code::unsupported, c.measured.engine + " runs at most " +
                                      std::to_string(c.session->max_threads()) + " thread(s)");
  }
}

void take_turn(const BenchPlan& plan, Configuration& c, double seconds, uint64_t seed, bool keep) {
  Measurement measurement =
      measure(*c.session, c.measured.threads, seconds, mix64(plan.common.seed) + seed);
  if (!measurement.status.ok()) {
    c.measured.status = measurement.status;
  } else if (keep) {
    c.measured.measurements.push_back(std::move(measurement));
  }
}

void finish_configuration(const BenchPlan& plan, Configuration& c) {
  if (c.usable()) {
    c.measured.heap_bytes = c.session->heap_bytes();
    c.measured.check = "skipped";
    if (plan.check) {
      const Status found = c.session->workload().check();
      c.measured.check = found.to_string();
      if (!found.ok()) {
        c.measured.status = found;
      }
    }
    const Status closed = c.session->close();
    if (!closed.ok() && c.measured.status.ok()) {
      c.measured.status = closed;
    }
  }
  c.session.reset();
  c.file.reset();
}

std::vector<Configuration> configurations(const BenchPlan& plan) {
  std::vector<Configuration> list;
  for (const int threads : plan.threads) {
    for (const std::string& engine : plan.engines) {
      if (engine == kPlain && threads != plan.threads.front()) {
        continue;  // the baseline always has one thread
      }
      Configuration c;
      c.measured.workload = plan.common.workload;
      c.measured.engine = engine;
      c.measured.threads = engine == kPlain ? 1 : threads;
      list.push_back(std::move(c));
    }
  }
  return list;
}

/// Runs work(c) for all configurations in parallel, one per core: set-up and checks are not
/// measured. The threads are not pinned, because a heap's threads inherit the processors of the
/// thread that opened it. This thread calls before(c) as each begins; before may throw. Throws the
/// first Error of work(c).
void on_all_cores(std::vector<Configuration>& list, FunctionRef<void(const Configuration&)> before,
                  FunctionRef<void(Configuration&)> work) {
  std::vector<Status> outcomes(list.size());
  {
    std::counting_semaphore<> free(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::jthread> workers;  // joined also when before() throws
    for (size_t i = 0; i < list.size(); ++i) {
      free.acquire();
      before(list[i]);
      workers.emplace_back([&, i] {
        outcomes[i] = run_guarded([&] { work(list[i]); });
        free.release();
      });
    }
  }
  for (const Status& outcome : outcomes) {
    outcome.check();
  }
}

/// All configurations stay open at once, each heap at its own address, so that turns can alternate.
void measure(const BenchPlan& plan, std::vector<Configuration>& list, Progress progress) {
  // Set-up and the final check count as one turn each in the progress.
  const double steps = static_cast<double>(list.size()) * (plan.turns + 2);
  double done = 0;
  const double turn_seconds = plan.seconds / plan.turns;
  const auto step = [&](const char* what, const Configuration& c) {
    progress(done++ / steps, what + c.measured.name());
  };
  on_all_cores(
      list, [&](const Configuration& c) { step("set-up ", c); },
      [&](Configuration& c) { open_configuration(plan, c); });
  for (Configuration& c : list) {
    if (c.usable()) {
      take_turn(plan, c, std::min(plan.seconds * kWarmUpShare, kLongestTurnSeconds), 0, false);
    }
  }
  for (int turn = 0; turn < plan.turns; ++turn) {
    for (Configuration& c : list) {
      step("measure ", c);
      if (c.usable()) {
        take_turn(plan, c, turn_seconds, static_cast<uint64_t>(turn) + 1, true);
      }
    }
  }
  on_all_cores(
      list, [&](const Configuration& c) { step("check ", c); },
      [&](Configuration& c) { finish_configuration(plan, c); });
  progress(1, "done");
}

Json context(const BenchPlan& plan, const std::vector<Configuration>& list) {
  Json context = environment();
  context["machine"] = "native";
  context["workload"] = plan.common.workload;
  context["params"] = plan.common.parameters;
  context["options"] = plan.common.options;
  context["domain"] = to_string(plan.common.domain);
  for (const Configuration& c : list) {
    if (!c.measured.domain.empty() && c.measured.engine != kPlain) {
      context["domain_text"] = c.measured.domain;
    }
  }
  context["latency"] = plan.common.latency;
  std::map<std::string, std::string> backends;
  for (const Configuration& c : list) {
    backends[c.measured.engine] = c.htm;
  }
  context["htm"] = describe_htm(plan.common, backends);
  context["seconds_per_configuration"] = plan.seconds;
  context["turns"] = plan.turns;
  context["seed"] = plan.common.seed;
  return context;
}

}  // namespace

Result<Json> bench(const Json& spec, Progress progress) {
  return guarded([&] {
    const BenchPlan plan = parse_bench(spec);
    std::vector<Configuration> list = configurations(plan);
    measure(plan, list, progress);
    Json benchmarks = Json::array();
    for (size_t i = 0; i < list.size(); ++i) {
      append_entries(list[i].measured, static_cast<int>(i), benchmarks);
    }
    return Json{{"context", context(plan, list)}, {"benchmarks", benchmarks}};
  });
}

}  // namespace holdfast
