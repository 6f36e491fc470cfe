// SPDX-License-Identifier: Apache-2.0
//
// Does no schedule of opening, looking and reclaiming free a version that an open view shows, lose
// one, or free one twice? Would these tests notice if a fence or a check were missing?
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/views/backlog.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/machine/sim/threads/scheduler.h"

namespace holdfast::db::views_test {
namespace {

/// A store without data: writers replace versions, readers look whether what they see is still
/// there. The counts of both writers' slots lie in one word, so a view reads them at one moment,
/// and without a fence.
class World {
 public:
  static constexpr int kKeys = 2;

  World(SimMachine& machine, int writers)
      : machine_(machine),
        writers_(writers),
        snapshots_(machine, static_cast<size_t>(machine.slots()), {.quiet_uses = 2, .patience = 2}),
        backlog_(machine, snapshots_, static_cast<size_t>(machine.slots())),
        shared_(make_object<Shared>(machine)),
        writing_(machine) {
    snapshots_.announce_stamps(static_cast<size_t>(writers) - 1);
    for (int key = 0; key < kKeys; ++key) {
      add(key, Stamp::make(0, 1));
    }
    shared_->counts.store(1);
  }

  /// One update transaction, which replaces a key's version. With `abort` it changes nothing.
  void write(int slot, int key, bool abort) {
    std::unique_ptr<BacklogShare> share = backlog_.take(slot, 1);
    writing_.lock();
    share->begin();
    std::vector<Version*> freed;
    while (const OldVersion* old = share->next()) {
      freed.push_back(static_cast<Version*>(old->version));
    }
    if (!abort) {
      for (Version* version : freed) {
        fail_if(version->freed, "a version is freed twice");
        version->freed = true;
      }
      const uint64_t committed = shared_->counts.load(std::memory_order_relaxed);
      const uint64_t count = count_of(committed, slot) + 1;
      Version* const old = newest_[key];
      const uint64_t stamp = Stamp::make(slot, count);
      add(key, stamp);
      share->add({old, old->stamp, stamp, 0});
      shared_->counts.store(committed + (uint64_t{1} << 32 * slot), std::memory_order_release);
    }
    writing_.unlock();
    backlog_.put(slot, std::move(share), !abort);
  }

  /// Opens a view, looks at all keys, and closes it. Pauses while the view is being opened.
  void read(int thread, bool brief, uint64_t pauses = 0) {
    auto* const view = brief ? snapshots_.open_briefly(thread) : snapshots_.open();
    const uint64_t counts = shared_->counts.load(std::memory_order_relaxed);
    snapshots_.reserve(view, static_cast<size_t>(writers_));
    for (int slot = 0; slot < writers_; ++slot) {
      view->set_count(static_cast<size_t>(slot), count_of(counts, slot));
    }
    for (uint64_t i = 0; i < pauses; ++i) {
      machine_.pause();
    }
    snapshots_.announce(view);
    for (int look = 0; look < 3; ++look) {
      for (int key = 0; key < kKeys; ++key) {
        const Version* version = nullptr;
        for (const auto& one : versions_) {  // in the order of their commits
          if (one->key == key &&
              Stamp::count(one->stamp) <= count_of(counts, Stamp::slot(one->stamp))) {
            version = one.get();
          }
        }
        fail_if(version->freed, "a version is freed that an open view shows");
      }
      machine_.pause();
    }
    snapshots_.close(view);
  }

  /// Frees everything that can be freed, after the last thread has ended.
  void finish() {
    size_t replaced = versions_.size() - kKeys;
    for (;;) {
      std::unique_ptr<BacklogShare> share = backlog_.take_any(SIZE_MAX);
      if (share->empty()) {
        break;
      }
      share->begin();
      while (const OldVersion* old = share->next()) {
        auto* const version = static_cast<Version*>(old->version);
        fail_if(version->freed, "a version is freed twice");
        version->freed = true;
      }
      backlog_.put(0, std::move(share), true);
    }
    for (const auto& version : versions_) {
      replaced -= version->freed ? 1 : 0;
    }
    fail_if(replaced != 0 || snapshots_.held() != 0 || snapshots_.size() != 0,
            "a version is never freed");
  }

  /// The first thing that went wrong; empty if nothing did.
  const std::string& failure() const { return failure_; }

 private:
  struct Version {
    int key;
    uint64_t stamp;
    bool freed = false;
  };
  struct Shared {
    SimMachine::Atomic<uint64_t> counts;
  };

  static uint64_t count_of(uint64_t counts, size_t slot) {
    return counts >> 32 * slot & 0xffffffff;
  }
  static uint64_t count_of(uint64_t counts, int slot) {
    return count_of(counts, static_cast<size_t>(slot));
  }
  void add(int key, uint64_t stamp) {
    versions_.push_back(std::make_unique<Version>(Version{key, stamp}));
    newest_[key] = versions_.back().get();
  }
  void fail_if(bool wrong, const char* what) {
    if (wrong && failure_.empty()) {
      failure_ = what;
    }
  }

  SimMachine& machine_;
  const int writers_;
  Snapshots<SimMachine> snapshots_;
  Backlog<SimMachine> backlog_;
  Shared* shared_;
  ShortLock<SimMachine> writing_;
  std::vector<std::unique_ptr<Version>> versions_;
  Version* newest_[kKeys] = {};
  std::string failure_;
};

struct Outcome {
  std::string failure;
  std::vector<SiteUse> sites;
  uint64_t mutated = 0;
};

/// Two writers and two readers under a random schedule.
Outcome run(uint64_t seed, const std::string& mutation) {
  SimOptions options;
  options.threads = 4;
  options.seed = seed;
  options.slot_order = seed;
  options.drain_probability = 0.1;  // stores linger in their buffers
  options.switch_probability = seed % 3 == 0 ? 0.05 : 0.3;
  options.list_sites = true;
  if (!mutation.empty()) {
    options.mutations = {parse_mutation(mutation).value()};
  }
  SimMachine machine(options);
  World world(machine, 2);
  machine.run_threads(4, [&](int thread) {
    Random random(mix64(seed * 4 + static_cast<uint64_t>(thread)));
    for (int round = 0; round < 12; ++round) {
      if (thread < 2) {
        world.write(thread, static_cast<int>(random.below(World::kKeys)), random.below(6) == 0);
      } else {
        const bool brief = random.below(3) != 0;
        world.read(machine.self(), brief, random.below(3) * 4);
      }
    }
  });
  world.finish();
  return {world.failure(), machine.sites(), machine.mutated()};
}

TEST(DbViews, NoRandomScheduleFreesWhatAViewShows) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    const Outcome result = run(seed, {});
    ASSERT_EQ(result.failure, "") << "seed " << seed;
  }
}

/// All schedules within bounds of a reader, and of a writer that replaces a version twice.
void explore(const ScheduleBounds& bounds, bool brief, uint64_t least) {
  auto explorer = std::make_shared<ScheduleExplorer>(bounds);
  uint64_t schedules = 0;
  while (explorer->next()) {
    SimOptions options;
    options.threads = 2;
    options.schedule = Schedule::exhaustive;
    options.explorer = explorer;
    SimMachine machine(options);
    World world(machine, 1);
    machine.run_threads(2, [&](int thread) {
      if (thread == 0) {
        world.read(machine.self(), brief);
      } else {
        world.write(0, 0, false);
        world.write(0, 0, false);
      }
    });
    world.finish();
    ASSERT_EQ(world.failure(), "") << explorer->text();
    ++schedules;
  }
  std::printf("[ schedules] %d\n", static_cast<int>(schedules));
  EXPECT_GT(schedules, least);
}

TEST(DbViews, NoScheduleWithAPreemptionFreesWhatASeatShows) {
  explore({.preemptions = 1, .drains = 0}, true, 50);
}

TEST(DbViews, NoScheduleWithAPreemptionFreesWhatASnapshotShows) {
  explore({.preemptions = 1, .drains = 0}, false, 50);
}

TEST(DbViews, LongNoScheduleWithAnEarlyStoreFreesWhatASeatShows) {
  explore({.preemptions = 1, .drains = 1}, true, 1000);
}

TEST(DbViews, LongNoScheduleWithAnEarlyStoreFreesWhatASnapshotShows) {
  explore({.preemptions = 1, .drains = 1}, false, 1000);
}

TEST(DbViews, LongNoScheduleWithTwoPreemptionsFreesWhatASeatShows) {
  explore({.preemptions = 2, .drains = 0}, true, 1000);
}

/// Beside threads that open views all the time, a collection's wait is over for a moment only.
TEST(DbViews, ACollectionKeepsTheMarksThatAnotherOneWaitsFor) {
  SimMachine machine(SimOptions{.threads = 1});
  Snapshots<SimMachine> snapshots(machine, 1, {.quiet_uses = 2, .patience = 2});
  Backlog<SimMachine> backlog(machine, snapshots, 1);
  snapshots.announce_stamps(0);
  auto share = backlog.take(0, 1);
  share->add({&machine, Stamp::make(0, 1), Stamp::make(0, 2), 0});
  backlog.put(0, std::move(share), true);
  size_t versions = 0;
  auto* const first = snapshots.open();
  const uint64_t period = backlog.mark(&versions);
  EXPECT_EQ(versions, 1u);
  EXPECT_FALSE(snapshots.outlasted(period));
  auto* const second = snapshots.open();
  snapshots.announce(first);
  EXPECT_TRUE(snapshots.outlasted(period));
  backlog.mark(&versions);  // the other collection
  EXPECT_EQ(backlog.take_any(1)->size(), 1u);
  snapshots.announce(second);
  snapshots.close(first);
  snapshots.close(second);
}

// ---- Planted bugs

struct Bug {
  const char* mutation;
  const char* mistake;
};

std::ostream& operator<<(std::ostream& out, const Bug& bug) {
  return out << bug.mutation;
}

constexpr Bug kBugs[] = {
    {"seats.take=drop", "without the bias, a thread takes its seat and omits the fence"},
    {"seats.take=delay", "the fence comes after the counts are read"},
    {"seats.revoke=drop", "a writer ends the bias without a fence on all threads"},
    {"seats.opening=drop", "a seat whose view has no counts yet counts as free"},
    {"views.opening=drop", "a snapshot that has no counts yet counts as closed"},
    {"views.outlast=drop", "a version is judged as if no view were being opened"},
    {"views.note=drop", "a version is not held for the seat's view that needs it"},
    {"views.noted=drop", "a noted seat counts as left although its view is open"},
    {"views.held=drop", "a view gives away versions that it needs"},
    {"views.hand_on=drop", "a view closes and keeps its versions"},
    {"backlog.abort=drop", "an aborted transaction keeps the versions that it was to free"},
};

/// Bugs that cannot be observed.
constexpr Bug kHarmless[] = {
    {"seats.look", "the lock of the writer's queue fences between commit and look, too"},
};

/// Checks of the store, whose tests plant bugs there (tests/db_native/snapshots_test.cc).
constexpr Bug kElsewhere[] = {
    {"views.announce", "a slot with its first stamp is not announced"},
};

class DbViewsCanary : public ::testing::TestWithParam<Bug> {};
INSTANTIATE_TEST_SUITE_P(Bugs, DbViewsCanary, ::testing::ValuesIn(kBugs), [](const auto& instance) {
  std::string name = instance.param.mutation;
  for (char& c : name) {
    c = c == '.' || c == '=' ? '_' : c;
  }
  return name;
});

TEST_P(DbViewsCanary, IsCaught) {
  uint64_t mutated = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const Outcome result = run(seed, GetParam().mutation);
    mutated += result.mutated;
    if (!result.failure.empty()) {
      std::printf("%s: %s, seed %d\n", GetParam().mutation, result.failure.c_str(),
                  static_cast<int>(seed));
      return;
    }
  }
  FAIL() << "not caught: " << GetParam().mistake << "; mutated " << mutated << " times";
}

TEST(DbViewsCanaries, EachSiteHasOne) {
  std::set<std::string> met;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const SiteUse& use : run(seed, {}).sites) {
      met.insert(use.name);
    }
  }
  std::set<std::string> known;
  for (const Bug& bug : kBugs) {
    const std::string mutation = bug.mutation;
    known.insert(mutation.substr(0, mutation.find('=')));
  }
  for (const Bug& bug : kHarmless) {
    known.insert(bug.mutation);
  }
  for (const Bug& bug : kElsewhere) {
    known.insert(bug.mutation);
  }
  EXPECT_EQ(met, known);
}

}  // namespace
}  // namespace holdfast::db::views_test
