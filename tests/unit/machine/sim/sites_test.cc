// SPDX-License-Identifier: Apache-2.0
// Does every engine label its persistence operations, and does a run with recovery come to every
// label there is in its source?
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/canary.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast {
namespace {

using engine_rows_test::mixed_transactions;
using engine_rows_test::row_of;
using engine_rows_test::RowHeap;
using engine_rows_test::small_logs;
using Names = std::set<std::string>;

const std::filesystem::path kEngines =
    std::filesystem::path(HOLDFAST_SOURCE_DIR) / "holdfast/engines";

std::string content(const std::filesystem::path& path) {
  const std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

// ---- what the source says

/// The header of each engine, from the registry of engines.
const std::map<std::string, std::string>& engine_headers() {
  static const std::map<std::string, std::string> headers = [] {
    std::map<std::string, std::string> found;
    const std::string registry = content(kEngines / "CMakeLists.txt");
    const std::regex line(R"re(\nholdfast_engine\((\S+) engines/(\S+) )re");
    for (std::sregex_iterator at(registry.begin(), registry.end(), line), end; at != end; ++at) {
      found[(*at)[1]] = (*at)[2];
    }
    return found;
  }();
  return headers;
}

/// The header of an engine, and all headers of engines and their parts that it includes.
const std::set<std::filesystem::path>& files_of(const std::string& engine) {
  static std::map<std::string, std::set<std::filesystem::path>> known;
  const auto [at_engine, unread] = known.try_emplace(engine);
  std::set<std::filesystem::path>& files = at_engine->second;
  if (!unread) {
    return files;
  }
  const std::regex include(R"re(#include "holdfast/engines/([^"]+)")re");
  std::vector<std::string> left = {engine_headers().at(engine)};
  while (!left.empty()) {
    const std::filesystem::path file = kEngines / left.back();
    left.pop_back();
    if (!files.insert(file).second) {
      continue;
    }
    const std::string text = content(file);
    for (std::sregex_iterator at(text.begin(), text.end(), include), end; at != end; ++at) {
      left.push_back((*at)[1]);
    }
  }
  return files;
}

/// Each file is read once: what asks, asks again and again.
const Names& labels_in(const std::filesystem::path& file) {
  static std::map<std::filesystem::path, Names> known;
  const auto [at_file, unread] = known.try_emplace(file);
  Names& names = at_file->second;
  if (!unread) {
    return names;
  }
  const std::regex label(R"re(Site\{\s*"([^"]+)"\s*\})re");
  const std::string text = content(file);
  for (std::sregex_iterator at(text.begin(), text.end(), label), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

Names labels_in_source(const std::string& engine) {
  Names names;
  for (const auto& file : files_of(engine)) {
    const Names& more = labels_in(file);
    names.insert(more.begin(), more.end());
  }
  return names;
}

TEST(SimSites, EveryPersistenceOperationOfAnEngineHasALabel) {
  // A call up to its semicolon; the label may be an argument of the function it stands in.
  const std::regex call(
      R"re(machine_?\.(pwb|pwb_range|pfence|psync|fence|heavy_fence)\(([^;]*);)re");
  const std::regex labelled(R"re(Site\{\s*"|\bsite\b|\bfence\b)re");
  int calls = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kEngines)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".h") {
      continue;
    }
    const std::string text = content(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
      ++calls;
      EXPECT_TRUE(std::regex_search((*at)[2].str(), labelled)) << entry.path() << ": " << at->str();
    }
  }
  EXPECT_GT(calls, 20) << "the pattern above finds nothing any more";
}

TEST(SimSites, NoLabelStandsInTwoEnginesUnlessTheyShareTheSource) {
  struct Owner {
    std::string engine;
    std::filesystem::path file;
  };
  std::map<std::string, Owner> owners;
  for (const char* engine :
       {"undo", "romulus", "fur-opa", "hw", "spht", "spec-pmt", "pisces", "onefile"}) {
    for (const auto& file : files_of(engine)) {
      for (const std::string& name : labels_in(file)) {
        const Owner& first = owners.try_emplace(name, Owner{engine, file}).first->second;
        EXPECT_TRUE(first.engine == engine || first.file == file) << name << ": " << engine;
      }
    }
  }
}

// ---- what runs come to

void note(const SimMachine& machine, Names& met) {
  for (const SiteUse& use : machine.sites()) {
    met.insert(use.name);
  }
}

SimOptions options_for(const std::string& engine, uint64_t seed) {
  SimOptions o = engine == "hw" ? design_test::options(design_test::tiny(), "opt") : SimOptions{};
  o.threads = RowHeap::kThreads;
  o.seed = seed;
  o.list_sites = true;
  return o;
}

/// Runs every kind of transaction, closes, and recovers from a few of the images on the way.
void run_and_recover(const std::string& engine, uint64_t seed, Options options, Names& met) {
  options.merge(small_logs(engine));
  std::vector<SimImage> images;
  {
    SimMachine machine(options_for(engine, seed));
    RowHeap heap(machine, row_of(engine), options);
    heap.engine().format().check();
    heap.recover().check();
    machine.before_persist_event([&](uint64_t event) {
      if (event % 50 == 0 && images.size() < 20) {
        images.push_back(machine.latest_image());
      }
    });
    machine.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 4); });
    machine.before_persist_event({});
    heap.engine().close().check();
    note(machine, met);
  }
  for (const SimImage& image : images) {
    SimMachine machine(options_for(engine, seed), image);
    RowHeap heap(machine, row_of(engine), options);
    heap.recover().check();
    note(machine, met);
  }
}

/// Romulus alone needs this: a batch so large that it is copied whole; and Quadra needs as
/// well: reads in such numbers that the lock comes to trust readers.
void run_at_length(const std::string& engine, Names& met) {
  SimMachine machine(options_for(engine, 1));
  RowHeap heap(machine, row_of(engine), {});
  heap.engine().format().check();
  heap.recover().check();
  machine.run_threads(1, [&](int) {
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
  note(machine, met);
}

/// Trinity alone needs this: a table that runs full under commits of others, and commits in such
/// numbers that the lock comes to trust them, before the table is emptied.
void run_many_commits(const std::string& engine, Names& met) {
  SimMachine machine(options_for(engine, 1));
  RowHeap heap(machine, row_of(engine), small_logs(engine));
  heap.engine().format().check();
  heap.recover().check();
  machine.run_threads(RowHeap::kThreads, [&](int worker) {
    for (size_t i = 0; i < 100; ++i) {
      const size_t word = i * 12 % 120 + 120 * static_cast<size_t>(worker);
      heap.engine().update([&] { heap.fill(word, i); });
    }
  });
  machine.run_threads(1, [&](int) {
    for (uint64_t i = 0; i < 1100; ++i) {
      heap.engine().update([&] { heap.set(0, i); });
    }
  });
  heap.engine().close().check();
  note(machine, met);
}

/// OneFile alone needs this: a machine on which atomics order no write-backs, and images in which
/// some lines are further than others.
void run_with_weak_atomics(const std::string& engine, uint64_t seed, Names& met) {
  SimOptions weak = options_for(engine, seed);
  weak.rmw_orders_pwb = false;
  std::vector<SimImage> images;
  {
    SimMachine machine(weak);
    RowHeap heap(machine, row_of(engine), small_logs(engine));
    heap.engine().format().check();
    heap.recover().check();
    Random random(seed);
    machine.before_persist_event([&](uint64_t event) {
      if (event % 10 == 0 && images.size() < 100) {
        images.push_back(machine.sample_image(random));
      }
    });
    machine.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 4); });
    machine.before_persist_event({});
    note(machine, met);
  }
  for (const SimImage& image : images) {
    SimMachine machine(weak, image);
    RowHeap heap(machine, row_of(engine), small_logs(engine));
    heap.recover().check();
    note(machine, met);
  }
}

/// Software transactions alone need this: others change words they have read and not stored to.
void run_with_stale_reads(const std::string& engine, uint64_t seed, Names& met) {
  SimMachine machine(options_for(engine, seed));
  RowHeap heap(machine, row_of(engine), small_logs(engine));
  heap.engine().format().check();
  heap.recover().check();
  machine.run_threads(RowHeap::kThreads, [&](int worker) {
    const auto own = static_cast<size_t>(worker);
    for (int i = 0; i < 4; ++i) {
      heap.engine().update([&] {
        const uint64_t seen = heap.get(8 * ((own + 1) % RowHeap::kThreads));
        heap.set(8 * own, seen + 1);
      });
    }
  });
  note(machine, met);
}

Names labels_met(const std::string& engine) {
  Names met;
  // Conflicts of all kinds take some luck.
  const bool software = engine == "tinystm" || engine == "spec-pmt" || engine == "dudetm" ||
                        engine == "pisces" || engine == "trinity" || engine == "mnemosyne" ||
                        engine == "onefile";
  for (uint64_t seed = 1; seed <= (software ? 24 : 4); ++seed) {
    run_and_recover(engine, seed, {}, met);
    if (software) {
      run_with_stale_reads(engine, seed, met);
    }
  }
  if (engine.substr(0, 3) == "fur") {
    run_and_recover(engine, 1, {{"retries", "0"}}, met);
    run_and_recover(engine, 1, {{"timestamps", "as_printed"}}, met);
  } else if (engine.substr(0, 7) == "romulus" || engine == "pmdk-like" || engine == "quadra") {
    run_at_length(engine, met);
  } else if (engine == "trinity") {
    run_many_commits(engine, met);
  } else if (engine == "onefile") {
    run_with_weak_atomics(engine, 1, met);
  } else if (engine.find("htm") != std::string::npos || engine == "spht") {
    run_and_recover(engine, 1, {{"retries", "0"}}, met);
  } else if (engine == "crafty") {
    run_and_recover(engine, 1, {{"retries", "0"}, {"chunk", "1"}}, met);
  }
  if (row_of(engine).replays) {
    run_and_recover(engine, 1, {{"replayers", "2"}}, met);
  }
  if (engine == "pmdk-like") {
    run_and_recover(engine, 1, {{"checksums", "1"}}, met);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      run_and_recover(engine, seed, {{"readers_first", "1"}}, met);
    }
  }
  if (engine == "mnemosyne") {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      run_and_recover(engine, seed, {{"tornbit", "1"}}, met);
    }
  }
  return met;
}

struct NotMet {
  const char* engine;
  const char* label;  ///< or the beginning of several, with a star
  const char* why;
};
const std::vector<NotMet> kNotMet = {
    {"romulus", "romulus.twin", "always copies everything: romulus.twin.all"},
    {"romulus", "leftright.*", "its readers take the reader-writer lock"},
    {"romulus-log", "leftright.*", "its readers take the reader-writer lock"},
    {"romulus-lr", "crwwp.*", "its readers are wait-free"},
    {"htm", "pht.begin", "announces nothing: no thread waits for its durability"},
    {"nv-htm", "pht.recover.bound", "has no global marker: whatever has its own counts"},
    {"fur-tsx", "pht.recover.bound", "has no global marker: whatever has its own counts"},
    {"fur-tsx", "pht.read.durability_wait", "waits for those that have committed only"},
    {"spec-pmt", "logs.recover.working_copy", "works on the data themselves"},
    {"spec-pmt", "fur.log.room", "asks for free bytes instead of room()"},
    {"dudetm", "fur.log.room", "asks for free bytes instead of room()"},
    {"spec-pmt", "logs.recover.gap", "a time that is missing means nothing to it"},
};

bool excused(const std::string& engine, const std::string& label) {
  for (const NotMet& row : kNotMet) {
    const std::string pattern = row.label;
    const bool fits = pattern.back() == '*' ? label.compare(0, pattern.size() - 1, pattern, 0,
                                                            pattern.size() - 1) == 0
                                            : label == pattern;
    if (engine == row.engine && fits) {
      return true;
    }
  }
  return false;
}

// ---- the list of planted bugs

TEST(SimSites, EveryCanaryNamesALabelOfItsEngine) {
  const std::vector<Canary> canaries = load_canaries().value();
  ASSERT_FALSE(canaries.empty());
  std::map<std::string, Names> sites;
  for (const Canary& canary : canaries) {
    const std::string& engine = canary.engine;
    const Mutation mutation = parse_mutation(canary.mutation).value();
    EXPECT_EQ(labels_in_source(engine).count(mutation.site), 1u) << engine << ": " << mutation.site;
    EXPECT_FALSE(excused(engine, mutation.site)) << engine << " never meets " << mutation.site;
    sites[engine].insert(mutation.site);
  }
  for (const auto& engine : engine_rows<SimMachine>()) {
    const std::string name = engine.description->name;
    if (engine.description->durability == Durability::none) {
      continue;  // the crash explorer, which hunts for planted bugs, refuses it
    }
    EXPECT_GE(sites[name].size(), name == "hw" ? 7u : 8u) << name;
  }
}

class SimSitesOfEngine : public testing::TestWithParam<const char*> {};

TEST_P(SimSitesOfEngine, ARunWithRecoveryComesToEveryLabel) {
  const std::string engine = GetParam();
  const Names met = labels_met(engine);
  for (const std::string& label : labels_in_source(engine)) {
    EXPECT_NE(met.count(label) == 1, excused(engine, label)) << label;
  }
  for (const std::string& label : met) {
    EXPECT_EQ(labels_in_source(engine).count(label), 1u)
        << label << " is in no header that the engine's includes";
  }
}

/// Labels of which docs/inside/planted-bugs says nothing, as no hunt comes to them.
const std::map<std::string, const char*> kNotHunted = {
    {"crwwp.revoke", "takes a thousand reads in a row: crwwp_bias_test.cc drops it"},
    {"fur.inactive", "with timestamps=as_printed, which is a bug already"},
};

TEST_P(SimSitesOfEngine, ItsPageOfPlantedBugsHasEveryLabel) {
  const std::string engine = GetParam();
  if (row_of(engine).description->durability == Durability::none) {
    return;
  }
  const std::string page = content(std::filesystem::path(HOLDFAST_SOURCE_DIR) /
                                   "docs/inside/planted-bugs" / (engine + ".md"));
  const Names labels = labels_in_source(engine);
  for (const std::string& label : labels) {
    const bool listed = page.find("\n| `" + label + "` |") != std::string::npos;
    EXPECT_NE(listed, excused(engine, label) || kNotHunted.count(label) == 1)
        << label << ": tools/update_planted_bugs.py --engine " << engine << " --sites " << label;
  }
  const std::regex row("\n\\| `([^`]+)`");
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    EXPECT_EQ(labels.count((*at)[1]), 1u) << (*at)[1] << " is gone";
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, SimSitesOfEngine,
                         testing::Values("undo", "pmdk-like", "romulus", "romulus-log",
                                         "romulus-lr", "fur-opa", "fur-si", "fur-mv", "fur-tsx",
                                         "htm", "si-htm", "spht", "spht-si-htm", "nv-htm",
                                         "tinystm", "spec-pmt", "mnemosyne", "dudetm", "trinity",
                                         "quadra", "onefile", "pisces", "crafty", "hw"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SimSites, TheTestAboveKnowsEveryEngine) {
  EXPECT_EQ(engine_rows<SimMachine>().size(), 24u);
}

}  // namespace
}  // namespace holdfast
