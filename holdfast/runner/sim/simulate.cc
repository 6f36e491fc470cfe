// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/simulate.h"

#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sim/sim_entry.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/runner/sim/sim_spec.h"
#include "holdfast/runner/spec/environment.h"

namespace holdfast {
namespace {

/// Calls run(), or else failed(why) with the reason for which the simulated machine gave up.
template <class Run, class Failed>
Json entry_or_reason(Run&& run, Failed&& failed) {
  try {
    return run();
  } catch (const Error& error) {
    return failed(error.status().to_string());
  } catch (const MediumFailure& failure) {
    return failed(failure.status().to_string());
  } catch (const SimStuck& stuck) {
    return failed(stuck.what());
  }
}

/// One configuration: its entry, or an entry that says why there is none.
Json simulate_one(const SessionSpec& spec, const SimPlan& plan) {
  return entry_or_reason(
      [&] {
        const SimRun run = run_simulated(spec, plan);
        run.check.check();
        return sim_entry(spec, run, plan);
      },
      [&](const std::string& why) { return failed_sim_entry(spec, plan, why); });
}

Json simulate_replay(const SessionSpec& spec, const SimSpec& all, int replayers) {
  const MeasuredReplay measured{.workload = spec.workload,
                                .engine = spec.engine,
                                .threads = spec.threads,
                                .options = {replayers, all.filter}};
  return entry_or_reason(
      [&] {
        const SimReplay run = run_simulated_replay(spec, all.run, measured.options);
        run.check.check();
        return sim_replay_entry(measured, run, all.run);
      },
      [&](const std::string& why) { return failed_replay_entry(measured, why); });
}

/// All entries of one engine with one number of threads.
void simulate_engine(const SessionSpec& spec, const SimSpec& all, Json& benchmarks) {
  if (all.replayers.empty()) {
    benchmarks.push_back(simulate_one(spec, all.run));
  }
  for (const int replayers : all.replayers) {
    benchmarks.push_back(simulate_replay(spec, all, replayers));
  }
}

void add_length(const SimLength& length, const char* counted, const char* in_time, Json& context) {
  if (length.microseconds > 0) {
    context[in_time] = length.microseconds;
  } else {
    context[counted] = length.transactions;
  }
}

Json context_of(const SimSpec& all) {
  Json context = environment();
  context["machine"] = all.machine;
  context["design"] = all.run.design;
  context["design_options"] = all.run.design_options;
  context["workload"] = all.common.workload;
  context["params"] = all.common.parameters;
  context["options"] = all.common.options;
  context["domain"] = to_string(all.common.domain);
  add_length(all.run.measured, "transactions_per_thread", "duration_us", context);
  add_length(all.run.warm_up, "warm_up_per_thread", "warm_up_us", context);
  context["set"] = all.changes;
  context["seed"] = all.common.seed;
  context["time_model"] =
      all.run.schedule == Schedule::timed ? "simulated time" : "none (random schedule)";
  return context;
}

}  // namespace

Result<Json> simulate(const Json& spec, Progress progress) {
  return guarded([&] {
    const SimSpec all = parse_sim_spec(spec);
    Json benchmarks = Json::array();
    const double steps = static_cast<double>(all.engines.size() * all.threads.size());
    double done = 0;
    for (const int threads : all.threads) {
      for (const std::string& engine : all.engines) {
        SessionSpec one = all.common;
        one.engine = engine;
        one.threads = threads;
        progress(done++ / steps, "simulate " + engine);
        simulate_engine(one, all, benchmarks);
      }
    }
    progress(1, "done");
    return Json{{"context", context_of(all)}, {"benchmarks", benchmarks}};
  });
}

}  // namespace holdfast
