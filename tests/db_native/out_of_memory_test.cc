// SPDX-License-Identifier: Apache-2.0
//
// Does a call fail alone if it gets no memory, while snapshots hold old versions? Each allocation
// of the call fails once.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/c/c_objects.h"
#include "holdfast/db/views/backlog.h"
#include "holdfast/db/views/snapshots.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/db/durable_engines.h"
#include "tests/failing_memory.h"

namespace holdfast::db::out_of_memory_test {
namespace {

constexpr int kKeys = 30;
constexpr const char* kLong = "no std::string keeps this text within itself";

std::string key(int i) {
  return "key " + std::to_string(i);
}

std::string property(DB& db, const std::string& name) {
  std::string value;
  EXPECT_TRUE(db.GetProperty("holdfast." + name, &value));
  return value;
}

uint64_t number(DB& db, const std::string& name) {
  return std::stoull(property(db, name));
}

/// A database with two snapshots, each of which holds old versions.
struct Versions {
  DbFile file;
  std::array<const Snapshot*, 2> snapshots{};
  std::map<std::string, std::string> now;

  Versions() {
    write("0");
    for (const Snapshot*& snapshot : snapshots) {
      snapshot = file->GetSnapshot();
      write("1");
    }
  }

  /// Puts the value to all keys, in one batch.
  void write(const std::string& value) {
    WriteBatch batch;
    for (int i = 0; i < kKeys; ++i) {
      batch.Put(key(i), value);
      now[key(i)] = value;
    }
    const Status status = file->Write({}, &batch);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  /// Makes allocation number `n` of the call fail. Returns false if it has fewer.
  template <class Call>
  static bool fails(uint64_t n, Call&& call) {
    failing_memory::until_failure = n;
    try {
      call();
    } catch (const std::bad_alloc&) {
      // as it may
    }
    const bool failed = failing_memory::until_failure == failing_memory::kNever;
    failing_memory::until_failure = failing_memory::kNever;
    return failed;
  }

  /// Is the content right, are all views closed, and are versions freed that none of them needs?
  void expect_versions_freed_after_release() {
    for (const auto& [name, value] : now) {
      EXPECT_EQ(get(*file, name), value);
    }
    for (const Snapshot* const snapshot : snapshots) {
      file->ReleaseSnapshot(snapshot);
    }
    EXPECT_EQ(number(*file, "open-snapshots"), 0U);
    EXPECT_EQ(property(*file, "oldest-snapshot-seconds"), std::to_string(0.0));
    for (int i = 0; i < 10; ++i) {
      write("later");
    }
    EXPECT_LE(number(*file, "old-versions"), uint64_t{kKeys});  // those of the last write
  }
};

class DbOutOfMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "a sanitizer has operators of its own";
    }
  }
};

TEST_F(DbOutOfMemoryTest, AWriteFailsAlone) {
  bool failed = true;
  for (uint64_t n = 0; failed && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Versions versions;
    bool successful = false;
    failed =
        Versions::fails(n, [&] { successful = versions.file->Put({}, key(1), "changed").ok(); });
    if (successful) {
      versions.now[key(1)] = "changed";
    }
    versions.expect_versions_freed_after_release();
    expect_tidy(versions.file);
  }
}

TEST_F(DbOutOfMemoryTest, ASnapshotFailsAlone) {
  bool failed = true;
  for (uint64_t n = 0; failed && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Versions versions;
    std::vector<const Snapshot*> more(6, nullptr);
    size_t opened = 0;
    failed = Versions::fails(n, [&] {
      for (; opened < more.size(); ++opened) {
        more[opened] = versions.file->GetSnapshot();
      }
    });
    for (size_t i = 0; i < opened; ++i) {
      versions.file->ReleaseSnapshot(more[i]);
    }
    versions.expect_versions_freed_after_release();
  }
}

// Later ones find memory that the first one has taken.
TEST_F(DbOutOfMemoryTest, TheFirstSnapshotFailsAlone) {
  bool failed = true;
  for (uint64_t n = 0; failed; ++n) {
    SCOPED_TRACE(n);
    DbFile file;
    put(*file, key(1), "value");
    const Snapshot* first = nullptr;
    failed = Versions::fails(n, [&] { first = file->GetSnapshot(); });
    const Snapshot* const second = file->GetSnapshot();
    put(*file, key(1), "changed");
    EXPECT_EQ(get(*file, key(1), second), "value");
    file->ReleaseSnapshot(second);
    file->ReleaseSnapshot(first);
    expect_tidy(file);
  }
}

/// A transaction and all kinds of iterators over it and over the database.
TEST_F(DbOutOfMemoryTest, AViewEndsWithTheCallThatFails) {
  const std::string long_key = kLong;
  const Slice bound(long_key);
  bool failed = true;
  for (uint64_t n = 0; failed && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Versions versions;
    DB& db = *versions.file;
    ColumnFamilyHandle* created = nullptr;
    ASSERT_TRUE(db.CreateColumnFamily({}, "numbers", &created).ok());
    const std::unique_ptr<ColumnFamilyHandle> map(created);
    const std::array<const ColumnFamilyHandle*, 2> families{nullptr, map.get()};
    failed = Versions::fails(n, [&] {
      for (const Snapshot* const snapshot :
           std::array<const Snapshot*, 2>{versions.snapshots[0], nullptr}) {
        for (const ColumnFamilyHandle* const family : families) {
          ReadOptions options;
          options.snapshot = snapshot;
          options.verify_checksums = true;
          options.iterate_lower_bound = &bound;
          const std::unique_ptr<Iterator> at(db.NewIterator(options, family));
          at->SeekToFirst();
        }
      }
      const std::unique_ptr<OptimisticTransaction> transaction(db.BeginTransaction());
      for (const ColumnFamilyHandle* const family : families) {
        transaction->Put(family, long_key, "value");
        const std::unique_ptr<Iterator> at(transaction->NewIterator(family));
        at->SeekToFirst();
      }
    });
    versions.expect_versions_freed_after_release();
  }
}

TEST_F(DbOutOfMemoryTest, ABatchHasWholeRecords) {
  struct Count final : WriteBatch::Handler {
    void Put(const Slice& key, const Slice& value) override {
      EXPECT_EQ(key.ToString(), "key " + value.ToString());
      ++records;
    }
    void Delete(const Slice& key) override {
      EXPECT_TRUE(key.starts_with("key "));
      ++records;
    }
    size_t records = 0;
  };
  bool failed = true;
  for (uint64_t n = 0; failed; ++n) {
    SCOPED_TRACE(n);
    WriteBatch batch;
    size_t appended = 0;
    failed = Versions::fails(n, [&] {
      for (size_t bytes = 0; bytes < 500; bytes += 20, ++appended) {
        const std::string value(bytes, 'v');
        if (bytes % 40 == 0) {
          batch.Put("key " + value, value);
        } else {
          batch.Delete("key " + value);
        }
      }
    });
    Count count;
    EXPECT_TRUE(batch.Iterate(&count).ok());
    EXPECT_EQ(count.records, appended);
  }
}

/// Each function of C that has an errptr does its work, or stores an error.
TEST_F(DbOutOfMemoryTest, AFunctionOfCTellsWhyItFails) {
  leveldb_readoptions_t* const read = leveldb_readoptions_create();
  leveldb_writeoptions_t* const write = leveldb_writeoptions_create();
  leveldb_options_t* const options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  const DbFile file;
  options->rep = file.options;
  leveldb_t* db = nullptr;
  const auto value_is = [](char* value, size_t bytes) {
    const bool there = value != nullptr && Slice(value, bytes) == Slice(kLong);
    leveldb_free(value);
    return there;
  };
  // Each returns whether it has done its work.
  const std::function<bool(char**)> calls[] = {
      [&](char** error) {
        leveldb_close(db);
        db = leveldb_open(options, file.path().c_str(), error);
        return db != nullptr;
      },
      [&](char** error) {
        leveldb_put(db, write, kLong, std::strlen(kLong), kLong, std::strlen(kLong), error);
        return *error == nullptr;
      },
      [&](char** error) {
        size_t bytes = 0;
        char* const value = leveldb_get(db, read, kLong, std::strlen(kLong), &bytes, error);
        return value_is(value, bytes);
      },
      [&](char** error) {
        const char* const keys[] = {kLong, kLong};
        const size_t lengths[] = {std::strlen(kLong), std::strlen(kLong)};
        char* values[2];
        size_t sizes[2];
        char* errors[2];
        holdfast_multi_get(db, read, 2, keys, lengths, values, sizes, errors);
        const bool first = value_is(values[0], sizes[0]);
        const bool second = value_is(values[1], sizes[1]);
        EXPECT_EQ(errors[0] == nullptr, first);
        EXPECT_EQ(errors[1] == nullptr, second);
        *error = errors[0] != nullptr ? errors[0] : errors[1];
        leveldb_free(errors[0] != nullptr ? errors[1] : nullptr);
        return first && second;
      },
      [&](char** error) {
        holdfast_map_t* const map = holdfast_db_open_map(db, "the map of a long name", 1, error);
        holdfast_db_close_map(map);
        return map != nullptr;
      },
      [&](char** error) {
        size_t count = 0;
        char** const names = holdfast_db_list_maps(db, &count, error);
        EXPECT_EQ(count, names == nullptr ? 0 : 2);
        holdfast_db_list_maps_destroy(names, count);
        return names != nullptr;
      },
      [&](char** error) {
        holdfast_transaction_t* const t = holdfast_transaction_begin(db, error);
        holdfast_transaction_destroy(t);
        return t != nullptr;
      },
      [&](char** error) {
        holdfast_delete_range(db, write, kLong, 1, "~", 1, error);
        return *error == nullptr;
      },
      [&](char** error) {
        holdfast_verify(db, error);
        return *error == nullptr;
      },
  };
  for (const auto& call : calls) {
    SCOPED_TRACE("call " + std::to_string(&call - calls));
    bool failed = true;
    for (uint64_t n = 0; failed && !testing::Test::HasFailure(); ++n) {
      SCOPED_TRACE(n);
      char* error = nullptr;
      failed = Versions::fails(n, [&] {
        EXPECT_NO_THROW({
          const bool done = call(&error);
          EXPECT_EQ(done, error == nullptr);
        });
      });
      EXPECT_TRUE(error == nullptr || std::strstr(error, "memory") != nullptr) << error;
      leveldb_free(error);
    }
  }
  leveldb_close(db);
  leveldb_options_destroy(options);
  leveldb_readoptions_destroy(read);
  leveldb_writeoptions_destroy(write);
}

// Destructors end shares, so that must not throw.
TEST_F(DbOutOfMemoryTest, SharesKeepEachOldVersionOnce) {
  using Share = std::unique_ptr<BacklogShare>;
  constexpr size_t kVersions = 20;
  bool failed = true;
  for (uint64_t n = 0; failed && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    SimMachine machine;
    Snapshots<SimMachine> snapshots(machine, 2);
    Backlog<SimMachine> backlog(machine, snapshots, 2);
    std::array<char, 3 * kVersions> versions{};
    const auto replace = [&](BacklogShare& share, size_t first) {
      share.begin();
      for (size_t i = first; i < first + kVersions; ++i) {
        share.add({&versions[i], 1, 2, 0});
      }
    };
    Share early = backlog.take(0, 1);
    replace(*early, 0);
    backlog.put(0, std::move(early), true);
    Share all = backlog.take_any(SIZE_MAX);  // has versions to free, of which it frees none
    Share first = backlog.take(0, 1);        // two transactions of one slot
    Share second = backlog.take(0, 1);
    replace(*first, kVersions);
    replace(*second, 2 * kVersions);
    failed = Versions::fails(n, [&] {
      EXPECT_NO_THROW(backlog.put(0, std::move(first), true));
      EXPECT_NO_THROW(backlog.put(0, std::move(all), false));
      EXPECT_NO_THROW(backlog.put(0, std::move(second), true));
      backlog.put(0, backlog.take(0, kVersions), false);
      backlog.put(0, backlog.take_any(SIZE_MAX), false);
    });
    std::map<void*, int> freed;
    for (Share some = backlog.take_any(SIZE_MAX); !some->empty();
         some = backlog.take_any(SIZE_MAX)) {
      some->begin();
      while (const OldVersion* const old = some->next()) {
        ++freed[old->version];
      }
      backlog.put(0, std::move(some), true);
    }
    EXPECT_EQ(freed.size(), versions.size());
    for (const auto& [version, times] : freed) {
      EXPECT_EQ(times, 1);
    }
  }
}

}  // namespace
}  // namespace holdfast::db::out_of_memory_test
