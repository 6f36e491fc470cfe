// SPDX-License-Identifier: Apache-2.0
//
// Do concurrent writers and readers with snapshots stay isolated from each other?
#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::threads_test {
namespace {

constexpr int kAccounts = 40;
constexpr int kStart = 1000;

std::string account(uint64_t i) {
  return "account " + std::to_string(i);
}

/// An account with a balance of zero has no key, so that keys are added and deleted.
long balance(Transaction& t, const std::string& key) {
  std::string value;
  return t.Get(key, &value).ok() ? std::stol(value) : 0;
}
void set(Transaction& t, const std::string& key, long amount) {
  if (amount == 0) {
    t.Delete(key);
  } else {
    t.Put(key, std::to_string(amount));
  }
}

void move_money(DB& db, uint64_t seed, int transfers) {
  Random random(seed);
  for (int i = 0; i < transfers; ++i) {
    const std::string from = account(random.below(kAccounts));
    const std::string to = account(random.below(kAccounts));
    const bool all = random.below(3) == 0;
    const Status status = db.Transact([&](Transaction& t) {
      const long amount = all ? balance(t, from) : std::min(balance(t, from), 10L);
      set(t, from, balance(t, from) - amount);
      set(t, to, balance(t, to) + amount);
    });
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
}

long total(const Model& model) {
  long sum = 0;
  for (const auto& [key, value] : model) {
    sum += std::stol(value);
  }
  return sum;
}

class DbThreads : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbThreads, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbThreads, SnapshotsNeverShowHalfATransfer) {
  for (uint64_t i = 0; i < kAccounts; ++i) {
    put(*file, account(i), std::to_string(kStart));
  }
  DB& db = *file;
  std::atomic<int> writing{2};
  std::vector<std::thread> writers;
  for (const uint64_t seed : {1u, 2u}) {
    writers.emplace_back([&, seed] {
      move_money(db, seed, 400);
      writing.fetch_sub(1);
    });
  }
  int looks = 0;
  do {
    const Snapshot* snapshot = db.GetSnapshot();
    const Model first = contents(db, snapshot);
    EXPECT_EQ(total(first), long{kAccounts} * kStart);
    EXPECT_EQ(contents(db, snapshot), first) << "a snapshot changed";
    db.ReleaseSnapshot(snapshot);
    EXPECT_EQ(total(contents(db)), long{kAccounts} * kStart);
    ++looks;
  } while (writing.load() > 0 && !HasFailure());
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_GT(looks, 0);
  EXPECT_EQ(total(contents(db)), long{kAccounts} * kStart);
  expect_tidy(file);
  EXPECT_EQ(total(contents(*file)), long{kAccounts} * kStart);
}

/// Iterators show entries in place. So until the last iterator ends, no writer may change the
/// entries, and reclaiming may not free them.
TEST_P(DbThreads, IteratorsOfOneSnapshotOutliveItWhileAllIsReplaced) {
  constexpr int kReaders = 3;
  constexpr int kWalks = 300;
  Model before;
  for (uint64_t i = 0; i < kAccounts; ++i) {
    before[account(i)] = std::string(10 + 17 * i, static_cast<char>('a' + i % 26));
    put(*file, account(i), before[account(i)]);
  }
  DB& db = *file;
  const Snapshot* snapshot = db.GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot;
  std::vector<std::unique_ptr<Iterator>> iterators;
  for (int i = 0; i < kReaders; ++i) {
    iterators.emplace_back(db.NewIterator(options));
  }
  std::atomic<int> reading{kReaders};
  std::vector<std::thread> readers;
  for (std::unique_ptr<Iterator>& mine : iterators) {
    readers.emplace_back([&reading, &before, at = std::move(mine)]() mutable {
      for (int walk = 0; walk < kWalks; ++walk) {
        Model seen;
        for (at->SeekToFirst(); at->Valid(); at->Next()) {
          seen.emplace(at->key().ToString(), at->value().ToString());
        }
        EXPECT_EQ(seen, before);
      }
      at.reset();
      reading.fetch_sub(1);
    });
  }
  db.ReleaseSnapshot(snapshot);
  Random random(1);
  do {
    for (int i = 0; i < kAccounts; ++i) {
      const std::string key = account(random.below(kAccounts));
      if (random.below(3) == 0) {
        EXPECT_TRUE(db.Delete({}, key).ok());
      } else {
        put(db, key, std::string(random.below(500), '#'));
      }
    }
    db.CompactRange(nullptr, nullptr);
  } while (reading.load() > 0 && !HasFailure());
  for (std::thread& reader : readers) {
    reader.join();
  }
  expect_tidy(file);
}

/// A view has room for the counts of 15 threads, and more rows for more.
TEST(DbManyThreads, ASnapshotOutlivesItsIterators) {
  constexpr int kWriters = 20;
  DbFile file;
  file.options.max_threads = 2 * kWriters;
  DB& db = *file;
  std::barrier all(kWriters);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      put(db, account(static_cast<uint64_t>(i)), "old");
      all.arrive_and_wait();  // until then each thread has a number of its own
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  const Snapshot* const snapshot = db.GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot;
  std::unique_ptr<Iterator>(db.NewIterator(options))->SeekToFirst();
  for (const char* value : {"new", "newer", "newest"}) {
    put(db, account(0), value);
    EXPECT_EQ(get(db, account(0), snapshot), "old");
  }
  db.ReleaseSnapshot(snapshot);
  EXPECT_EQ(get(db, account(0)), "newest");
  file.close();
  expect_tidy(file);
}

}  // namespace
}  // namespace holdfast::db::threads_test
