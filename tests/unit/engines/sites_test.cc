// SPDX-License-Identifier: Apache-2.0
// Does every engine label its persistence operations, and does a run with recovery reach every
// label in its source?
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/engine_sources.h"
#include "tests/file_bytes.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::sites_test {
namespace {

using engine_rows_test::BodyFails;
using engine_rows_test::machine_for;
using engine_rows_test::mixed_transactions;
using engine_rows_test::row_of;
using engine_rows_test::RowHeap;
using Names = std::set<std::string>;

// ---- the source

const std::vector<EngineSource>& sources() {
  static const std::vector<EngineSource> all = read_engine_sources().value();
  return all;
}

Names labels_in_source(const std::string& engine) {
  Names names;
  for (const auto& [label, files] : find_row("engine", engine, sources()).value()->labels) {
    names.insert(label);
  }
  return names;
}

TEST(EngineSites, EveryPersistenceOperationOfAnEngineHasALabel) {
  // A call up to its semicolon. The label may be an argument of the function around the call.
  const std::regex call(
      R"re(machine_?\.(pwb|pwb_range|pfence|psync|fence|heavy_fence)\(([^;]*);)re");
  const std::regex labelled(R"re(Site\{\s*"|\bsite\b|\bfence\b)re");
  int calls = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(engines_directory())) {
    if (!entry.is_regular_file() || entry.path().extension() != ".h") {
      continue;
    }
    const std::string text = file_bytes(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      ++calls;
      EXPECT_TRUE(std::regex_search((*at)[2].str(), labelled)) << entry.path() << ": " << at->str();
    }
  }
  EXPECT_GT(calls, 20) << "the pattern above finds nothing any more";
}

TEST(EngineSites, ALabelOfTwoEnginesStandsInAFileThatTheyShare) {
  std::map<std::string, std::set<std::filesystem::path>> first;
  for (const EngineSource& engine : sources()) {
    for (const auto& [label, files] : engine.labels) {
      const auto& others = first.try_emplace(label, files).first->second;
      EXPECT_TRUE(std::any_of(files.begin(), files.end(),
                              [&](const auto& file) { return others.count(file) == 1; }))
          << label << ": " << engine.name;
    }
  }
}

/// checks.toml lists them, and may list only those that a source names. So one that gets lost is
/// noticed.
/// A heap is no larger than the records of its engine's logs can address.
TEST(EngineSites, AnEngineThatWritesRedoRecordsBoundsItsHeaps) {
  for (const EngineSource& source : sources()) {
    const bool writes = source.files.count("parts/durability/replay/redo_record.h") != 0;
    const uint64_t most = row_of(source.name).description->most_bytes;
    EXPECT_TRUE(!writes || most <= RedoRecord::kMostBytes) << source.name;
  }
}

TEST(EngineSites, TheRarePathsOfAnEngineAreListedBesideIt) {
  for (const EngineSource& engine : sources()) {
    for (const auto& [name, files] : engine.probes) {
      EXPECT_EQ(checks_of(engine.name).rare_paths.count(name), 1u)
          << "add " << name << " to the table rare_paths of checks.toml beside " << *files.begin();
    }
  }
}

// ---- runs

void note(const SimMachine& machine, Names& met) {
  for (const SiteUse& use : machine.sites()) {
    met.insert(use.name);
  }
}

/// Runs of one engine, and the labels they reach.
class Runs {
 public:
  explicit Runs(const std::string& engine)
      : row_(row_of(engine)), source_(labels_in_source(engine)) {}

  const Names& met() const { return met_; }
  bool met_all(const EngineChecks& checks) const {
    return std::all_of(source_.begin(), source_.end(), [&](const std::string& label) {
      return met_.count(label) == 1 || checks.is_unreached(label);
    });
  }

  /// Runs every kind of transaction, closes, and recovers from a few of the images on the way.
  void mixed(uint64_t seed, const Options& options = {}) {
    const SimOptions machine = machine_of(seed);
    std::vector<SimImage> images;
    run(machine, with_tiny(about(), options), [&](SimMachine& sim, RowHeap& heap) {
      sim.before_persist_event([&](uint64_t event) {
        if (event % 50 == 0 && images.size() < 20) {
          images.push_back(sim.latest_image());
        }
      });
      sim.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 8); });
      sim.before_persist_event({});
      heap.engine().close().check();
    });
    recover(machine, with_tiny(about(), options), images);
  }

  /// Updates depend on their own word, and on one that another thread changes meanwhile.
  void stale_reads(uint64_t seed) {
    run(machine_of(seed), with_tiny(about(), {}), [](SimMachine& sim, RowHeap& heap) {
      sim.run_threads(RowHeap::kThreads, [&](int worker) {
        const auto own = static_cast<size_t>(worker);
        for (int i = 0; i < 4; ++i) {
          heap.engine().update([&] {
            const uint64_t before = heap.get(8 * own);
            const uint64_t seen = heap.get(8 * ((own + 1) % RowHeap::kThreads));
            heap.set(8 * own, before + seen + 1);
          });
        }
      });
    });
  }

  /// Waits for what may lag.
  void fences() {
    run(machine_of(1), {}, [](SimMachine& sim, RowHeap& heap) {
      sim.run_threads(1, [&](int) {
        heap.engine().update([&] { heap.set(0, 1); });
        heap.engine().fence();
        const Status status = heap.engine().barrier();
        EXPECT_TRUE(status.ok() || status.code() == Code::unsupported) << status.message();
      });
    });
  }

  /// An update larger than a page, then so many reads that a lock comes to trust readers.
  void large_update_and_many_reads() {
    run(machine_of(1), {}, [](SimMachine& sim, RowHeap& heap) {
      sim.run_threads(1, [&](int) {
        const std::vector<std::byte> page(RowHeap::kBytes);
        heap.engine().update([&] {
          heap.engine().store_range(heap.word(0), page.data(), page.size());
          heap.engine().store_range(heap.word(0), page.data(), page.size());
        });
        for (int i = 0; i < 1100; ++i) {
          heap.engine().read([&] { static_cast<void>(heap.get(0)); });
        }
        heap.engine().update([&] { heap.set(0, 1); });
      });
    });
  }

  /// Records of all threads fill a table, then so many updates follow that a lock comes to trust
  /// them before the table is emptied.
  void many_updates() {
    run(machine_of(1), with_tiny(about(), {}), [](SimMachine& sim, RowHeap& heap) {
      sim.run_threads(RowHeap::kThreads, [&](int worker) {
        for (size_t i = 0; i < 100; ++i) {
          const size_t word = i * 12 % 120 + 120 * static_cast<size_t>(worker);
          heap.engine().update([&] { heap.fill(word, i); });
        }
      });
      sim.run_threads(1, [&](int) {
        for (uint64_t i = 0; i < 1100; ++i) {
          heap.engine().update([&] { heap.set(0, i); });
        }
      });
      heap.engine().close().check();
    });
  }

  /// Updates that do not fit into the log take a loan, in the second half of the data.
  void large_updates(uint64_t seed) {
    if (!about().any_size) {
      return;
    }
    const Options options =
        with_tiny(about(), known_options(about(), {{"records", "16"}, {"log_bytes", "512"}}));
    std::vector<SimImage> images;
    run(machine_of(seed), options, [&](SimMachine& sim, RowHeap& heap) {
      sim.before_persist_event([&](uint64_t) { images.push_back(sim.latest_image()); });
      sim.run_threads(1, [&](int) {
        heap.engine().update(
            [&] { heap.engine().lend({RowHeap::kBytes / 2, RowHeap::kBytes / 2}); });
        for (uint64_t value = 1; value <= 2; ++value) {
          heap.engine().update([&] {
            for (size_t i = 0; i < 80; i += 2) {
              heap.set(i, value);
            }
          });
          heap.write(0, value);
        }
        EXPECT_THROW(heap.engine().update([&] {
          heap.set(0, 9);
          throw BodyFails();
        }),
                     BodyFails);
        heap.engine().update([&] { heap.engine().lend({}); });
      });
      sim.before_persist_event({});
      heap.engine().close().check();
    });
    recover(machine_of(seed), options, images);
  }

  /// Recovers from images in which some lines are ahead of others, of a machine on which atomics
  /// order no write-backs.
  void weak_atomics(uint64_t seed) {
    SimOptions weak = machine_of(seed);
    weak.rmw_orders_pwb = false;
    std::vector<SimImage> images;
    run(weak, with_tiny(about(), {}), [&](SimMachine& sim, RowHeap& heap) {
      Random random(seed);
      sim.before_persist_event([&](uint64_t event) {
        if (event % 10 == 0 && images.size() < 100) {
          images.push_back(sim.sample_image(random));
        }
      });
      sim.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 4); });
      sim.before_persist_event({});
    });
    recover(weak, with_tiny(about(), {}), images);
  }

  /// Updates and reads over a journal, whose answers wait for it.
  void over_a_journal(uint64_t seed, const Options& options) {
    SimOptions journaled = machine_of(seed);
    journaled.domain = Domain::file;
    journaled.journal = true;
    run(journaled, with_tiny(about(), options), [](SimMachine& sim, RowHeap& heap) {
      sim.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 8); });
    });
  }

 private:
  const Description& about() const { return *row_.description; }
  SimOptions machine_of(uint64_t seed) const {
    SimOptions o = machine_for(about(), seed);
    o.list_sites = true;
    return o;
  }

  template <class F>
  void run(const SimOptions& options, const Options& engine_options, F&& f) {
    SimMachine machine(options);
    RowHeap heap(machine, row_, engine_options);
    heap.engine().format().check();
    heap.recover().check();
    f(machine, heap);
    note(machine, met_);
  }
  void recover(const SimOptions& options, const Options& engine_options,
               const std::vector<SimImage>& images) {
    for (const SimImage& image : images) {
      SimMachine machine(options, image);
      machine.power_on();
      RowHeap heap(machine, row_, engine_options);
      heap.recover().check();
      note(machine, met_);
    }
  }

  const EngineRow<SimMachine>& row_;
  const Names source_;
  Names met_;
};

/// Runs that together reach every label they can: conflicts of all kinds take some luck.
Names labels_met(const std::string& engine) {
  constexpr uint64_t kFewestSeeds = 4;
  constexpr uint64_t kMostSeeds = 24;
  const EngineChecks& checks = checks_of(engine);
  Runs runs(engine);
  runs.fences();
  runs.large_update_and_many_reads();
  runs.many_updates();
  runs.large_updates(1);
  if (!row_of(engine).description->needs_design) {
    runs.weak_atomics(1);
  }
  if (row_of(engine).replays) {
    runs.mixed(1, {{"replayers", "2"}});
  }
  for (const Canary& canary : checks.canaries) {
    if (!canary.setting.empty()) {
      runs.mixed(1, canary.needs.value("options", Options{}));
    }
  }
  for (uint64_t seed = 1; seed <= kFewestSeeds || (seed <= kMostSeeds && !runs.met_all(checks));
       ++seed) {
    runs.mixed(seed);
    runs.stale_reads(seed);
    for (const EngineVariant& variant : checks.variants) {
      if (variant.design.empty()) {  // runs have the usual one
        runs.mixed(seed, variant.options);
      }
    }
    for (const Canary& canary : checks.canaries) {
      if (canary.needs.value("journal", false)) {
        runs.over_a_journal(seed, canary.needs.value("options", Options{}));
      }
    }
  }
  return runs.met();
}

// ---- planted bugs

TEST(EngineSites, EveryDurableEngineHasCanariesAtEightSites) {
  for (const auto& engine : engine_rows<SimMachine>()) {
    if (engine.description->durability == Durability::none) {
      continue;  // the crash explorer, which searches for planted bugs, refuses it
    }
    Names sites;
    for (const Canary& canary : checks_of(engine.description->name).canaries) {
      if (!canary.mutation.empty()) {
        sites.insert(parse_mutation(canary.mutation).value().site);
      }
    }
    // An engine that leaves the work to a hardware design has few sites of its own.
    EXPECT_GE(sites.size(), engine.description->needs_design ? 7u : 8u) << engine.description->name;
  }
}

class EngineSitesOf : public testing::TestWithParam<std::string> {};

TEST_P(EngineSitesOf, ARunWithRecoveryReachesEveryLabel) {
  const std::string engine = GetParam();
  const Names met = labels_met(engine);
  const Names labels = labels_in_source(engine);
  for (const std::string& label : labels) {
    EXPECT_NE(met.count(label) == 1, checks_of(engine).is_unreached(label)) << label;
  }
  for (const std::string& label : met) {
    EXPECT_EQ(labels.count(label), 1u) << label << " is in no header that the engine's includes";
  }
}

TEST_P(EngineSitesOf, ItsPageOfPlantedBugsHasEveryLabel) {
  const std::string engine = GetParam();
  if (row_of(engine).description->durability == Durability::none) {
    return;
  }
  const std::string page = file_bytes(std::filesystem::path(HOLDFAST_SOURCE_DIR) /
                                      "docs/inside/planted-bugs" / (engine + ".md"));
  const Names labels = labels_in_source(engine);
  for (const std::string& label : labels) {
    const bool listed = page.find("\n| `" + label + "` |") != std::string::npos;
    EXPECT_NE(listed, checks_of(engine).is_unreached(label, true))
        << label << ": tools/update_planted_bugs.py --engine " << engine << " --sites " << label;
  }
  const std::regex row("\n\\| `([^`]+)`");
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    EXPECT_EQ(labels.count((*at)[1]), 1u) << (*at)[1] << " is gone";
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineSitesOf,
                         testing::ValuesIn(engine_rows_test::engine_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::sites_test
