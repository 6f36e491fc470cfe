// SPDX-License-Identifier: Apache-2.0
//
// Does a snapshot show one moment of all threads, even of threads that write for the first time
// while it is opened? Can the versions that it shows be reclaimed once it is closed, and no
// earlier?
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db {
namespace {

using SimStore = Store<SimHeap>;
using Verdict = Snapshots::Verdict;

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

void look(SimStore& store, bool brief) {
  View* const view = (brief ? store.open_brief_view() : store.open_view()).value();
  int present = 0;
  std::string value;
  for (int worker = 1; worker < kThreads; ++worker) {
    present += store.get(key(worker), view, &value).value() ? 1 : 0;
  }
  const bool any = store.get("number", view, &value).value();
  EXPECT_EQ(any ? value : "0", std::to_string(present));
  store.close_view(view);
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
  for (uint64_t seed = 1; seed <= kSchedules && !HasFailure(); ++seed) {
    SCOPED_TRACE("schedule " + std::to_string(seed));
    SimOptions options;
    options.threads = kThreads;
    options.seed = seed;
    SimMachine machine(options);
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 256 << 10;
    const auto heap = SimHeap::create(machine, create).value();
    const auto store = SimStore::open(*heap, BytewiseComparator(), {}).value();
    int arrived = 0;
    machine.run_threads(kThreads, [&](int worker) {
      if (worker != 0) {
        arrive(*store, worker);
        ++arrived;
      }
      while (worker == 0 && arrived < kThreads - 1) {
        look(*store, false);
        look(*store, true);
      }
    });
    look(*store, false);
  }
}

void announce(View* view, const std::vector<uint64_t>& counts) {
  for (size_t slot = 0; slot < counts.size(); ++slot) {
    view->set_count(slot, counts[slot]);
  }
  Snapshots::announce(view);
}

TEST(DbSnapshotRule, WhatASnapshotStillNeedsIsKept) {
  Snapshots snapshots(3);
  const uint64_t before = Stamp::make(1, 4);
  const uint64_t after = Stamp::make(2, 7);
  EXPECT_EQ(snapshots.judge(before, after), Verdict::undecided) << "its writer has not returned";
  snapshots.committed(after);
  EXPECT_EQ(snapshots.judge(before, after), Verdict::reclaim);
  View* const old = snapshots.open();
  EXPECT_EQ(snapshots.judge(before, after), Verdict::undecided) << "its counts are unknown";
  announce(old, {0, 4, 6});
  EXPECT_EQ(snapshots.judge(before, after), Verdict::needed);
  View* const recent = snapshots.open();
  announce(recent, {0, 4, 7});
  EXPECT_EQ(snapshots.judge(before, after), Verdict::needed);
  EXPECT_EQ(snapshots.size(), 2u);
  snapshots.close(old);
  EXPECT_EQ(snapshots.judge(before, after), Verdict::reclaim);
  EXPECT_EQ(snapshots.judge_deletion(after), Verdict::reclaim);
  snapshots.close(recent);
  EXPECT_EQ(snapshots.size(), 0u);
}

TEST(DbSnapshotRule, WhatABriefViewStillNeedsIsKept) {
  constexpr int kThread = 1;
  Snapshots snapshots(3);
  const uint64_t before = Stamp::make(1, 4);
  const uint64_t after = Stamp::make(2, 7);
  snapshots.committed(after);
  for (int use = 0; use < 3; ++use) {  // of one seat
    View* const old = snapshots.open_briefly(kThread);
    EXPECT_EQ(snapshots.judge(before, after), Verdict::undecided) << "its counts are unknown";
    announce(old, {0, 4, 6});
    EXPECT_EQ(snapshots.judge(before, after), Verdict::needed);
    View* const another = snapshots.open_briefly(kThread);  // the seat is taken
    EXPECT_NE(another, old);
    announce(another, {0, 4, 7});
    View* const unknown_thread = snapshots.open_briefly(-1);
    announce(unknown_thread, {0, 4, 7});
    EXPECT_EQ(snapshots.judge(before, after), Verdict::needed);
    EXPECT_EQ(snapshots.size(), 3u);
    EXPECT_FALSE(snapshots.none());
    snapshots.close(old);
    EXPECT_EQ(snapshots.judge(before, after), Verdict::reclaim);
    snapshots.close(another);
    snapshots.close(unknown_thread);
    EXPECT_TRUE(snapshots.none());
  }
}

// A reader sees the newest version. Meanwhile a writer replaces it and asks whether the version
// before can be reclaimed. The writer rests in between, so that the reader is trusted again to omit
// fences. The reader's stores to distant memory delay its stores to the seat.
TEST(DbSnapshotRule, NothingABriefViewShowsIsReclaimed) {
  constexpr uint64_t kVersions = 200;
  constexpr uint64_t kRest = 2500;  // views
  constexpr size_t kFar = size_t{64} << 20;
  Snapshots snapshots(2);
  std::atomic<uint64_t> newest{1};  // the number of transactions of slot 0
  std::atomic<uint64_t> reclaimed{0};
  std::atomic<uint64_t> views{0};
  int lost = 0;
  snapshots.committed(Stamp::make(0, 1));
  std::thread reader([&] {
    std::vector<char> far(kFar);
    size_t place = 0;
    for (uint64_t n = 1; newest.load(std::memory_order_relaxed) < kVersions; ++n) {
      for (int i = 0; i < 4; ++i) {
        place = (place * 0x5851f42d4c957f2d + 1) % kFar;
        far[place] = 1;
      }
      View* const view = snapshots.open_briefly(1);
      const uint64_t seen = newest.load(std::memory_order_relaxed);
      announce(view, {seen});
      lost += reclaimed.load(std::memory_order_acquire) >= seen ? 1 : 0;
      snapshots.close(view);
      views.store(n, std::memory_order_relaxed);
    }
  });
  for (uint64_t version = 1; version < kVersions; ++version) {
    newest.store(version + 1, std::memory_order_release);
    snapshots.committed(Stamp::make(0, version + 1));
    while (snapshots.judge(Stamp::make(0, version), Stamp::make(0, version + 1)) !=
           Verdict::reclaim) {
    }
    reclaimed.store(version, std::memory_order_release);
    const uint64_t enough = views.load() + kRest;
    while (views.load() < enough && version + 1 < kVersions) {
      std::this_thread::yield();
    }
  }
  reader.join();
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(snapshots.none());
}

// A writer with a full heap waits for this condition.
TEST(DbSnapshotRule, ViewsAreBeingOpenedUntilTheirCountsAreKnown) {
  Snapshots snapshots(2);
  EXPECT_FALSE(snapshots.opening());
  for (const int thread : {1, -1}) {  // in a seat, in a list
    View* const open = snapshots.open();
    announce(open, {0, 1});
    EXPECT_FALSE(snapshots.opening()) << "the view is open, not being opened";
    View* const view = snapshots.open_briefly(thread);
    EXPECT_TRUE(snapshots.opening());
    announce(view, {0, 1});
    EXPECT_FALSE(snapshots.opening());
    View* const given_up = snapshots.open_briefly(thread);
    EXPECT_TRUE(snapshots.opening());
    snapshots.close(given_up);
    EXPECT_FALSE(snapshots.opening());
    snapshots.close(view);
    snapshots.close(open);
  }
}

// A view is in the list of the processor on which it was opened. Judging examines all lists.
TEST(DbSnapshotRule, SnapshotsOfManyThreadsAreAllSeen) {
  constexpr size_t kAtOnce = 1000;
  Snapshots snapshots(2);
  const uint64_t before = Stamp::make(1, 1);
  const uint64_t after = Stamp::make(1, 2);
  snapshots.committed(after);
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      std::vector<View*> mine;
      for (size_t i = 0; i < kAtOnce; ++i) {
        mine.push_back(snapshots.open());
        announce(mine.back(), {0, 1});
        EXPECT_NE(snapshots.judge(before, after), Verdict::reclaim);
      }
      for (View* view : mine) {
        EXPECT_NE(snapshots.judge(before, after), Verdict::reclaim);
        snapshots.close(view);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(snapshots.size(), 0u);
  EXPECT_EQ(snapshots.judge(before, after), Verdict::reclaim);
}

}  // namespace
}  // namespace holdfast::db
