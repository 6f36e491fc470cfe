// SPDX-License-Identifier: Apache-2.0
//
// Does a batch of any size succeed, or say which option to raise?
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/db/durable_engines.h"

namespace holdfast::db::batches_test {
namespace {

std::string key(int i) {
  return "key " + std::to_string(100'000 + i * 7919 % 100'000);
}

/// Pairs with values of 200 bytes.
WriteBatch pairs(int n, char value) {
  WriteBatch batch;
  for (int i = 0; i < n; ++i) {
    batch.Put(key(i), std::string(200, value));
  }
  return batch;
}

class DbBatches : public DbTest {
 protected:
  /// Gives the engine a log for some hundred pairs.
  void make_logs_small() {
    file.options.engine_options =
        known_options(about(GetParam()), {{"log_bytes", "65536"}, {"records", "4096"}});
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbBatches, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbBatches, ASmallLogHoldsLongValuesAndCheckpoints) {
  make_logs_small();
  put(*file, "longer than the log", std::string(100'000, 'v'));
  put(*file, "longer than a part", std::string(150'000, 'v'));
  WriteBatch batch;
  batch.Put("first of two", std::string(40'000, 'v'));
  batch.Put("second of two", std::string(40'000, 'v'));
  ASSERT_TRUE(file->Write({}, &batch).ok());
  for (int i = 0; i < 600; i += 20) {  // a checkpoint has all of them in one batch
    batch.Clear();
    for (int of_batch = i; of_batch < i + 20; ++of_batch) {
      batch.Put(std::to_string(of_batch), "");
    }
    ASSERT_TRUE(file->Write({}, &batch).ok());
  }
  const Model expected = contents(*file);
  ASSERT_EQ(expected.size(), 604u);
  ASSERT_EQ(expected.at("longer than a part"), std::string(150'000, 'v'));

  DbFile copy(GetParam());
  ASSERT_TRUE(file->Checkpoint(copy.path()).ok());
  EXPECT_TRUE(contents(*copy) == expected);
  file.close();
  file.options.change_feed_bytes = 1 << 20;
  put(*file, "longer than the log", std::string(40'000, 'f'));
  put(*file, "longer than a part", std::string(150'000, 'f'));
  EXPECT_EQ(get(*file, "longer than the log"), std::string(40'000, 'f'));
  expect_tidy(file);
}

/// With the options that a new user has: the batch that quadra and fur-mv once refused.
TEST_P(DbBatches, FiveThousandPairsWithDefaultOptions) {
  WriteBatch batch = pairs(5000, 'v');
  const Status status = file->Write({}, &batch);
  if (about(GetParam()).any_size) {
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(contents(*file).size(), 5000u);
    expect_tidy(file);
  }
}

TEST_P(DbBatches, OneLargerThanTheLogIsWrittenOrNamesTheOption) {
  make_logs_small();
  put(*file, key(3), "before");
  put(*file, "other", "kept");
  constexpr int kPairs = 1000;
  // Undo logs leave out what the transaction has allocated.
  WriteBatch batch = pairs(about(GetParam()).any_size ? kPairs : 10 * kPairs, 'v');
  Status status = file->Write({}, &batch);
  if (!about(GetParam()).any_size) {
    ASSERT_FALSE(status.ok()) << "the log is too large for this test";
    bool named = false;
    for (const OptionInfo& option : about(GetParam()).option_list()) {
      named = named || status.ToString().find(option.name) != std::string::npos;
    }
    EXPECT_TRUE(named) << status.ToString();
    EXPECT_EQ(contents(*file), (Model{{key(3), "before"}, {"other", "kept"}}));
    put(*file, key(3), "after");
    expect_tidy(file);
    return;
  }
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Snapshot* const first = file->GetSnapshot();
  std::vector<uintmax_t> sizes;
  for (const char value : {'w', 'x', 'y'}) {
    batch = pairs(kPairs, value);
    status = file->Write({}, &batch);
    ASSERT_TRUE(status.ok()) << status.ToString();
    put(*file, key(3), std::string(1, value));
    if (value == 'w') {
      EXPECT_EQ(get(*file, key(4), first), std::string(200, 'v'));
      file->ReleaseSnapshot(first);
    }
    sizes.push_back(std::filesystem::file_size(file.path()));
  }
  EXPECT_EQ(sizes[2], sizes[1]) << "each large batch makes the file larger";
  const Model all = contents(*file);
  EXPECT_EQ(all.size(), kPairs + 1u);
  file.close();
  EXPECT_TRUE(contents(*file) == all);
  EXPECT_EQ(get(*file, key(3)), "y");
  EXPECT_EQ(get(*file, key(kPairs - 1)), std::string(200, 'y'));
  WriteBatch deletions;
  for (const auto& [name, value] : all) {
    deletions.Delete(name);
  }
  status = file->Write({}, &deletions);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(contents(*file).empty());
  expect_tidy(file);
}

/// Large batches of two threads, beside small writes and reads. Every reader sees whole batches.
TEST_P(DbBatches, LargeOnesRunBesideOtherTransactions) {
  if (!about(GetParam()).any_size) {
    return;
  }
  make_logs_small();
  constexpr int kPairs = 400;
  constexpr int kRounds = 5;
  file.open();
  std::atomic<int> writing{2};
  std::vector<std::thread> threads;
  for (const char own : {'a', 'b'}) {
    threads.emplace_back([&, own] {
      for (int round = 0; round < kRounds; ++round) {
        WriteBatch batch;
        for (int i = 0; i < kPairs; ++i) {
          batch.Put(own + key(i), std::string(200, static_cast<char>('0' + round)));
        }
        EXPECT_TRUE(file->Write({}, &batch).ok());
      }
      --writing;
    });
  }
  threads.emplace_back([&] {
    int i = 0;
    do {
      put(*file, "small", std::to_string(i++));
    } while (writing > 0);
  });
  threads.emplace_back([&] {
    while (writing > 0) {
      const Snapshot* const view = file->GetSnapshot();
      for (const char own : {'a', 'b'}) {
        const std::string first = get(*file, own + key(0), view);
        for (int i = 1; i < kPairs; i += 57) {
          ASSERT_EQ(get(*file, own + key(i), view), first);
        }
      }
      file->ReleaseSnapshot(view);
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  file.close();
  const Model all = contents(*file);
  EXPECT_EQ(all.size(), 2u * kPairs + 1);
  EXPECT_EQ(all.at("b" + key(7)), std::string(200, '0' + kRounds - 1));
  expect_tidy(file);
}

}  // namespace
}  // namespace holdfast::db::batches_test
