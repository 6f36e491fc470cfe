// SPDX-License-Identifier: Apache-2.0
//
// Do readers leave old versions alone? Do writers free those that no snapshot needs, a bounded
// number at a time, in whatever order snapshots are released?
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store.h"
#include "holdfast/db/transaction.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::old_versions_test {
namespace {

uint64_t old_versions(DB& db) {
  std::string value;
  EXPECT_TRUE(db.GetProperty("holdfast.old-versions", &value));
  return std::stoull(value);
}

/// Returns a counter of the database's statistics.
uint64_t counter(DB& db, const std::string& name) {
  std::string text;
  EXPECT_TRUE(db.GetProperty("holdfast.prometheus", &text));
  const size_t at = text.find("\nholdfast_db_" + name + "{");
  EXPECT_NE(at, std::string::npos) << text;
  return std::stoull(text.substr(text.find("} ", at) + 2));
}

std::string key(int i) {
  return "key " + std::to_string(i);
}

class DbOldVersions : public DbTest {
 protected:
  /// Puts `keys` keys several times, with a snapshot between that needs the first versions.
  const Snapshot* overwrite(int keys, int times) {
    for (int i = 0; i < keys; ++i) {
      put(*file, key(i), "first");
    }
    const Snapshot* const snapshot = file->GetSnapshot();
    for (int time = 0; time < times; ++time) {
      for (int i = 0; i < keys; ++i) {
        put(*file, key(i), "later " + std::to_string(time));
      }
    }
    return snapshot;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbOldVersions, ::testing::ValuesIn(durable_engines()),
                         engine_name);

TEST_P(DbOldVersions, ReadersNeverWrite) {
  constexpr int kKeys = 300;
  const Snapshot* const old = overwrite(kKeys, 2);
  const Snapshot* const recent = file->GetSnapshot();
  ASSERT_GE(old_versions(*file), static_cast<uint64_t>(kKeys));
  const uint64_t updates = counter(*file, "updates_total");
  const uint64_t fences = counter(*file, "fences_total");
  const auto read_all = [&] {
    for (int i = 0; i < 20; ++i) {
      const std::unique_ptr<Iterator> at(file->NewIterator({}));
      const std::unique_ptr<Iterator> other(file->NewIterator({}));
      at->Seek(key(i));
      EXPECT_TRUE(at->Valid());
      EXPECT_EQ(at->value().ToString(), "later 1");
      EXPECT_EQ(get(*file, key(i)), "later 1");
      const std::unique_ptr<OptimisticTransaction> transaction(file->BeginTransaction());
      std::string value;
      EXPECT_TRUE(transaction->Get(key(i), &value).ok());
      file->ReleaseSnapshot(file->GetSnapshot());
    }
  };
  read_all();
  file->ReleaseSnapshot(recent);
  read_all();
  file->ReleaseSnapshot(old);
  read_all();
  EXPECT_EQ(counter(*file, "updates_total"), updates);
  EXPECT_EQ(counter(*file, "fences_total"), fences);
  expect_tidy(file);
}

// A write frees at most two old versions, and adds at most one.
TEST_P(DbOldVersions, WritersFreeThemABoundedNumberAtATime) {
  constexpr uint64_t kKeys = 200;
  file->ReleaseSnapshot(overwrite(kKeys, 1));
  uint64_t before = old_versions(*file);
  ASSERT_GE(before, kKeys);
  int writes = 0;
  for (; before > 2 && writes < 1000; ++writes) {
    put(*file, "another key", "value");
    const uint64_t now = old_versions(*file);
    ASSERT_GE(now + 2, before) << "too many in one write";
    ASSERT_LE(now, before) << "the backlog grows";
    before = now;
  }
  EXPECT_LE(writes, 220) << "the backlog shrinks too slowly";
  expect_tidy(file);
}

TEST_P(DbOldVersions, CompactingAndOpeningFreeAllOfThem) {
  file->ReleaseSnapshot(overwrite(150, 2));
  EXPECT_GE(old_versions(*file), 150u);
  const Snapshot* const kept = overwrite(150, 2);
  file->CompactRange(nullptr, nullptr);
  EXPECT_EQ(old_versions(*file), 150u) << "as many as the snapshot needs";
  EXPECT_EQ(get(*file, key(7), kept), "first");
  file->ReleaseSnapshot(kept);
  EXPECT_EQ(old_versions(*file), 150u);
  file.close();
  EXPECT_EQ(old_versions(*file), 0u);
  expect_tidy(file);
}

// Deletions stay as long as they hide older versions from a view that sees them.
TEST_P(DbOldVersions, SnapshotsOfAHotKeyAreReleasedInAnyOrder) {
  constexpr int kSnapshots = 120;
  std::mt19937 random(5);
  std::vector<std::pair<const Snapshot*, std::string>> snapshots;
  std::string now = "(none)";
  for (int i = 0; i < kSnapshots; ++i) {
    const std::string value = std::to_string(i);
    if (i % 5 == 3) {
      ASSERT_TRUE(file->Delete({}, "hot").ok());
      now = "(none)";
    } else {
      put(*file, "hot", value);
      now = value;
    }
    snapshots.emplace_back(file->GetSnapshot(), now);
  }
  std::shuffle(snapshots.begin(), snapshots.end(), random);
  while (!snapshots.empty()) {
    file->ReleaseSnapshot(snapshots.back().first);
    snapshots.pop_back();
    put(*file, "another key", "value");
    for (const auto& [snapshot, value] : snapshots) {
      ASSERT_EQ(get(*file, "hot", snapshot), value);
    }
  }
  EXPECT_EQ(get(*file, "hot"), now);
  file->CompactRange(nullptr, nullptr);
  EXPECT_EQ(old_versions(*file), 0u);
  expect_tidy(file);
}

// An iterator that stays open keeps one version of a key, and writers free the others.
TEST_P(DbOldVersions, AnOpenIteratorKeepsNoMoreThanItShows) {
  put(*file, "hot", "first");
  std::unique_ptr<Iterator> at(file->NewIterator({}));
  for (int i = 0; i < 300; ++i) {
    put(*file, "hot", std::to_string(i));
    ASSERT_LE(old_versions(*file), 4u);
  }
  at->SeekToFirst();
  ASSERT_TRUE(at->Valid());
  EXPECT_EQ(at->value().ToString(), "first");
  at.reset();
  put(*file, "hot", "last");
  put(*file, "hot", "last");
  EXPECT_LE(old_versions(*file), 2u);
  expect_tidy(file);
}

// A cancelled transaction gives back the versions that it was to free.
TEST_P(DbOldVersions, CancelledTransactionsLoseNoVersion) {
  file->ReleaseSnapshot(overwrite(50, 1));
  for (int i = 0; i < 100; ++i) {
    const Status status = file->Transact([&](Transaction& t) {
      t.Put(key(i % 50), "cancelled");
      return Status::IOError("cancelled");
    });
    ASSERT_FALSE(status.ok());
  }
  EXPECT_GE(old_versions(*file), 40u);
  expect_tidy(file);
}

// The thread that has deleted many entries may never write again.
TEST(DbManyOldVersions, AreFreedByAnyThread) {
  constexpr int kKeys = 3000;
  DbFile file;
  const auto write = [&](int first, int end, bool deletes) {
    WriteBatch batch;
    for (int i = first; i < end; ++i) {
      deletes ? batch.Delete(key(i)) : batch.Put(key(i), "value");
    }
    EXPECT_TRUE(file->Write({}, &batch).ok());
  };
  write(0, kKeys, false);
  std::thread([&] {
    write(0, kKeys, true);
    EXPECT_EQ(old_versions(*file), 2u * kKeys);
    // As many changes as last time are expected of a transaction of the caller.
    EXPECT_TRUE(file->Transact([&](Transaction& t) { t.Put(key(2 * kKeys), "value"); }).ok());
  }).join();
  for (int i = 0; i < kKeys; i += 10) {
    write(kKeys + i, kKeys + i + 10, false);
  }
  EXPECT_EQ(old_versions(*file), 0u);
  std::thread([&] { write(kKeys, 2 * kKeys, true); }).join();
  file->CompactRange(nullptr, nullptr);
  EXPECT_EQ(old_versions(*file), 0u);
  expect_tidy(file);
}

// ---- Replaced inside a transaction of the caller, which may abort.

using SimStore = Store<SimHeap>;

TEST(DbNestedWrites, AreFreedByLaterWritesOfTheirSlot) {
  for (const std::string& engine : durable_engines()) {
    SCOPED_TRACE(engine);
    SimMachine machine(
        {.domain = usual_domain(*EngineFactory<SimHeap::Engine>::describe(engine).value())});
    CreateOptions create;
    create.engine = engine;
    create.bytes = 256 << 10;
    const auto heap = SimHeap::create(machine, create).value();
    const auto store = SimStore::open(*heap, BytewiseComparator(), {}).value();
    for (int i = 0; i < 10; ++i) {
      heap->update([&] { store->write(Change{"key", std::to_string(i)}).check(); }).check();
    }
    EXPECT_EQ(store->old_versions().value(), 9u);
    EXPECT_ANY_THROW(static_cast<void>(heap->update([&] {
      store->write(Change{"key", "lost"}).check();
      throw 1;
    })));
    EXPECT_EQ(store->old_versions().value(), 9u);
    for (int i = 0; i < 12; ++i) {
      store->write(Change{"another key", "value"}).check();
    }
    EXPECT_LE(store->old_versions().value(), 2u);
    store->collect().check();
    EXPECT_EQ(store->old_versions().value(), 0u);
    std::string value;
    EXPECT_TRUE(store->get("key", nullptr, &value).value());
    EXPECT_EQ(value, "9");
  }
}

// ---- Collecting beside other threads

/// A store on the simulated machine, with one key, and threads under a random schedule.
class DbCollecting : public ::testing::TestWithParam<std::string> {
 protected:
  void run(uint64_t seed, int threads, const StoreLimits& limits,
           FunctionRef<void(SimStore&, int)> thread) {
    SimOptions options;
    options.threads = threads;
    options.seed = seed;
    options.domain = usual_domain(*EngineFactory<SimHeap::Engine>::describe(GetParam()).value());
    SimMachine machine(options);
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 256 << 10;
    const auto heap = SimHeap::create(machine, create).value();
    const auto store = SimStore::open(*heap, BytewiseComparator(), limits).value();
    store->write(Change{"key", "first"}).check();
    machine.run_threads(threads, [&](int i) { thread(*store, i); });
  }
};
/// On the simulated machine an engine with a design needs simulated time, so it is left out.
std::vector<std::string> simulated_engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}
INSTANTIATE_TEST_SUITE_P(Engines, DbCollecting, ::testing::ValuesIn(simulated_engines()),
                         engine_name);

// All versions were replaced before the first view is opened, so no view needs one.
TEST_P(DbCollecting, FreesWhatIsThereAlthoughReadersOpenViews) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    bool ready = false;
    bool done = false;
    uint64_t left = 0;
    run(seed, 4, {}, [&](SimStore& store, int thread) {
      if (thread == 0) {
        for (int i = 0; i < 5; ++i) {
          store.write(Change{"key", std::to_string(i)}).check();
        }
        ready = true;
        store.collect().check();
        left = store.old_versions().value();
        done = true;
      }
      while (!done) {
        if (!ready) {
          store.heap().machine().pause();
          continue;
        }
        store.close_view((thread == 1 ? store.open_view() : store.open_brief_view()).value());
      }
    });
    ASSERT_EQ(left, 0U) << "seed " << seed;
  }
}

// Those that a view needs come first, and are more than it takes at a time.
TEST_P(DbCollecting, FindsThoseBehindManyThatAViewNeeds) {
  constexpr int kNeeded = 30;
  StoreLimits limits;
  limits.versions_freed = 4;
  uint64_t left = 0;
  run(1, 1, limits, [&](SimStore& store, int /*thread*/) {
    std::vector<std::string> keys;
    const auto write_all = [&](size_t first) {
      std::vector<Change> changes;
      for (size_t i = first; i < keys.size(); ++i) {
        changes.push_back(Change{keys[i], "value"});
      }
      store.write(changes).check();
    };
    for (int i = 0; i < kNeeded; ++i) {
      keys.push_back("needed " + std::to_string(i));
    }
    write_all(0);
    const auto view = store.open_view().value();
    for (int i = 0; i < 50; ++i) {
      keys.push_back("new " + std::to_string(i));
    }
    write_all(kNeeded);
    write_all(0);
    store.collect().check();
    left = store.old_versions().value();
    store.close_view(view);
  });
  EXPECT_EQ(left, kNeeded);
}

// It frees one version in each transaction, and writers replace as many meanwhile.
TEST_P(DbCollecting, EndsBesideWriters) {
  constexpr int kMost = 120;
  StoreLimits limits;
  limits.versions_freed = 1;
  limits.pieces_freed = 1;
  limits.short_value = 16;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    bool done = false;
    int writes = 0;
    run(seed, 6, limits, [&](SimStore& store, int thread) {
      if (thread == 0) {
        while (writes < 20) {
          store.heap().machine().pause();
        }
        store.collect().check();
        done = true;
      }
      while (!done && writes < kMost) {
        store.write(Change{"key" + std::to_string(thread), std::string(40, 'x')}).check();
        ++writes;
        for (int i = 0; i < 20; ++i) {  // a collection finds what it has replaced
          store.heap().machine().pause();
        }
      }
    });
    EXPECT_LT(writes, kMost) << "seed " << seed;
  }
}

}  // namespace
}  // namespace holdfast::db::old_versions_test
