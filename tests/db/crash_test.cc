// SPDX-License-Identifier: Apache-2.0
//
// Does the store recover from every image that a power cut can leave, with all acknowledged writes,
// no old versions and no lost blocks? Does its change feed have the same writes? The store is the
// one of HoldfastDB, on the simulated machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/db/engine/maps_exist.h"
#include "tests/db/crash_sweep.h"

namespace holdfast::db::crash_test {
namespace {

constexpr int kRounds = 4;

std::string key(int worker, const char* what) {
  return std::string(what) + " of worker " + std::to_string(worker);
}
/// Returns the round's value. Every third one is long.
std::string text(int round) {
  return std::string(round % 3 == 1 ? 200 : 5, static_cast<char>('a' + round));
}

/// Each round changes three keys in one batch. Two always hold the round's value; the third is
/// deleted in every other round. With a lag, most batches commit later.
class Batches {
 public:
  explicit Batches(int lag = 0) : lag_(lag) {}
  void prepare(SimStore& /*store*/) {}

  void work(SimStore& store, int worker) {
    SimStore::View* view = nullptr;
    for (int round = 1; round <= kRounds; ++round) {
      const std::string left = key(worker, "left");
      const std::string right = key(worker, "right");
      const std::string some = key(worker, "odd");
      const std::string value = text(round);
      started_[worker] = round;
      const Commit commit = lag_ > 0 && (round + worker) % 3 != 0 ? Commit::later : Commit::durable;
      const std::array<int, kWorkers> before = acknowledged_;
      store.write({{left, value}, {some, value, round % 2 == 0}, {right, value}}, nullptr, commit)
          .check();
      acknowledged_[worker] = round;
      if (commit == Commit::durable) {  // it has made all before it durable
        for (int i = 0; i < kWorkers; ++i) {
          durable_[i] = std::max(durable_[i], i == worker ? round : before[i]);
        }
      }
      if (round == 1) {
        view = store.open_view().value();  // keeps old versions from here on
      }
      std::string old;
      EXPECT_TRUE(store.get(left, view, &old).value());
      EXPECT_EQ(old, text(1));
    }
    store.close_view(view);
  }

  void check(SimHeap& heap, SimStore& store) const {
    int lost = 0;
    for (int worker = 0; worker < kWorkers; ++worker) {
      const std::string value = present(store, key(worker, "left"));
      ASSERT_EQ(value, present(store, key(worker, "right"))) << "half a batch survived";
      const int round = value.empty() ? 0 : value[0] - 'a';
      ASSERT_EQ(value, round == 0 ? "" : text(round));
      ASSERT_EQ(present(store, key(worker, "odd")), round % 2 == 1 ? value : "");
      ASSERT_GE(round, durable_[worker]) << "an acknowledged write was lost";
      ASSERT_LE(round, started_[worker]);
      lost += std::max(0, acknowledged_[worker] - round);
    }
    ASSERT_LE(lost, lag_) << "more writes were lost than may lag";
    expect_tidy(heap, store);
  }

 private:
  const int lag_;
  // The writes that each client has started, seen acknowledged, and knows to be durable, when the
  // power fails.
  std::array<int, kWorkers> started_ = {};
  std::array<int, kWorkers> acknowledged_ = {};
  std::array<int, kWorkers> durable_ = {};
};

constexpr int kLag = 2;  // fewer than the rounds, so that writes wait for the others

struct LaggingBatches : Batches {
  LaggingBatches() : Batches(kLag) {}
};

std::vector<std::string> lagging_engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) { return row.description->lags; });
}

/// One client writes to two named maps in one transaction, as HeapDB does. The other one drops the
/// second map meanwhile.
class Maps {
 public:
  void prepare(SimStore& store) {
    for (const auto& map : {first_, second_}) {
      const std::string id = id_bytes(map->id);
      store.write({{id_key(*map), id}, {name_key(*map), map->name}}).check();
    }
  }

  void work(SimStore& store, int worker) { worker == 0 ? write(store) : drop(store); }

  void check(SimHeap& heap, SimStore& store) const {
    const std::string value = present(store, first_->prefix + "key");
    const int round = value.empty() ? 0 : value[0] - 'a';
    ASSERT_GE(round, acknowledged_) << "an acknowledged write was lost";
    ASSERT_EQ(value, round == 0 ? "" : text(round));
    const bool exists = !present(store, name_key(*second_)).empty();
    ASSERT_EQ(exists, !present(store, id_key(*second_)).empty()) << "half a name";
    if (exists) {
      ASSERT_FALSE(dropping_) << "an acknowledged drop was lost";
      ASSERT_EQ(value, present(store, second_->prefix + "key")) << "half a transaction survived";
    } else if (dropped_) {
      ASSERT_EQ(first_entry(store), "") << "a write got into the dropped map";
    }
    expect_tidy(heap, store);
  }

 private:
  static std::string id_key(const NamedMap& map) {
    return stored_key(KeyKind::id_of_name, map.name);
  }
  static std::string name_key(const NamedMap& map) {
    return stored_key(KeyKind::name_of_id, id_bytes(map.id));
  }
  /// Returns the first stored key of the second map; empty if there is none.
  std::string first_entry(SimStore& store) const {
    EntryArray array;
    EntryBuffer entries(array);
    store.read_ahead(Step::at_or_after, second_->prefix, nullptr, 0, &entries).check();
    const bool any = !entries.empty() && (*entries.begin())->key().starts_with(second_->prefix);
    return any ? (*entries.begin())->key().ToString() : "";
  }

  void write(SimStore& store) {
    const MapsExist exist({first_, second_});
    for (int round = 1; round <= kRounds; ++round) {
      const std::string value = text(round);
      const std::string of_round = second_->prefix + std::to_string(round);
      bool refused = false;
      auto look = [&](const Versions<SimHeap>& now) {
        return refused = exist.first_missing(now) != nullptr;
      };
      const SimStore::CancelIf cancel_if(look);
      store
          .write(
              {{first_->prefix + "key", value}, {second_->prefix + "key", value}, {of_round, ""}},
              &cancel_if)
          .check();
      if (refused) {
        return;
      }
      acknowledged_ = round;
    }
  }

  void drop(SimStore& store) {
    store.write({{"some", "time"}}).check();
    store.write({{id_key(*second_), {}, true}, {name_key(*second_), {}, true}}).check();
    dropping_ = true;
    for (std::string key = first_entry(store); !key.empty(); key = first_entry(store)) {
      store.write(Change{key, {}, true}).check();
    }
    dropped_ = true;
  }

  std::shared_ptr<NamedMap> first_ = std::make_shared<NamedMap>("first", 1, nullptr);
  std::shared_ptr<NamedMap> second_ = std::make_shared<NamedMap>("second", 2, nullptr);
  int acknowledged_ = 0;   ///< rounds
  bool dropping_ = false;  ///< the name is gone
  bool dropped_ = false;   ///< the entries are gone
};

class DbLag : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbLag, ::testing::ValuesIn(lagging_engines()), engine_name);

TEST_P(DbLag, SomePersistEvents) {
  CrashSweep<LaggingBatches>(GetParam(), 8, false, {{"lag", std::to_string(kLag)}}).run(150);
}

TEST_P(DbLag, SomePersistEventsWithAFeed) {
  CrashSweep<LaggingBatches>(GetParam(), 9, true, {{"lag", std::to_string(kLag)}}).run(90);
}

class DbCrash : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbCrash, ::testing::ValuesIn(sim_engines()), engine_name);

// Each short sweep has some of the events of the long ones: with the same seeds, and so the same
// schedules.
TEST_P(DbCrash, SomePersistEvents) {
  for (const uint64_t seed : {1, 2, 3}) {
    CrashSweep<Batches>(GetParam(), seed, false).run(20);
  }
}

TEST_P(DbCrash, SomePersistEventsWithAFeed) {
  for (const uint64_t seed : {4, 5}) {
    CrashSweep<Batches>(GetParam(), seed, true).run(12);
  }
}

TEST_P(DbCrash, SomePersistEventsOfTwoMaps) {
  CrashSweep<Maps>(GetParam(), 6, false).run(12);
  CrashSweep<Maps>(GetParam(), 7, true).run(12);
}

// With logs each engine takes minutes. Separate tests keep all cores busy.
TEST_P(DbCrash, LongEveryPersistEvent) {
  CrashSweep<Batches>(GetParam(), 2, false).run(0);
}

TEST_P(DbCrash, LongEveryPersistEventOfAnotherRun) {
  CrashSweep<Batches>(GetParam(), 3, false).run(0);
}

TEST_P(DbCrash, LongEveryPersistEventWithAFeed) {
  CrashSweep<Batches>(GetParam(), 4, true).run(0);
}

TEST_P(DbCrash, LongEveryPersistEventOfTwoMaps) {
  CrashSweep<Maps>(GetParam(), 7, true).run(0);
}

}  // namespace
}  // namespace holdfast::db::crash_test
