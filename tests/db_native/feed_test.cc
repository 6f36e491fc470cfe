// SPDX-License-Identifier: Apache-2.0
//
// Does a follower that applies the change feed get the database's content? Does it get an error
// when changes are missing?
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::feed_test {
namespace {

class Follower final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    state[key.ToString()] = value.ToString();
  }
  void Delete(const Slice& key) override { state.erase(key.ToString()); }

  /// Applies at most `most` changes.
  Status follow(DB& db, int most = 1 << 30) {
    return db.ChangesSince(sequence, [&](uint64_t next, const WriteBatch& changes) {
      EXPECT_EQ(next, sequence + 1);
      sequence = next;
      EXPECT_TRUE(changes.Iterate(this).ok());
      return --most > 0;
    });
  }

  Model state;
  uint64_t sequence = 0;
};

class DbFeed : public DbTest {
 protected:
  DbFeed() { file.options.change_feed_bytes = 16 << 20; }
  uint64_t sequence() {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast.sequence", &text));
    return std::stoull(text);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbFeed, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbFeed, AFollowerSeesEveryTransactionOnceAndWhole) {
  Follower follower;
  EXPECT_TRUE(follower.follow(*file).ok());
  EXPECT_EQ(follower.sequence, 0u);
  put(*file, "a", "1");
  WriteBatch batch;
  batch.Put("b", std::string(200000, 'b'));  // value and record both written ahead
  batch.Put("c", std::string(5000, 'c'));
  batch.Delete("a");
  ASSERT_TRUE(file->Write({}, &batch).ok());
  ASSERT_TRUE(file->Transact([](Transaction& t) {
                    std::string value;
                    static_cast<void>(t.Get("c", &value));
                    t.Put("d", value);
                    t.Delete("c");
                  })
                  .ok());
  ASSERT_TRUE(file->Delete({}, "nothing there").ok());
  const Status refused = file->Transact([](Transaction& t) {
    t.Put("e", "rolled back");
    return Status::InvalidArgument("no");
  });
  EXPECT_FALSE(refused.ok());
  ASSERT_TRUE(follower.follow(*file, 2).ok());
  EXPECT_EQ(follower.sequence, 2u);
  EXPECT_EQ(follower.state.count("a"), 0u);
  file.close();
  file.options.change_feed_bytes.reset();  // keeps the file's setting
  put(*file, "f", "after opening again");
  ASSERT_TRUE(follower.follow(*file).ok());
  EXPECT_EQ(follower.state, contents(*file));
  EXPECT_EQ(follower.sequence, 4u);
  EXPECT_EQ(sequence(), 4u);
  follower.sequence = 5;
  EXPECT_TRUE(follower.follow(*file).IsInvalidArgument()) << "of the future";
  expect_tidy(file);
}

TEST_P(DbFeed, TheOrderIsThatOfTheCommits) {
  std::vector<std::thread> writers;
  DB& db = *file;
  for (uint64_t seed : {1u, 2u, 3u}) {
    writers.emplace_back([&db, seed] {
      Random random(seed);
      for (int i = 0; i < 150; ++i) {
        const std::string key = std::to_string(random.below(10));
        const Status status = db.Transact([&](Transaction& t) {
          std::string value;
          t.Get(key, &value).ok() ? t.Delete(key) : t.Put(key, std::to_string(seed * 1000) + key);
        });
        ASSERT_TRUE(status.ok()) << status.ToString();
      }
    });
  }
  Follower beside;
  while (beside.sequence < 450 && !HasFailure()) {
    ASSERT_TRUE(beside.follow(db).ok());
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  Follower later;
  ASSERT_TRUE(later.follow(db).ok());
  EXPECT_EQ(beside.state, contents(db));
  EXPECT_EQ(later.state, contents(db));
  expect_tidy(file);
}

TEST_P(DbFeed, WhatIsNotKeptIsToldToBeTooOld) {
  file.options.change_feed_bytes = 4000;
  for (int i = 0; i < 200; ++i) {
    put(*file, "key", std::string(100, 'v'));
  }
  put(*file, "long", std::string(300000, 'l'));  // over the limit; the last record always stays
  Follower follower;
  const Status status = follower.follow(*file);
  EXPECT_TRUE(status.IsNotFound()) << status.ToString();
  EXPECT_NE(status.ToString().find("too old"), std::string::npos) << status.ToString();
  EXPECT_EQ(follower.sequence, 0u);
  follower.sequence = sequence() - 1;
  ASSERT_TRUE(follower.follow(*file).ok());
  EXPECT_EQ(follower.state, (Model{{"long", std::string(300000, 'l')}}));
  expect_tidy(file);
}

TEST_P(DbFeed, ATimeWithoutAFeedIsAHole) {
  put(*file, "a", "1");
  Follower follower;
  ASSERT_TRUE(follower.follow(*file).ok());
  file.close();
  file.options.change_feed_bytes = 0;
  put(*file, "a", "unseen");
  EXPECT_TRUE(follower.follow(*file).IsNotSupportedError());
  expect_tidy(file);
  file.options.change_feed_bytes = 1 << 20;
  EXPECT_TRUE(follower.follow(*file).IsNotFound()) << "it must not miss the change in between";
  follower.sequence = sequence();
  put(*file, "b", "2");
  ASSERT_TRUE(follower.follow(*file).ok());
  EXPECT_EQ(follower.state, (Model{{"a", "1"}, {"b", "2"}}));
  expect_tidy(file);
}

TEST_P(DbFeed, IsKeptFromANumberThatTheErrorTells) {
  file.options.change_feed_bytes = 4000;
  for (int i = 0; i < 100; ++i) {
    put(*file, "key", std::string(100, 'v'));
  }
  Follower follower;
  const std::string message = follower.follow(*file).message();
  const std::string before = "changes are kept from ";
  ASSERT_NE(message.find(before), std::string::npos) << message;
  const uint64_t first = std::stoull(message.substr(message.find(before) + before.size()));
  EXPECT_EQ(first, 100 - 4000 / (100 + 3 + 17) + 1);  // a record has a tag and two lengths
  follower.sequence = first - 2;
  EXPECT_TRUE(follower.follow(*file).IsNotFound());
  follower.sequence = first - 1;
  EXPECT_TRUE(follower.follow(*file, 1).ok());
  EXPECT_EQ(follower.sequence, first);
}

TEST_P(DbFeed, DroppedChangesGiveTheirSpaceBack) {
  file.options.change_feed_bytes = 4000;
  const auto used = [&] {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast.used-bytes", &text));
    return std::stoull(text);
  };
  uint64_t before = 0;
  for (int i = 0; i < 1200; ++i) {
    put(*file, "key", std::string(100, 'v'));
    before = i == 200 ? used() : before;
  }
  EXPECT_LT(used(), before + 20'000);
  expect_tidy(file);
}

TEST_P(DbFeed, ALargeChangeIsKeptOnce) {
  const auto used = [&] {
    std::string text;
    EXPECT_TRUE(file->GetProperty("holdfast.used-bytes", &text));
    return std::stoull(text);
  };
  const uint64_t before = used();
  put(*file, "key", std::string(300'000, 'v'));  // the value, and the record of the change
  EXPECT_GT(used(), before + 600'000);
  EXPECT_LT(used(), before + 1'500'000) << "the block of a piece may be twice as large as it is";
}

TEST_P(DbFeed, ALowerLimitDropsTwoChangesWithEachWrite) {
  for (int i = 0; i < 200; ++i) {
    put(*file, "key", std::string(100, 'v'));
  }
  file.close();
  file.options.change_feed_bytes = 1000;
  Follower follower;
  EXPECT_TRUE(follower.follow(*file, 1).ok()) << "opening alone drops nothing";
  for (int i = 0; i < 150; ++i) {
    put(*file, "key", std::string(100, 'w'));
  }
  follower.sequence = 300;  // each of 150 writes has dropped two
  EXPECT_TRUE(follower.follow(*file).ok());
  follower.sequence = 299;
  EXPECT_TRUE(follower.follow(*file).IsNotFound());
  expect_tidy(file);
}

TEST_P(DbFeed, TurningItOffTakesOneNumber) {
  for (int i = 0; i < 200; ++i) {  // more than a step drops
    put(*file, "key", std::to_string(i));
  }
  for (int opening = 0; opening < 2; ++opening) {
    file.close();
    file.options.change_feed_bytes = 0;
    put(*file, "key", "unseen");
    EXPECT_EQ(sequence(), 201u);
  }
  expect_tidy(file);
  file.options.change_feed_bytes = 1 << 20;
  put(*file, "key", "seen");
  EXPECT_EQ(sequence(), 202u);
  Follower follower;
  follower.sequence = 200;
  EXPECT_TRUE(follower.follow(*file).IsNotFound());
  follower.sequence = 201;
  EXPECT_TRUE(follower.follow(*file).ok());
  EXPECT_EQ(follower.state, (Model{{"key", "seen"}}));
  expect_tidy(file);
}

// A primary that is lost, and replaced by its backup, has lost changes that its followers have.
TEST(DbFeedOfACopy, SendsFollowersOfTheOriginToACopy) {
  for (const bool empty : {false, true}) {
    SCOPED_TRACE(empty);
    DbFile origin;
    origin.options.change_feed_bytes = 1 << 20;
    put(*origin, "key", "in the copy");
    if (empty) {
      ASSERT_TRUE(origin->Delete({}, "key").ok());
    }
    const std::string path = origin.path() + "-copy";
    ASSERT_TRUE(origin->Checkpoint(path).ok());
    for (int i = 0; i < 3; ++i) {
      put(*origin, "lost", std::to_string(i));
    }
    Follower follower;
    ASSERT_TRUE(follower.follow(*origin).ok());
    DB* opened = nullptr;
    ASSERT_TRUE(DB::Open(origin.options, path, &opened).ok());
    const std::unique_ptr<DB> copy(opened);
    EXPECT_TRUE(follower.follow(*copy).IsNotFound()) << "before the first change";
    for (int i = 0; i < 10; ++i) {
      put(*copy, "key", std::to_string(i));
    }
    EXPECT_TRUE(follower.follow(*copy).IsNotFound());
    std::string number;
    ASSERT_TRUE(copy->GetProperty("holdfast.sequence", &number));
    follower.sequence = std::stoull(number);
    follower.state = contents(*copy);
    put(*copy, "key", "new");
    ASSERT_TRUE(follower.follow(*copy).ok());
    EXPECT_EQ(follower.state, contents(*copy));
    EXPECT_TRUE(copy->Verify().ok());
  }
}

TEST(DbFeedContents, BytesThatAreNoBatchAreRefused) {
  WriteBatch batch;
  batch.Put("key", "value");
  batch.Delete("key");
  const std::string good = WriteBatchContents::of(batch);
  WriteBatch other;
  EXPECT_TRUE(WriteBatchContents::set(&other, good));
  EXPECT_EQ(WriteBatchContents::of(other), good);
  const size_t first = good.size() - 12;  // the length of the put
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(WriteBatchContents::set(&other, good.substr(0, size)), size == first) << size;
  }
  for (const size_t at : {size_t{0}, size_t{1}, size_t{8}, first, first + 5}) {
    std::string bad = good;
    bad[at] = '\x7f';
    EXPECT_FALSE(WriteBatchContents::set(&other, bad)) << at;
  }
}

}  // namespace
}  // namespace holdfast::db::feed_test
