// SPDX-License-Identifier: Apache-2.0
//
// Do the operations for a database in service work while other threads write: checkpoints, checks,
// properties, transactions without a body?
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/db/durable_engines.h"

namespace holdfast::db::service_test {
namespace {

class DbService : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbService, ::testing::ValuesIn(durable_engines()), engine_name);

TEST_P(DbService, OptimisticTransactionsCommitOrSayThatTheyMustNot) {
  put(*file, "read", "1");
  std::string value;
  bool committed = false;
  {
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    ASSERT_TRUE(t->Get("read", &value).ok());
    EXPECT_TRUE(t->Get("none", &value).IsNotFound());
    t->Put("written", "mine");
    t->Delete("read");
    put(*file, "unrelated", "x");
    EXPECT_TRUE(t->Get("unrelated", &value).IsNotFound()) << "it began before";
    EXPECT_TRUE(t->Get("read", &value).IsNotFound()) << "own writes are seen";
    ASSERT_TRUE(t->Get("written", &value).ok());
    EXPECT_EQ(get(*file, "written"), "(none)") << "no other reader sees it";
  }
  EXPECT_EQ(get(*file, "written"), "(none)") << "without a commit nothing has happened";
  const auto used = [&] {
    EXPECT_TRUE(file->GetProperty("holdfast.used-bytes", &value));
    return std::stoull(value);
  };
  const uint64_t before = used();
  for (const char* changed : {"read", "none"}) {
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    static_cast<void>(t->Get("read", &value));
    static_cast<void>(t->Get("none", &value));
    t->Put("written", std::string(300000, 'w'));
    put(*file, changed, "changed");
    ASSERT_TRUE(t->Commit(&committed).ok());
    EXPECT_FALSE(committed) << changed;
    EXPECT_EQ(get(*file, "written"), "(none)");
  }
  EXPECT_LT(used(), before + 100000) << "the long values of refused transactions are freed";
  {
    const std::unique_ptr<OptimisticTransaction> reader(file->BeginTransaction());
    ASSERT_TRUE(reader->Get("read", &value).ok());
    put(*file, "read", "changed");
    committed = false;
    ASSERT_TRUE(reader->Commit(&committed).ok());
    EXPECT_TRUE(committed) << "it has only read, so it is as if it had ended before the change";
  }
  const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  ASSERT_TRUE(t->Get("read", &value).ok());
  t->Put("written", std::string(300000, 'w'));
  t->Delete("none");
  ASSERT_TRUE(t->Commit(&committed).ok());
  EXPECT_TRUE(committed);
  EXPECT_EQ(
      contents(*file),
      (Model{{"read", "changed"}, {"unrelated", "x"}, {"written", std::string(300000, 'w')}}));
}

// The heap has to grow, which ends the body by an exception. Then it runs again, with more room.
TEST_P(DbService, ABodyThatSwallowsExceptionsCommitsAllOrNothing) {
  constexpr int kPuts = 40;
  const std::string value(3000, 'x');
  for (const bool into_status : {false, true}) {
    DbFile small(GetParam());
    small.options.initial_bytes = 1 << 20;
    small.options.max_bytes = 4 << 20;
    Model expected;
    int swallowed = 0;
    Status status;
    for (int round = 0; status.ok() && round < 1000; ++round) {
      Model written;
      status = small->Transact([&](Transaction& t) {
        Status result;
        for (int i = 0; i < kPuts; ++i) {
          const std::string key = std::to_string((i * 7919 + round * 104729) % 1000003);
          try {
            t.Put(key, value);
          } catch (...) {
            ++swallowed;
            result = into_status ? Status::InvalidArgument("made of it") : Status::OK();
          }
          written[key] = value;
        }
        return result;
      });
      if (status.ok()) {
        expected.merge(written);
      }
    }
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.code(), Code::out_of_space) << status.ToString();
    EXPECT_GT(swallowed, 0);
    EXPECT_TRUE(contents(*small) == expected);
    const Status sound = small->Verify();
    EXPECT_TRUE(sound.ok()) << sound.ToString();
  }
}

TEST_P(DbService, ACheckpointIsOneStateWhileWritersRun) {
  const std::string copy = file.path() + ".copy";
  for (int i = 0; i < 300; ++i) {
    put(*file, "key " + std::to_string(i), "0");
  }
  put(*file, "long", std::string(700000, 'l'));
  DB& db = *file;
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    for (int round = 1; !enough.load(); ++round) {
      WriteBatch batch;
      for (int i = 0; i < 300; ++i) {
        batch.Put("key " + std::to_string(i), std::to_string(round));
      }
      const Status status = db.Write({}, &batch);
      ASSERT_TRUE(status.ok()) << "round " << round << ": " << status.ToString();
    }
  });
  const Status status = db.Checkpoint(copy);
  enough.store(true);
  writer.join();
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(db.Checkpoint(copy).IsInvalidArgument()) << "a file is never overwritten";
  EXPECT_FALSE(std::filesystem::exists(copy + ".part"));
  DB* opened = nullptr;
  Options options = file.options;
  options.create_if_missing = false;
  ASSERT_TRUE(DB::Open(options, copy, &opened).ok());
  const std::unique_ptr<DB> other(opened);
  Model model = contents(*other);
  EXPECT_EQ(model.size(), 301u);
  EXPECT_EQ(model["long"].size(), 700000u);
  model.erase("long");
  for (const auto& [key, value] : model) {
    ASSERT_EQ(value, model.begin()->second) << "half a batch was copied";
  }
  std::string engine;
  ASSERT_TRUE(other->GetProperty("holdfast.engine", &engine));
  EXPECT_EQ(engine, GetParam());
  EXPECT_TRUE(other->Verify().ok());
  EXPECT_TRUE(db.Verify().ok());
  std::remove(copy.c_str());
}

/// Returns the number of files that this process has open.
long open_files() {
  using Files = std::filesystem::directory_iterator;
  return std::distance(Files("/proc/self/fd"), Files());
}

TEST(DbServices, ACheckpointOfAnExistingNameIsRefusedAtOnce) {
  DbFile file;
  put(*file, "k", "v");
  const std::string copy = file.path() + ".copy";
  const long before = open_files();
  ASSERT_TRUE(file->Checkpoint(copy).ok());
  EXPECT_EQ(open_files(), before) << "it closes what it opens";
  ASSERT_TRUE(Env::Default()->CreateDir(copy + ".part").ok());
  const Status status = file->Checkpoint(copy);
  EXPECT_EQ(status.system_error(), EEXIST) << status.ToString();
  EXPECT_TRUE(std::filesystem::is_empty(copy + ".part")) << "no copy has begun";
}

TEST(DbServices, ACheckpointThatCannotBeWrittenLeavesNothing) {
  DbFile file;
  put(*file, "k", "v");
  EXPECT_FALSE(file->Checkpoint("/no such folder/copy").ok());
  EXPECT_EQ(get(*file, "k"), "v");
}

TEST(DbServices, ReadOnlyChangesNothingAndKeepsWritersOut) {
  DbFile file;
  put(*file, "k", "v");
  file.close();
  const auto before = std::filesystem::last_write_time(file.path());
  file.options.read_only = true;
  file.options.domain.reset();
  EXPECT_EQ(contents(*file), (Model{{"k", "v"}}));
  EXPECT_FALSE(file->Put({}, "k", "w").ok());
  EXPECT_FALSE(file->Delete({}, "k").ok());
  EXPECT_EQ(get(*file, "k"), "v");
  EXPECT_TRUE(file->Verify().ok());
  file.close();
  EXPECT_EQ(std::filesystem::last_write_time(file.path()), before);
  EXPECT_TRUE(DestroyDB(file.path(), {}).ok());
  DB* db = nullptr;
  EXPECT_TRUE(DB::Open(file.options, file.path(), &db).IsInvalidArgument());
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

/// Expects that every line is a comment or a sample of Prometheus' text format.
TEST(DbServices, NumbersForPrometheus) {
  DbFile file;
  put(*file, "k", "v");
  std::string text;
  ASSERT_TRUE(file->GetProperty("holdfast.prometheus", &text));
  std::istringstream lines(text);
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# ", 0) != 0) {
      char name[64];
      char label[64];
      unsigned long value = 0;
      const int found = std::sscanf(line.c_str(), "%63[a-z_]{%63[^}]} %lu", name, label, &value);
      ASSERT_EQ(found, 3) << line;
      EXPECT_EQ(label, std::string("engine=\"") + kDefaultEngine + "\"");
      ++samples;
    }
  }
  EXPECT_GT(samples, 8);
  EXPECT_NE(text.find("# TYPE holdfast_db_updates_total counter\n"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::db::service_test
