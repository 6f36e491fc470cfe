// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/db_bench.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "holdfast/db/options.h"
#include "holdfast/heap/file/superblock.h"
#include "holdfast/runner/db/db_bench_entry.h"
#include "holdfast/runner/db/holdfast_store.h"
#include "holdfast/runner/db/measure.h"
#include "holdfast/runner/db/peers.h"
#include "holdfast/runner/db/workload.h"
#include "holdfast/runner/db/ycsb.h"
#include "holdfast/runner/spec/environment.h"
#include "holdfast/runner/spec/guarded.h"
#include "holdfast/runner/spec/temporary_heap.h"

namespace holdfast {
namespace store_bench {
namespace {

constexpr int kMostThreads = 128;

struct DbBenchPlan {
  std::vector<Step> steps;
  Sizes sizes;
  int threads = 1;
  std::vector<std::string> engines;
  std::vector<Domain> domains;
  std::map<std::string, std::string> options;
  std::optional<size_t> journal_bytes = {};  // of the databases in domain file
  std::vector<std::string> peers;
  std::string peers_folder;
  std::string sync;
  int rounds = 1;
  bool each = false;
  std::string folder;
  uint64_t seed = 1;

  bool durable(const Step& step) const {
    return sync == "always" || (sync == "default" && step.durable);
  }
};

void add_steps(const Json& spec, DbBenchPlan& plan) {
  const Json names = spec.value("benchmarks", Json::array({"fillseq"}));
  for (const Json& entry : names.is_array() ? names : Json::array({names})) {
    if (entry.is_object()) {
      for (Step& step : steps_of(Ycsb::parse(entry))) {
        plan.steps.push_back(std::move(step));
      }
    } else {
      plan.steps.push_back(step_of(entry.get<std::string>(), plan.sizes));
    }
  }
}

DbBenchPlan parse_db_bench(const Json& spec) {
  constexpr int64_t kMost = int64_t{1} << 40;
  Json plain = spec;
  plain.erase("benchmarks");  // add_steps reads the objects among them
  Fields fields(plain, "db bench");
  DbBenchPlan plan;
  const int64_t num = fields.number("num", 100'000, 1, kMost);
  plan.sizes.num = static_cast<uint64_t>(num);
  plan.sizes.reads = static_cast<uint64_t>(fields.number("reads", num, 1, kMost));
  plan.sizes.value_size = static_cast<size_t>(fields.number("value_size", 100, 1, 1 << 20));
  plan.threads = static_cast<int>(fields.number("threads", 1, 1, kMostThreads));
  plan.engines = fields.texts("engines");
  for (const std::string& name : fields.texts("domains")) {
    plan.domains.push_back(parse_domain(name).value());
  }
  plan.options = fields.map("options");
  if (const int64_t n = fields.number("journal_bytes", -1, -1, kMostJournalBytes); n >= 0) {
    plan.journal_bytes = static_cast<size_t>(n);
  }
  plan.peers = fields.texts("peers");
  plan.peers_folder = fields.text("peers_dir", "");
  plan.sync = fields.text("sync", "default");
  plan.rounds = static_cast<int>(fields.number("rounds", 1, 1, 1000));
  plan.each = fields.flag("each", false);
  plan.folder = fields.text("dir", "");
  plan.seed = static_cast<uint64_t>(fields.number("seed", 1, 0, INT64_MAX));
  fields.finish();
  if (plan.engines.empty()) {
    plan.engines = {db::kDefaultEngine};
  }
  if (plan.domains.empty()) {
    plan.domains = {Domain::file};
  }
  const auto& d = plan.domains;
  if (plan.journal_bytes.value_or(0) != 0 &&
      std::find(d.begin(), d.end(), Domain::file) == d.end()) {
    throw Error(Status(Code::invalid_argument,
                       "a journal is for domain file, which is not among the domains"));
  }
  if (plan.folder.empty()) {
    plan.folder = default_folder(Domain::process);
  }
  add_steps(spec, plan);
  return plan;
}

/// A new folder for the databases, removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& parent)
      : path_(parent + "/holdfast-db-bench-" + std::to_string(getpid())) {
    std::error_code error;
    std::filesystem::create_directory(path_, error);
    if (error) {
      throw Error(Status(Code::not_found, "cannot make a folder in " + parent +
                                              " for databases: " + error.message()));
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(size_t number) const { return path_ + "/" + std::to_string(number); }

 private:
  std::string path_;
};

/// One store under measurement. A fresh step opens it again, empty.
struct Contender {
  std::string name;
  std::string version;
  std::function<std::unique_ptr<Store>(const std::string& path)> make;
  std::string path;
  std::unique_ptr<Store> store = nullptr;

  void renew() {
    drop();
    store = make(path);
  }
  void drop() {
    store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::vector<Contender> contenders(const DbBenchPlan& plan, const Folder& folder, Json& missing) {
  std::vector<Contender> list;
  const int clients = plan.threads + 1;  // a helper, too
  for (const std::string& engine : plan.engines) {
    for (const Domain domain : plan.domains) {
      std::optional<size_t> journal;
      if (domain == Domain::file) {
        journal = plan.journal_bytes;
      }
      const HoldfastSpec spec{engine, plan.options, domain, journal, plan.sync == "never"};
      const std::string name = "holdfast/" + engine + "/" + to_string(domain);
      list.push_back({journal.value_or(0) != 0 ? name + "/journal" : name, "",
                      [=](const auto& path) { return open_holdfast(spec, path, clients); },
                      folder.file(list.size())});
    }
  }
  for (const std::string& name : plan.peers) {
    auto peer = Peer::load(name, plan.peers_folder);
    if (peer) {
      list.push_back(
          {name, peer->version(),
           [peer = *peer, clients](const auto& path) { return peer.open(path, clients); },
           folder.file(list.size())});
    } else if (peer.status().code() == Code::unsupported) {
      missing.push_back({{"store", name}, {"reason", peer.status().message()}});
    } else {
      peer.status().check();
    }
  }
  return list;
}

void take_turn(const DbBenchPlan& plan, const Step& step, Contender& contender, bool first,
               uint64_t seed, Measured& measured) {
  if (!measured.status.ok()) {
    return;  // a step that failed once would fail again
  }
  Run run;
  const Status opened = run_guarded([&] {
    if (first || step.fresh || contender.store == nullptr) {
      contender.renew();
    }
  });
  if (opened.ok()) {
    const bool durable = plan.durable(step);
    measured.survives = contender.store->survives(durable);
    run = measure(*contender.store, step, plan.threads, durable, seed, plan.each);
    settle();
  }
  measured.status = opened.ok() ? run.status : opened;
  if (measured.status.ok()) {
    measured.runs.push_back(std::move(run));
  }
}

std::vector<Measured> measure_all(const DbBenchPlan& plan, std::vector<Contender>& list,
                                  Progress progress) {
  std::vector<Measured> results;
  for (const Step& step : plan.steps) {
    for (const Contender& contender : list) {
      results.push_back({.benchmark = step.name,
                         .store = contender.name,
                         .threads = plan.threads,
                         .kinds = step.kinds});
    }
  }
  const double turns = static_cast<double>(results.size()) * plan.rounds;
  double done = 0;
  for (int round = 0; round < plan.rounds; ++round) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      for (size_t turn = 0; turn < list.size(); ++turn) {
        // The first store of a step finds the caches full of another store's data, so the stores
        // take turns at being first.
        const size_t which = (turn + static_cast<size_t>(round)) % list.size();
        progress(done++ / turns, plan.steps[i].name + " " + list[which].name);
        // Every store and round uses the same keys.
        take_turn(plan, plan.steps[i], list[which], i == 0, mix64(plan.seed) + i,
                  results[i * list.size() + which]);
      }
    }
  }
  for (Contender& contender : list) {
    contender.drop();
  }
  progress(1, "done");
  return results;
}

Json context(const DbBenchPlan& plan, const std::vector<Contender>& list, const Json& missing) {
  Json context = environment();
  context["num"] = plan.sizes.num;
  context["reads"] = plan.sizes.reads;
  context["value_size"] = plan.sizes.value_size;
  context["threads"] = plan.threads;
  context["rounds"] = plan.rounds;
  context["sync"] = plan.sync;
  context["dir"] = plan.folder;
  context["seed"] = plan.seed;
  context["options"] = plan.options;
  if (plan.journal_bytes) {
    context["journal_bytes"] = *plan.journal_bytes;
  }
  context["stores"] = Json::array();
  for (const Contender& contender : list) {
    context["stores"].push_back({{"name", contender.name}, {"version", contender.version}});
  }
  context["missing"] = missing;
  return context;
}

}  // namespace
}  // namespace store_bench

Result<Json> db_bench(const Json& spec, Progress progress) {
  using namespace store_bench;  // NOLINT(google-build-using-namespace): one function
  return guarded([&] {
    const DbBenchPlan plan = parse_db_bench(spec);
    const Folder folder(plan.folder);
    Json missing = Json::array();
    std::vector<Contender> list = contenders(plan, folder, missing);
    const std::vector<Measured> results = measure_all(plan, list, progress);
    Json benchmarks = Json::array();
    for (size_t i = 0; i < results.size(); ++i) {
      append_entries(results[i], static_cast<int>(i), benchmarks);
    }
    return Json{{"context", context(plan, list, missing)}, {"benchmarks", benchmarks}};
  });
}

Json db_bench_catalog() {
  Json catalog = {{"benchmarks", Json::array()}, {"peers", Json::array()}};
  for (const auto& info : store_bench::benchmark_list()) {
    catalog["benchmarks"].push_back({{"name", info.name}, {"help", info.help}});
  }
  for (const auto& peer : store_bench::peer_list()) {
    catalog["peers"].push_back({{"name", peer.name},
                                {"missing", store_bench::why_missing(peer, "")},
                                {"file", store_bench::plug_in(peer.name, "")}});
  }
  return catalog;
}

}  // namespace holdfast
