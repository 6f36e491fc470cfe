// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/bench/replay.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "holdfast/base/seconds_since.h"
#include "holdfast/runner/bench/replay_entry.h"
#include "holdfast/runner/sessions/engine_table.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/temporary_heap.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

struct ReplayPlan {
  SessionSpec common;
  std::vector<std::string> engines;
  std::vector<int> threads;
  std::vector<int> replayers;
  bool filter = false;
  uint64_t transactions = 1000;
  int turns = 5;
  std::string folder;
  bool check = true;
};

ReplayPlan parse_replay(const Json& spec) {
  ReplayPlan plan;
  Fields fields(spec, "replay");
  plan.common = SessionSpec::parse_common(fields);
  plan.engines = fields.texts("engines");
  plan.threads = fields.numbers("threads", 1, 1, kMaxThreads);
  plan.replayers = fields.numbers("replayers", 1, 1, kMaxThreads);
  plan.filter = fields.flag("filter", false);
  plan.transactions = static_cast<uint64_t>(fields.number("transactions", 1000, 1, 1'000'000'000));
  plan.turns = static_cast<int>(fields.number("repetitions", 5, 1, 10'000));
  plan.folder = fields.text("dir", "");
  plan.check = fields.flag("check", true);
  fields.finish();
  const WorkloadInfo* info = find_workload(plan.common.workload).value();
  (void)Parameters::make(*info, plan.common.parameters).value();
  std::vector<std::string> known;
  for (const NativeEngine& engine : native_engines()) {
    if (engine.replays) {
      known.emplace_back(engine.description->name);
    }
  }
  plan.engines = plan.engines.empty() ? known : plan.engines;
  check_replays(plan.engines, known).check();
  std::vector<const Description*> chosen;
  chosen.reserve(plan.engines.size());
  for (const std::string& name : plan.engines) {
    chosen.push_back(find_native_engine(name).value()->description);
  }
  check_options(chosen, plan.common.options).check();
  plan.common.options.emplace("background", "0");
  return plan;
}

void fill(Session& session, int threads, uint64_t transactions, uint64_t seed) {
  std::vector<Status> status(static_cast<size_t>(threads));
  const uint64_t before = session.statistics().replayed;
  session.run_threads(threads, [&](int number) {
    Random random(mix64(seed) ^ mix64(static_cast<uint64_t>(number) + 1));
    status[static_cast<size_t>(number)] = run_guarded([&] {
      for (uint64_t i = 0; i < transactions; ++i) {
        session.workload().operation(number, random);
      }
    });
  });
  for (const Status& one : status) {
    one.check();
  }
  if (const uint64_t replayed = session.statistics().replayed - before; replayed != 0) {
    throw filled_too_far(replayed);
  }
}

struct Turn {
  ReplayReport report;
  double seconds = 0;
  PersistCounters persist;
};

Turn take_turn(Session& session, const ReplayPlan& plan, const MeasuredReplay& m, uint64_t number) {
  fill(session, m.threads, plan.transactions, mix64(plan.common.seed) + number);
  const PersistCounters before = session.statistics().persist;
  const auto start = Clock::now();
  Turn turn;
  turn.report = session.replay(m.options).value();
  turn.seconds = seconds_since(start);
  turn.persist = session.statistics().persist - before;
  return turn;
}

/// Checks the home as the replay left it: the session has taken the working copy with it.
void check_home(SessionSpec spec) {
  spec.open = SessionSpec::Open::open;
  const auto session = open_session(spec).value();
  if (const uint64_t left = session->recovery().transactions; left != 0) {
    throw Error(
        Status(Code::corrupt, std::to_string(left) + " transactions were left to recovery"));
  }
  session->workload().check().check();
  session->close().check();
}

/// `htm` gets the backend of hardware transactions.
Json measure(const ReplayPlan& plan, MeasuredReplay m, std::string& htm) {
  SessionSpec spec = plan.common;
  spec.engine = m.engine;
  spec.threads = std::max(m.threads, m.options.replayers);
  const TemporaryHeap file(plan.folder, spec.domain,
                           m.engine + "-replay-" + std::to_string(m.threads));
  spec.path = file.path();
  std::vector<Turn> turns;
  {
    const auto session = open_session(spec).value();
    htm = session->htm();
    session->replay({}).status().check();  // the logs of the set-up
    for (int turn = 0; turn < plan.turns; ++turn) {
      turns.push_back(take_turn(*session, plan, m, static_cast<uint64_t>(turn) + 1));
    }
    session->close().check();
  }
  if (plan.check) {
    check_home(spec);
  }
  const auto rate = [](const Turn& turn) {
    return static_cast<double>(turn.report.transactions) / turn.seconds;
  };
  std::sort(turns.begin(), turns.end(),
            [&](const Turn& a, const Turn& b) { return rate(a) < rate(b); });
  const Turn& median = turns[(turns.size() - 1) / 2];
  m.report = median.report;
  m.seconds = median.seconds;
  m.persist = median.persist;
  Json json = replay_entry(m);
  json["repetitions"] = turns.size();
  json["items_per_second_min"] = rate(turns.front());
  json["items_per_second_max"] = rate(turns.back());
  json["check"] = plan.check ? "ok" : "skipped";
  return json;
}

Json measure_or_explain(const ReplayPlan& plan, const MeasuredReplay& m, std::string& htm) {
  try {
    return measure(plan, m, htm);
  } catch (const Error& error) {
    return failed_replay_entry(m, error.status().to_string());
  } catch (const MediumFailure& failure) {
    return failed_replay_entry(m, failure.status().to_string());
  }
}

std::vector<MeasuredReplay> configurations(const ReplayPlan& plan) {
  std::vector<MeasuredReplay> list;
  for (const int threads : plan.threads) {
    for (const std::string& engine : plan.engines) {
      for (const int replayers : plan.replayers) {
        list.push_back({.workload = plan.common.workload,
                        .engine = engine,
                        .threads = threads,
                        .options = {replayers, plan.filter}});
      }
    }
  }
  return list;
}

}  // namespace

Result<Json> replay(const Json& spec, Progress progress) {
  return guarded([&] {
    const ReplayPlan plan = parse_replay(spec);
    const std::vector<MeasuredReplay> list = configurations(plan);
    Json benchmarks = Json::array();
    std::map<std::string, std::string> backends;
    for (const MeasuredReplay& m : list) {
      progress(static_cast<double>(benchmarks.size()) / static_cast<double>(list.size()), m.name());
      benchmarks.push_back(measure_or_explain(plan, m, backends[m.engine]));
    }
    progress(1, "done");
    Json context = environment();
    context["machine"] = "native";
    context["workload"] = plan.common.workload;
    context["params"] = plan.common.parameters;
    context["options"] = plan.common.options;
    context["domain"] = to_string(plan.common.domain);
    context["latency"] = plan.common.latency;
    context["htm"] = describe_htm(plan.common, backends);
    context["transactions_per_thread"] = plan.transactions;
    context["turns"] = plan.turns;
    context["seed"] = plan.common.seed;
    return Json{{"context", context}, {"benchmarks", benchmarks}};
  });
}

}  // namespace holdfast
