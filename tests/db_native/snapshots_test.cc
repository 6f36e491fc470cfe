// SPDX-License-Identifier: Apache-2.0
//
// Does a snapshot show one moment of all threads, even of threads that write for the first time
// while it is opened? Can the versions that it shows be reclaimed once it is closed, and no
// earlier?
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/db/durable_engines.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"

namespace holdfast::db::snapshots_test {
namespace {

using SimStore = Store<SimHeap>;

constexpr int kThreads = 6;
constexpr int kSchedules = 150;

std::string key(int worker) {
  return "worker " + std::to_string(worker);
}

/// Adds the worker's own key and increments the number of such keys, in one transaction.
void arrive(SimStore& store, int worker) {
  const auto body = [&](Versions<SimHeap>& versions) {
    std::string number = "0";
    if (const auto* version = versions.find("number", nullptr)) {
      Versions<SimHeap>::load_value(version, &number);
    }
    ++number[0];
    store.apply(versions, {"number", number});
    store.apply(versions, {key(worker), "here"});
  };
  store.update(body).check();
}

/// Returns the number of workers that a view shows. Sets *torn if it shows a part of a transaction.
int look(SimStore& store, bool brief, bool* torn) {
  auto* const view = (brief ? store.open_brief_view() : store.open_view()).value();
  int present = 0;
  std::string value;
  for (int worker = 1; worker < kThreads; ++worker) {
    present += store.get(key(worker), view, &value).value() ? 1 : 0;
  }
  const bool any = store.get("number", view, &value).value();
  *torn = *torn || (any ? value : "0") != std::to_string(present);
  store.close_view(view);
  return present;
}

/// Returns what went wrong in a schedule in which workers write for the first time; else "".
std::string workers_arrive(const std::string& engine, uint64_t seed, const std::string& mutation) {
  SimOptions options;
  options.threads = kThreads;
  options.domain = usual_domain(*EngineFactory<SimHeap::Engine>::describe(engine).value());
  options.seed = seed;
  if (!mutation.empty()) {
    options.mutations = {parse_mutation(mutation).value()};
  }
  SimMachine machine(options);
  CreateOptions create;
  create.engine = engine;
  create.bytes = 256 << 10;
  const auto heap = SimHeap::create(machine, create).value();
  const auto store = SimStore::open(*heap, BytewiseComparator(), {}).value();
  int arrived = 0;
  bool torn = false;
  machine.run_threads(kThreads, [&](int worker) {
    if (worker != 0) {
      arrive(*store, worker);
      ++arrived;
    }
    while (worker == 0 && arrived < kThreads - 1) {
      look(*store, false, &torn);
      look(*store, true, &torn);
    }
  });
  const int last = look(*store, false, &torn);
  return torn                   ? "a view shows half a transaction"
         : last != kThreads - 1 ? "a view does not show a transaction that has returned"
                                : "";
}

/// On the simulated machine an engine with a design needs simulated time, so it is left out.
std::vector<std::string> engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}

class DbSnapshots : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbSnapshots, ::testing::ValuesIn(engines()), engine_name);

TEST_P(DbSnapshots, ThreadsThatComeInAreSeenWholeOrNotAtAll) {
  for (uint64_t seed = 1; seed <= kSchedules / kShare; ++seed) {
    ASSERT_EQ(workers_arrive(GetParam(), seed, {}), "") << "schedule " << seed;
  }
}

/// Would the test above notice these bugs?
class DbSnapshotsCanary : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Bugs, DbSnapshotsCanary,
                         ::testing::Values("views.announce=drop", "views.slots=drop"),
                         [](const auto& instance) {
                           const std::string site = instance.param;
                           return site.substr(6, site.find('=') - 6);
                         });

TEST_P(DbSnapshotsCanary, IsCaught) {
  std::string failure;
  for (uint64_t seed = 1; seed <= 10 * kSchedules && failure.empty(); ++seed) {
    failure = workers_arrive(engines().front(), seed, GetParam());
  }
  EXPECT_NE(failure, "") << GetParam() << " is not caught";
}

enum class Verdict { free, held, undecided };

/// Asks about a version with stamp `before` that stamp `after` has replaced.
template <class M>
Verdict judge(Snapshots<M>& snapshots, uint64_t before, uint64_t after, void* version = nullptr) {
  VersionQueue replaced({{version, before, after, 0}});
  VersionQueue free;
  snapshots.settle(replaced, 1, &free);
  return !replaced.empty() ? Verdict::undecided : free.empty() ? Verdict::held : Verdict::free;
}

/// Returns the number of versions that views have released since the last call.
template <class M>
size_t released(Snapshots<M>& snapshots) {
  VersionQueue free;
  snapshots.take_released(SIZE_MAX, &free);
  return free.size();
}

template <class M>
void announce(Snapshots<M>& snapshots, View<M>* view, const std::vector<uint64_t>& counts) {
  snapshots.reserve(view, counts.size());
  for (size_t slot = 0; slot < counts.size(); ++slot) {
    view->set_count(slot, counts[slot]);
  }
  snapshots.announce(view);
}

/// Views on the simulated machine, whose main thread alone uses them.
class DbSnapshotRule : public ::testing::Test {
 protected:
  static constexpr size_t kSlots = 3;
  DbSnapshotRule() { snapshots.announce_stamps(kSlots - 1); }

  View<SimMachine>* open(const std::vector<uint64_t>& counts) {
    View<SimMachine>* const view = snapshots.open();
    announce(snapshots, view, counts);
    return view;
  }

  SimMachine machine;
  Snapshots<SimMachine> snapshots{machine, kSlots};
  const uint64_t before = Stamp::make(1, 4);
  const uint64_t after = Stamp::make(2, 7);
};

TEST_F(DbSnapshotRule, WhatASnapshotStillNeedsIsKept) {
  EXPECT_EQ(judge(snapshots, before, after), Verdict::free);
  auto* const old = snapshots.open();
  EXPECT_EQ(judge(snapshots, before, after), Verdict::undecided) << "its counts are unknown";
  announce(snapshots, old, {0, 4, 6});
  EXPECT_EQ(judge(snapshots, before, after), Verdict::held);
  auto* const recent = open({0, 4, 7});
  EXPECT_EQ(judge(snapshots, before, after), Verdict::held);
  EXPECT_EQ(snapshots.size(), 2u);
  EXPECT_EQ(released(snapshots), 0u);
  snapshots.close(old);
  EXPECT_EQ(released(snapshots), 2u);
  EXPECT_EQ(judge(snapshots, before, after), Verdict::free);
  snapshots.close(recent);
  EXPECT_EQ(snapshots.size(), 0u);
}

TEST_F(DbSnapshotRule, WhatABriefViewStillNeedsIsKept) {
  constexpr int kThread = 1;
  for (int use = 0; use < 3; ++use) {  // of one seat
    auto* const old = snapshots.open_briefly(kThread);
    EXPECT_EQ(judge(snapshots, before, after), Verdict::undecided) << "its counts are unknown";
    announce(snapshots, old, {0, 4, 6});
    EXPECT_EQ(judge(snapshots, before, after), Verdict::held);
    auto* const another = snapshots.open_briefly(kThread);  // the seat is taken
    EXPECT_NE(another, old);
    announce(snapshots, another, {0, 4, 7});
    auto* const unknown_thread = snapshots.open_briefly(-1);
    announce(snapshots, unknown_thread, {0, 4, 7});
    EXPECT_EQ(judge(snapshots, before, after), Verdict::held);
    EXPECT_EQ(snapshots.size(), 3u);
    EXPECT_EQ(released(snapshots), 0u);
    snapshots.close(old);
    EXPECT_EQ(judge(snapshots, before, after), Verdict::free);
    EXPECT_EQ(released(snapshots), 2u);
    snapshots.close(another);
    snapshots.close(unknown_thread);
    EXPECT_EQ(snapshots.size(), 0u);
    EXPECT_FALSE(snapshots.has_released());
  }
}

// A row of counts has room for 15 slots.
TEST_F(DbSnapshotRule, ViewsOfManySlotsHoldTheirVersions) {
  for (const size_t slots : {15u, 16u, 31u, 32u, 200u}) {
    Snapshots<SimMachine> many(machine, slots);
    many.announce_stamps(slots - 1);
    const auto last = static_cast<int>(slots - 1);
    for (const bool brief : {false, true}) {
      auto* const view = brief ? many.open_briefly(last) : many.open();
      announce(many, view, std::vector<uint64_t>(slots, 5));
      for (const int slot : {0, 7, last}) {
        const uint64_t seen = Stamp::make(slot, 5);
        const uint64_t unseen = Stamp::make(slot, 6);
        EXPECT_EQ(judge(many, seen, unseen), Verdict::held) << slots << ' ' << slot;
        EXPECT_EQ(judge(many, unseen, Stamp::make(slot, 7)), Verdict::free);
        EXPECT_EQ(judge(many, Stamp::make(slot, 4), seen), Verdict::free);
      }
      if (!brief) {
        many.share(view);
        many.close(view);
        EXPECT_EQ(many.size(), 1u) << slots << ": it has ended with its second holder";
      }
      many.close(view);
      EXPECT_EQ(many.size(), 0u);
      EXPECT_EQ(released(many), 3u);
    }
  }
}

// The versions of a seat's view go to an older snapshot that needs them, and only those.
TEST_F(DbSnapshotRule, ABriefViewHandsItsVersionsToAnOlderSnapshot) {
  auto* const old = open({0, 4, 6});
  auto* const brief = snapshots.open_briefly(0);
  announce(snapshots, brief, {0, 5, 6});
  EXPECT_EQ(judge(snapshots, before, after), Verdict::held) << "both need it";
  EXPECT_EQ(judge(snapshots, Stamp::make(1, 5), after), Verdict::held) << "the brief one needs it";
  snapshots.close(brief);
  EXPECT_EQ(released(snapshots), 1u);
  EXPECT_EQ(snapshots.held(), 1u);
  snapshots.close(old);
  EXPECT_EQ(released(snapshots), 1u);
}

// A view that closes must not look at versions that other views hold.
TEST_F(DbSnapshotRule, ClosingAViewLooksOnlyAtWhatItHeldAlone) {
  constexpr uint64_t kHeld = 1000;
  auto* const old = open({0, kHeld, 0});
  for (uint64_t i = 1; i <= kHeld; ++i) {
    ASSERT_EQ(judge(snapshots, Stamp::make(1, i), Stamp::make(2, i)), Verdict::held);
  }
  auto* const middle = open({0, kHeld, kHeld});
  ASSERT_EQ(judge(snapshots, Stamp::make(2, kHeld), Stamp::make(2, kHeld + 1)), Verdict::held);
  const uint64_t before_closing = snapshots.examined();
  for (int thread = -1; thread < 2; ++thread) {
    auto* const view = snapshots.open_briefly(thread);
    announce(snapshots, view, {0, kHeld, kHeld + 1});
    snapshots.close(view);
    EXPECT_EQ(released(snapshots), 0u);
  }
  EXPECT_EQ(snapshots.examined(), before_closing);
  snapshots.close(middle);
  EXPECT_EQ(released(snapshots), 1u);
  EXPECT_EQ(snapshots.examined(), before_closing + 1);
  snapshots.close(old);
  EXPECT_EQ(released(snapshots), kHeld);
  EXPECT_EQ(snapshots.examined(), before_closing + 1 + kHeld);
}

// Judges at random against the definition: a version is needed exactly if an open view sees it and
// not its replacement. Two slots commit; views open and close in any order, some of them in seats.
TEST_F(DbSnapshotRule, VersionsAreHeldExactlyAsLongAsAViewNeedsThem) {
  struct Open {
    View<SimMachine>* view;
    std::vector<uint64_t> counts;
  };
  struct Kept {
    uint64_t created;
    uint64_t replaced;
  };
  std::mt19937_64 random(7);
  std::vector<uint64_t> counts(kSlots, 1);
  std::vector<Open> views;
  std::vector<Kept> kept;
  std::vector<uint64_t> keys(5, Stamp::make(0, 1));  // the stamp of each key's newest version
  const auto sees = [](const Open& open, uint64_t stamp) {
    return open.counts[Stamp::slot(stamp)] >= Stamp::count(stamp);
  };
  const auto needed = [&](const Kept& one) {
    return std::any_of(views.begin(), views.end(), [&](const Open& open) {
      return sees(open, one.created) && !sees(open, one.replaced);
    });
  };
  std::vector<std::unique_ptr<Kept>> versions;
  for (int step = 0; step < 30000 / kShare && !HasFailure(); ++step) {
    switch (random() % 4) {
      case 0: {
        auto* const view = snapshots.open_briefly(static_cast<int>(random() % 5) - 1);
        announce(snapshots, view, counts);
        views.push_back({view, counts});
        break;
      }
      case 1:
        if (!views.empty()) {
          std::swap(views[random() % views.size()], views.back());
          snapshots.close(views.back().view);
          views.pop_back();
        }
        break;
      default: {
        const size_t slot = random() % kSlots;
        const uint64_t stamp = Stamp::make(static_cast<int>(slot), ++counts[slot]);
        uint64_t& key = keys[random() % keys.size()];
        auto version = std::make_unique<Kept>(Kept{key, stamp});
        key = stamp;
        const Verdict verdict =
            judge(snapshots, version->created, version->replaced, version.get());
        ASSERT_EQ(verdict, needed(*version) ? Verdict::held : Verdict::free) << "step " << step;
        if (verdict == Verdict::held) {
          versions.push_back(std::move(version));
        }
      }
    }
    VersionQueue free;
    snapshots.take_released(SIZE_MAX, &free);
    for (size_t i = 0; i < free.size(); ++i) {
      const OldVersion& one = free[i];
      const auto at = std::find_if(versions.begin(), versions.end(), [&](const auto& version) {
        return version.get() == one.version;
      });
      ASSERT_NE(at, versions.end()) << "released twice, step " << step;
      versions.erase(at);
    }
    const bool all_needed = std::all_of(versions.begin(), versions.end(),
                                        [&](const auto& version) { return needed(*version); });
    ASSERT_TRUE(all_needed) << "a version is held for no view, step " << step;
    ASSERT_EQ(snapshots.held(), versions.size());
  }
}

// A writer with a full heap waits for this condition.
TEST_F(DbSnapshotRule, APeriodIsOutlastedOnceTheViewsOfItsTimeAreKnown) {
  const auto outlasted = [&](uint64_t period) {
    for (int i = 0; i < 5; ++i) {
      static_cast<void>(snapshots.outlasted(period));
    }
    return snapshots.outlasted(period);
  };
  VersionQueue replaced({{nullptr, before, after, 0}});
  for (const int thread : {0, 1, 2, -1}) {  // in each seat, in the list
    EXPECT_EQ(snapshots.size(), 0U);
    auto* const opened = open({0, 1, 0});
    EXPECT_TRUE(outlasted(snapshots.mark(replaced))) << "the view is open, not being opened";
    auto* const view = snapshots.open_briefly(thread);
    const uint64_t period = snapshots.mark(replaced);
    EXPECT_FALSE(outlasted(period));
    announce(snapshots, view, {0, 1, 0});
    EXPECT_EQ(snapshots.size(), 2U);
    auto* const given_up = snapshots.open_briefly(thread);
    EXPECT_TRUE(outlasted(period)) << "the other view is being opened only since then";
    const uint64_t later = snapshots.mark(replaced);
    EXPECT_FALSE(outlasted(later));
    snapshots.close(given_up);
    EXPECT_TRUE(outlasted(later));
    snapshots.close(view);
    snapshots.close(opened);
  }
}

// With many readers, or slow ones, there is no moment without a view that is being opened.
TEST_F(DbSnapshotRule, VersionsAreJudgedAlthoughSomeViewIsAlwaysBeingOpened) {
  for (const bool in_seats : {true, false}) {
    for (const bool is_needed : {true, false}) {
      int views = 0;
      const auto begin = [&] {
        const int seat = views == 0 ? 0 : 1 + views % 2;
        ++views;
        return snapshots.open_briefly(in_seats ? seat : -1);
      };
      VersionQueue replaced({{nullptr, before, after, 0}});
      VersionQueue free;
      View<SimMachine>* const first = begin();
      snapshots.settle(replaced, 1, &free);
      EXPECT_FALSE(replaced.empty()) << "the counts of a view are unknown";
      View<SimMachine>* opening = begin();
      snapshots.settle(replaced, 1, &free);
      EXPECT_FALSE(replaced.empty()) << "the counts of a view are unknown";
      announce(snapshots, first, {0, 4, is_needed ? 6U : 7U});
      for (int i = 0; i < 5; ++i) {
        View<SimMachine>* const next = begin();
        announce(snapshots, opening, {0, 4, 7});
        snapshots.close(opening);
        opening = next;
        snapshots.settle(replaced, 1, &free);
      }
      EXPECT_TRUE(replaced.empty());
      EXPECT_EQ(free.size(), is_needed ? 0U : 1U);
      EXPECT_EQ(snapshots.held(), is_needed ? 1U : 0U);
      snapshots.close(opening);
      snapshots.close(first);
      EXPECT_EQ(released(snapshots), is_needed ? 1U : 0U);
      EXPECT_EQ(snapshots.size(), 0U);
    }
  }
}

class DbSnapshotThreads : public ::testing::Test {
 protected:
  NativeTestFile file;
  std::unique_ptr<NativeMachine> machine =
      NativeMachine::open(file.path(), {.create = true, .domain = Domain::process}).value();
  Snapshots<NativeMachine> snapshots{*machine, 2};
};

// A reader sees the newest version. Meanwhile a writer replaces it and asks whether the version
// before can be reclaimed. The writer rests in between, so that the fence is biased again. The
// reader's stores to distant memory delay its stores to the seat.
TEST_F(DbSnapshotThreads, NothingABriefViewShowsIsReclaimed) {
  constexpr uint64_t kVersions = 200;
  constexpr uint64_t kRest = 2500;  // views
  constexpr size_t kFar = size_t{64} << 20;
  std::atomic<uint64_t> newest{1};  // the number of transactions of slot 0
  std::atomic<uint64_t> reclaimed{0};
  std::atomic<uint64_t> views{0};
  int lost = 0;
  snapshots.announce_stamps(0);
  std::thread reader([&] {
    std::vector<char> far(kFar);
    size_t place = 0;
    for (uint64_t n = 1; newest.load(std::memory_order_relaxed) < kVersions; ++n) {
      for (int i = 0; i < 4; ++i) {
        place = (place * 0x5851f42d4c957f2d + 1) % kFar;
        far[place] = 1;
      }
      auto* const view = snapshots.open_briefly(1);
      const uint64_t seen = newest.load(std::memory_order_relaxed);
      announce(snapshots, view, {seen});
      lost += reclaimed.load(std::memory_order_acquire) >= seen ? 1 : 0;
      snapshots.close(view);
      views.store(n, std::memory_order_relaxed);
    }
  });
  for (uint64_t version = 1; version < kVersions; ++version) {
    newest.store(version + 1, std::memory_order_release);
    VersionQueue replaced({{nullptr, Stamp::make(0, version), Stamp::make(0, version + 1), 0}});
    VersionQueue free;
    while (free.empty()) {
      snapshots.settle(replaced, 1, &free);
      snapshots.take_released(1, &free);
    }
    reclaimed.store(version, std::memory_order_release);
    const uint64_t enough = views.load() + kRest;
    while (views.load() < enough && version + 1 < kVersions) {
      std::this_thread::yield();
    }
  }
  reader.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(snapshots.size(), 0u);
}

TEST_F(DbSnapshotThreads, SnapshotsOfManyThreadsAreAllSeen) {
  constexpr size_t kAtOnce = 1000;
  snapshots.announce_stamps(1);
  const uint64_t before = Stamp::make(1, 1);
  const uint64_t after = Stamp::make(1, 2);
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      std::vector<View<NativeMachine>*> mine;
      for (size_t i = 0; i < kAtOnce; ++i) {
        mine.push_back(snapshots.open());
        announce(snapshots, mine.back(), {0, 1});
        EXPECT_NE(judge(snapshots, before, after), Verdict::free);
      }
      for (auto* view : mine) {
        EXPECT_NE(judge(snapshots, before, after), Verdict::free);
        snapshots.close(view);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(snapshots.size(), 0u);
  EXPECT_EQ(judge(snapshots, before, after), Verdict::free);
  EXPECT_GT(released(snapshots), 0u);
  EXPECT_EQ(snapshots.held(), 0u);
}

}  // namespace
}  // namespace holdfast::db::snapshots_test
