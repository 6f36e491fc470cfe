// SPDX-License-Identifier: Apache-2.0
//
// Does an iterator, which reads ahead, show one state while other threads write? Can it change its
// direction at any entry?
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::iterator_test {
namespace {

std::string key_of(uint64_t n) {
  const std::string digits = std::to_string(n);
  return "key " + std::string(5 - digits.size(), '0') + digits;
}

/// Walks an iterator and a std::map's iterator together, and changes the database between the
/// steps.
class Walk {
 public:
  Walk(DbFile& file, uint64_t seed, uint64_t keys, size_t most_bytes)
      : file_(file), random_(seed), keys_(keys), most_bytes_(most_bytes) {
    for (uint64_t n = 0; n < keys; ++n) {
      change(2 * n);  // the keys between them do not exist yet, for Seek and for write
    }
    state_ = now_;
    iterator_.reset(file_->NewIterator({}));
    at_ = state_.end();
  }

  void run(int legs) {
    for (int i = 0; i < legs && !::testing::Test::HasFailure(); ++i) {
      start();
      // Either crosses several fillings of the buffer, or crosses one border in both directions.
      for (uint64_t left = random_.below(8) == 0 ? random_.below(2 * keys_) : random_.below(12);
           left > 0 && at_ != state_.end(); --left) {
        if (random_.below(4) == 0) {
          write();
          expect_same();  // the bytes stay until the iterator moves
        }
        forwards_ ? forwards() : backwards();
        expect_same();
      }
      forwards_ = !forwards_;
    }
  }

 private:
  void start() {
    if (at_ != state_.end() && random_.below(4) != 0) {
      return;
    }
    const uint64_t n = random_.below(2 * keys_ + 2);
    switch (random_.below(5)) {
      case 0:
        iterator_->SeekToFirst();
        at_ = state_.begin();
        break;
      case 1:
        iterator_->SeekToLast();
        at_ = state_.empty() ? state_.end() : std::prev(state_.end());
        break;
      case 2:
        if (at_ != state_.end()) {
          iterator_->Seek(iterator_->key());  // the iterator's own bytes
        }
        break;
      default:
        iterator_->Seek(key_of(n));
        at_ = state_.lower_bound(key_of(n));
    }
    expect_same();
  }
  void forwards() {
    ++at_;
    if (random_.below(2) == 0) {
      iterator_->Next();
    } else {
      expect_told(iterator_->NextEntry(&key_, &value_));
    }
  }
  void backwards() {
    at_ = at_ == state_.begin() ? state_.end() : std::prev(at_);
    if (random_.below(2) == 0) {
      iterator_->Prev();
    } else {
      expect_told(iterator_->PrevEntry(&key_, &value_));
    }
  }

  /// Checks the result of NextEntry or PrevEntry.
  void expect_told(bool there) {
    ASSERT_EQ(there, at_ != state_.end());
    if (there) {
      ASSERT_EQ(key_.ToString(), at_->first);
      ASSERT_TRUE(value_.ToString() == at_->second) << "at " << at_->first;
    }
  }

  void expect_same() {
    ASSERT_TRUE(iterator_->status().ok()) << iterator_->status().ToString();
    ASSERT_EQ(iterator_->Valid(), at_ != state_.end());
    if (at_ != state_.end()) {
      ASSERT_EQ(iterator_->key().ToString(), at_->first);
      ASSERT_TRUE(iterator_->value().ToString() == at_->second) << "at " << at_->first;
    }
  }

  void write() {
    const uint64_t n = random_.below(2 * keys_);
    if (random_.below(3) == 0) {
      ASSERT_TRUE(file_->Delete({}, key_of(n)).ok());
      now_.erase(key_of(n));
    } else {
      change(n);
    }
  }
  void change(uint64_t n) {
    const size_t usual[] = {0, 7, 100, 100, 1000};
    const bool large = random_.below(20) == 0;
    const size_t bytes = large ? random_.below(most_bytes_) : usual[random_.below(5)];
    std::string value(bytes, static_cast<char>('a' + random_.below(26)));
    put(*file_, key_of(n), value);
    now_[key_of(n)] = std::move(value);
  }

  DbFile& file_;
  Random random_;
  const uint64_t keys_;
  const size_t most_bytes_;
  Model now_;
  Model state_;  ///< the state that the iterator shows
  std::unique_ptr<Iterator> iterator_;
  Model::const_iterator at_;
  bool forwards_ = true;
  Slice key_;
  Slice value_;
};

class DbIterator : public DbTest {};
// With some engines entries are copied out of the heap, with others they are shown in place.
INSTANTIATE_TEST_SUITE_P(Engines, DbIterator, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbIterator, ShowsOneStateWhileItTurnsAndOthersWrite) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DbFile fresh(GetParam());
    Walk(fresh, seed, 400, 20000).run(300);
    expect_tidy(fresh);
  }
}

TEST_P(DbIterator, WalksOverValuesLargerThanItsBuffer) {
  DbFile fresh(GetParam());
  fresh.options.max_bytes = 256 << 20;
  Walk(fresh, 4, 60, 600000).run(150);
  expect_tidy(fresh);
}

TEST_P(DbIterator, ItsBytesStayWhileTheirBlocksWouldBeUsedAgain) {
  const auto value_of = [](uint64_t n, char round) {
    return std::string(100 + n % 3, static_cast<char>(round + n % 5));
  };
  const auto write_all = [&](char round) {
    for (uint64_t n = 0; n < 60; ++n) {
      put(*file, key_of(n), value_of(n, round));
    }
  };
  write_all('a');
  std::unique_ptr<Iterator> at(file->NewIterator({}));
  at->SeekToFirst();
  for (uint64_t n = 0; n < 60; ++n, at->Next()) {
    ASSERT_TRUE(at->Valid());
    const Slice key = at->key();
    const Slice value = at->value();
    n % 20 == 0 ? write_all(static_cast<char>('f' + n / 20)) : void();
    ASSERT_TRUE(file->Delete({}, key_of(n)).ok());
    file->CompactRange(nullptr, nullptr);
    EXPECT_EQ(key.ToString(), key_of(n));
    EXPECT_EQ(value.ToString(), value_of(n, 'a'));
  }
  EXPECT_FALSE(at->Valid());
  at.reset();
  expect_tidy(file);
}

TEST_P(DbIterator, OutlivesItsSnapshot) {
  const auto write_all = [&](const char* value) {
    for (uint64_t n = 0; n < 200; ++n) {
      put(*file, key_of(n), value);
    }
  };
  write_all("old");
  ReadOptions options;
  options.snapshot = file->GetSnapshot();
  std::unique_ptr<Iterator> at(file->NewIterator(options));
  file->ReleaseSnapshot(options.snapshot);
  write_all("new");
  file->CompactRange(nullptr, nullptr);
  EXPECT_EQ(contents(*file).at(key_of(7)), "new");  // opens and closes a view of another state
  uint64_t n = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next(), ++n) {
    ASSERT_EQ(at->key().ToString(), key_of(n));
    ASSERT_EQ(at->value().ToString(), "old");
  }
  EXPECT_EQ(n, 200u);
  at.reset();
  expect_tidy(file);
}

TEST_P(DbIterator, KeepsWhatItsOwnTransactionReplaces) {
  const Status status = file->Transact([&](Transaction& t) {
    t.Put("a", "first");
    const std::unique_ptr<Iterator> at(file->NewIterator({}));
    at->SeekToFirst();
    EXPECT_TRUE(at->Valid());
    const std::string shown = at->Valid() ? at->value().ToString() : "";
    t.Put("a", "other");
    t.Put("b", "again");  // may reuse the block of the first version
    if (at->Valid()) {
      EXPECT_EQ(at->value().ToString(), shown);
    }
    return Status::OK();
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(get(*file, "a"), "other");
  EXPECT_EQ(get(*file, "b"), "again");
  expect_tidy(file);
}

TEST_P(DbIterator, HasNowhereToGoInAnEmptyDatabase) {
  const std::unique_ptr<Iterator> at(file->NewIterator({}));
  EXPECT_FALSE(at->Valid());
  put(*file, "later", "x");
  for (int i = 0; i < 2; ++i) {
    at->SeekToFirst();
    EXPECT_FALSE(at->Valid());
    at->SeekToLast();
    EXPECT_FALSE(at->Valid());
    at->Seek("a");
    EXPECT_FALSE(at->Valid());
  }
  EXPECT_TRUE(at->status().ok());
}

TEST_P(DbIterator, StepsOverMoreDeletionsThanItReadsAhead) {
  WriteBatch all;
  for (uint64_t n = 0; n < 3000; ++n) {
    all.Put(key_of(n), "x");
  }
  ASSERT_TRUE(file->Write({}, &all).ok());
  const Snapshot* const before = file->GetSnapshot();  // keeps deleted keys in the tree
  WriteBatch most;
  for (uint64_t n = 1; n < 2999; ++n) {
    most.Delete(key_of(n));
  }
  ASSERT_TRUE(file->Write({}, &most).ok());
  const Model ends{{key_of(0), "x"}, {key_of(2999), "x"}};
  EXPECT_EQ(contents(*file), ends);
  EXPECT_EQ(contents(*file, before).size(), 3000u);
  file->ReleaseSnapshot(before);
  EXPECT_EQ(contents(*file), ends);
}

/// An Iterator as a program for LevelDB derives it. The keys are "a" to "c", and each is its value.
class Letters final : public Iterator {
 public:
  bool Valid() const override { return at_ >= 0 && at_ < 3; }
  void SeekToFirst() override { at_ = 0; }
  void SeekToLast() override { at_ = 2; }
  void Seek(const Slice& target) override { at_ = target[0] - 'a'; }
  void Next() override { ++at_; }
  void Prev() override { --at_; }
  Slice key() const override { return {&"abc"[at_], 1}; }
  Slice value() const override { return key(); }
  Status status() const override { return {}; }

 private:
  int at_ = -1;
};

TEST(DbIterators, CleanUpAtTheirEnd) {
  int counts[2] = {0, 0};
  {
    Letters letters;
    for (int i = 0; i < 2; ++i) {
      letters.RegisterCleanup(
          [](void* first, void* second) {
            *static_cast<int*>(first) += 1;
            *static_cast<int*>(second) += 10;
          },
          &counts[0], &counts[1]);
    }
    EXPECT_EQ(counts[0], 0);
  }
  EXPECT_EQ(counts[0], 2);
  EXPECT_EQ(counts[1], 20);
}

TEST(DbIterators, EmptyOnesHaveAStatus) {
  const std::unique_ptr<Iterator> empty(NewEmptyIterator());
  EXPECT_TRUE(empty->status().ok());
  const std::unique_ptr<Iterator> failed(NewErrorIterator(Status::IOError("of the medium")));
  EXPECT_TRUE(failed->status().IsIOError());
  for (Iterator* at : {empty.get(), failed.get()}) {
    at->SeekToFirst();
    EXPECT_FALSE(at->Valid());
    at->SeekToLast();
    at->Seek("a");
    EXPECT_FALSE(at->Valid());
    Slice key("none");
    EXPECT_FALSE(at->NextEntry(&key, &key));
    EXPECT_EQ(key.ToString(), "none");
  }
}

TEST(DbIterators, ADerivedOneStepsInOneCallToo) {
  Letters letters;
  letters.SeekToFirst();
  Slice key("none");
  Slice value("none");
  EXPECT_FALSE(letters.PrevEntry(&key, &value));
  EXPECT_EQ(key.ToString() + value.ToString(), "nonenone");
  letters.Seek("a");
  EXPECT_TRUE(letters.NextEntry(&key, &value));
  EXPECT_EQ(key.ToString() + value.ToString(), "bb");
  EXPECT_TRUE(letters.NextEntry(&key, &value));
  EXPECT_TRUE(letters.PrevEntry(&key, &value));
  EXPECT_EQ(key.ToString() + value.ToString(), "bb");
}

}  // namespace
}  // namespace holdfast::db::iterator_test
