// SPDX-License-Identifier: Apache-2.0
//
// Does the store recover from every image that a power cut can leave, with all acknowledged writes,
// no old versions and no lost blocks? Does its change feed have the same writes? The store is the
// one of HoldfastDB, on the simulated machine.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db {
namespace {

constexpr int kWorkers = 2;
constexpr int kRounds = 4;
/// Small limits: even a short value is written ahead in several transactions.
StoreLimits limits(bool feed) {
  StoreLimits small{
      .short_value = 32, .per_transaction = 64, .pieces_freed = 1, .versions_freed = 1};
  if (feed) {
    small.feed_bytes = 1 << 20;
  }
  return small;
}

using SimStore = Store<SimHeap>;

/// The writes that each client has started and seen acknowledged when the power fails.
struct Seen {
  int started[kWorkers] = {};
  int acknowledged[kWorkers] = {};
};

std::string key(int worker, const char* what) {
  return std::string(what) + " of worker " + std::to_string(worker);
}
/// Returns the round's value. Every third one is long.
std::string text(int round) {
  return std::string(round % 3 == 1 ? 200 : 5, static_cast<char>('a' + round));
}

/// Each round changes three keys in one batch. Two always hold the round's value; the third is
/// deleted in every other round.
void work(SimStore& store, int worker, Seen& seen) {
  SimStore::View* view = nullptr;
  for (int round = 1; round <= kRounds; ++round) {
    const std::string left = key(worker, "left");
    const std::string right = key(worker, "right");
    const std::string some = key(worker, "odd");
    const std::string value = text(round);
    seen.started[worker] = round;
    store.write({{left, value}, {some, value, round % 2 == 0}, {right, value}}).check();
    seen.acknowledged[worker] = round;
    if (round == 1) {
      view = store.open_view().value();  // keeps old versions from here on
    }
    std::string old;
    EXPECT_TRUE(store.get(left, view, &old).value());
    EXPECT_EQ(old, text(1));
  }
  store.close_view(view);
}

std::string present(SimStore& store, const std::string& which) {
  std::string value;
  auto found = store.get(which, nullptr, &value);
  return found.ok() ? value : found.status().to_string();
}

/// Returns the content of a follower that has applied all changes.
Model followed(SimStore& store) {
  struct Follower final : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      state[key.ToString()] = value.ToString();
    }
    void Delete(const Slice& key) override { state.erase(key.ToString()); }
    Model state;
  } follower;
  bool more = true;
  for (uint64_t sequence = 0; more; ++sequence) {
    WriteBatch change;
    store.change_after(sequence, &change, &more).check();
    EXPECT_TRUE(change.Iterate(&follower).ok());
  }
  return follower.state;
}

Model contents(SimStore& store) {
  Model all;
  EntryArray array;
  EntryBuffer entries(array);
  store.read_ahead(Step::first, {}, nullptr, SIZE_MAX, &entries).check();
  for (const PackedEntry* entry : entries) {
    all[entry->key().ToString()] = entry->value().ToString();
  }
  return all;
}

void check(SimHeap& heap, SimStore& store, const Seen& seen) {
  for (int worker = 0; worker < kWorkers; ++worker) {
    const std::string value = present(store, key(worker, "left"));
    ASSERT_EQ(value, present(store, key(worker, "right"))) << "half a batch survived";
    const int round = value.empty() ? 0 : value[0] - 'a';
    ASSERT_EQ(value, round == 0 ? "" : text(round));
    ASSERT_EQ(present(store, key(worker, "odd")), round % 2 == 1 ? value : "");
    ASSERT_GE(round, seen.acknowledged[worker]) << "an acknowledged write was lost";
    ASSERT_LE(round, seen.started[worker]);
  }
  ASSERT_EQ(store.old_versions().value(), 0u);
  const auto found = heap.check([&](const BlockVisitor& visit) { store.visit_blocks(visit); });
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_TRUE(found.value().errors.empty()) << found.value().errors.front();
  ASSERT_EQ(found.value().leaked_blocks, 0u);
}

void recover_and_check(const SimImage& image, const Seen& seen, bool feed) {
  SimMachine machine({.threads = kWorkers}, image);
  auto heap = SimHeap::open(machine, {}).value();
  auto store = SimStore::open(*heap, BytewiseComparator(), limits(false)).value();
  check(*heap, *store, seen);
  if (feed) {
    ASSERT_EQ(followed(*store), contents(*store));
  }
  store->write({{"after", "the crash"}}).check();
  ASSERT_EQ(present(*store, "after"), "the crash");
}

constexpr uint64_t kNoEvent = ~uint64_t{0};

/// Runs until just before persist event `event`. Returns the number of persist events.
uint64_t run_until(uint64_t event, const std::string& engine, uint64_t seed, bool feed, Seen& seen,
                   std::vector<SimImage>& images) {
  SimOptions options;
  options.threads = kWorkers;
  options.seed = seed;
  SimMachine machine(options);
  CreateOptions create;
  create.engine = engine;
  create.bytes = 128 << 10;
  create.max_bytes = 1 << 20;
  const Description& description = *EngineFactory<SimHeap::Engine>::describe(engine).value();
  // Small logs, because images are as large as logs.
  create.options = known_options(description, {{"log_bytes", "16384"}, {"markers", "1024"}});
  auto heap = SimHeap::create(machine, create).value();
  auto store = SimStore::open(*heap, BytewiseComparator(), limits(feed)).value();
  const uint64_t before = machine.persist_events();
  if (event != kNoEvent) {
    machine.crash_at(before + event);
  }
  machine.run_threads(kWorkers, [&](int worker) { work(*store, worker, seen); });
  images = {machine.earliest_image(), machine.latest_image()};
  Random random(mix64(event ^ seed));
  images.push_back(machine.sample_image(random));
  EXPECT_EQ(machine.crashed(), event != kNoEvent);
  return machine.persist_events() - before;
}

/// Cuts the power at about `points` events, evenly spread; at all events if 0.
void sweep(const std::string& engine, uint64_t seed, uint64_t points, bool feed) {
  Seen whole;
  std::vector<SimImage> images;
  const uint64_t events = run_until(kNoEvent, engine, seed, feed, whole, images);
  ASSERT_GT(events, 200u);
  const uint64_t stride = points == 0 ? 1 : events / points;
  for (uint64_t event = stride / 2; event < events; event += stride) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " event " + std::to_string(event));
    Seen seen;
    run_until(event, engine, seed, feed, seen, images);
    for (const SimImage& image : images) {
      recover_and_check(image, seen, feed);
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
  std::printf("[  events  ] %d\n", static_cast<int>(events));
}

/// On the simulated machine an engine with a design needs simulated time, so it is left out.
std::vector<std::string> engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}

class DbCrash : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbCrash, ::testing::ValuesIn(engines()), engine_name);

/// One engine of each kind, because a sweep takes minutes.
class DbCrashSweep : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbCrashSweep,
                         ::testing::ValuesIn(one_of_each_kind(engine_rows<SimMachine>(),
                                                              engines())),
                         engine_name);

TEST_P(DbCrash, SomePersistEvents) {
  sweep(GetParam(), 1, 12, false);
}

TEST_P(DbCrash, SomePersistEventsWithAFeed) {
  sweep(GetParam(), 5, 8, true);
}

// With logs each engine takes minutes. Separate tests keep all cores busy.
TEST_P(DbCrashSweep, LongEveryPersistEvent) {
  sweep(GetParam(), 2, 0, false);
}

TEST_P(DbCrashSweep, LongEveryPersistEventOfAnotherRun) {
  sweep(GetParam(), 3, 0, false);
}

TEST_P(DbCrashSweep, LongEveryPersistEventWithAFeed) {
  sweep(GetParam(), 4, 0, true);
}

}  // namespace
}  // namespace holdfast::db
