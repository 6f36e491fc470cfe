// SPDX-License-Identifier: Apache-2.0
//
// Does the database behave like a std::map, with snapshots and restarts?
#include <cstdio>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::model_test {
namespace {

class RandomRun {
 public:
  RandomRun(DbFile& file, uint64_t seed) : file_(file), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
    }
    release_all();
    EXPECT_EQ(contents(*file_), model_);
    expect_tidy(file_);
    EXPECT_EQ(contents(*file_), model_) << "after reopening";
  }

 private:
  struct Held {
    const Snapshot* snapshot;
    Model model;
  };

  // Few keys, so that they are overwritten and deleted; some share their first bytes, some are
  // empty or binary.
  std::string key() {
    const uint64_t n = random_.below(120);
    if (n == 0) {
      return "";
    }
    const std::string starts[] = {"a long common prefix ", std::string(n % 11, '\0'), ""};
    std::string k = starts[n % 3];
    k += static_cast<char>(n * 7);
    k += static_cast<char>(n);
    return k;
  }
  std::string value() {
    static constexpr size_t kSizes[] = {0, 1, 8, 100, 1000, 5000, 30000, 200000};
    const uint64_t dice = random_.below(100);
    const size_t size = kSizes[dice < 60 ? dice % 4 : dice < 97 ? 4 + dice % 3 : 7];
    std::string v(size, static_cast<char>(random_.next()));
    for (size_t i = 0; i < size; i += 97) {
      v[i] = static_cast<char>(random_.next());
    }
    return v;
  }

  void step() {
    const uint64_t dice = random_.below(1000);
    if (dice < 400) {
      const std::string k = key();
      const std::string v = value();
      put(*file_, k, v);
      model_[k] = v;
    } else if (dice < 600) {
      const std::string k = key();
      ASSERT_TRUE(file_->Delete({}, k).ok());
      model_.erase(k);
    } else if (dice < 700) {
      batch();
    } else if (dice < 780) {
      transaction();
    } else if (dice < 900) {
      const std::string k = key();
      const auto at = model_.find(k);
      ASSERT_EQ(get(*file_, k), at == model_.end() ? "(none)" : at->second);
    } else if (dice < 930) {
      seek();
    } else if (dice < 960 && held_.size() < 4) {
      held_.push_back({file_->GetSnapshot(), model_});
    } else if (dice < 992) {
      release_one();
    } else if (dice < 995) {
      EXPECT_EQ(contents(*file_), model_);
    } else {
      release_all();
      file_.close();
    }
  }

  void batch() {
    WriteBatch batch;
    for (uint64_t n = random_.below(8); n > 0; --n) {
      const std::string k = key();
      if (random_.below(3) == 0) {
        batch.Delete(k);
        model_.erase(k);
      } else {
        const std::string v = value();
        batch.Put(k, v);
        model_[k] = v;
      }
    }
    ASSERT_TRUE(file_->Write({}, &batch).ok());
  }

  /// Moves a value from one key to another.
  void transaction() {
    const std::string from = key();
    const std::string to = key();
    const Status status = file_->Transact([&](Transaction& t) {
      std::string v;
      if (t.Get(from, &v).ok() && v.size() < 10000) {
        t.Delete(from);
        t.Put(to, v);
      }
    });
    ASSERT_TRUE(status.ok()) << status.ToString();
    const auto at = model_.find(from);
    if (at != model_.end() && at->second.size() < 10000) {
      const std::string v = at->second;
      model_.erase(at);
      model_[to] = v;
    }
  }

  void seek() {
    const std::string k = key();
    const std::unique_ptr<Iterator> at(file_->NewIterator({}));
    at->Seek(k);
    const auto expected = model_.lower_bound(k);
    ASSERT_EQ(at->Valid(), expected != model_.end());
    if (at->Valid()) {
      ASSERT_EQ(at->key().ToString(), expected->first);
      at->Prev();
      ASSERT_EQ(at->Valid(), expected != model_.begin());
    }
  }

  void release_one() {
    if (!held_.empty()) {
      const size_t i = random_.below(held_.size());
      ASSERT_EQ(contents(*file_, held_[i].snapshot), held_[i].model);
      file_->ReleaseSnapshot(held_[i].snapshot);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  void release_all() {
    while (!held_.empty() && !::testing::Test::HasFailure()) {
      release_one();
    }
  }

  DbFile& file_;
  Random random_;
  Model model_;
  std::vector<Held> held_;
};

class DbModel : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbModel, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbModel, RandomOperations) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DbFile fresh(GetParam());
    RandomRun(fresh, seed).run(1500);
  }
}

TEST_P(DbModel, LongRandomOperations) {
  for (uint64_t seed = 10; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DbFile fresh(GetParam());
    RandomRun(fresh, seed).run(10000);
  }
}

}  // namespace
}  // namespace holdfast::db::model_test
