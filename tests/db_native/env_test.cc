// SPDX-License-Identifier: Apache-2.0
//
// Does Env have the operations and results that programs for LevelDB expect?
#include "holdfast/db/env.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/db_file.h"

namespace leveldb = holdfast::db;  // as a program written for LevelDB would say

namespace {

using leveldb::Env;
using leveldb::Slice;
using leveldb::Status;

class EnvTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(env_->GetTestDirectory(&directory_).ok());
    directory_ += "/" + std::to_string(::getpid());
    ASSERT_TRUE(env_->CreateDir(directory_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string in(const std::string& name) const { return directory_ + "/" + name; }

  Env* env_ = Env::Default();
  std::string directory_;
};

TEST_F(EnvTest, FilesAreWrittenAppendedToAndRead) {
  leveldb::WritableFile* made = nullptr;
  ASSERT_TRUE(env_->NewWritableFile(in("file"), &made).ok());
  std::unique_ptr<leveldb::WritableFile> writer(made);
  ASSERT_TRUE(writer->Append("0123").ok());
  ASSERT_TRUE(writer->Flush().ok());
  uint64_t bytes = 0;
  ASSERT_TRUE(env_->GetFileSize(in("file"), &bytes).ok());
  EXPECT_EQ(bytes, 4U) << "what was flushed is there";
  ASSERT_TRUE(writer->Append("45").ok());
  ASSERT_TRUE(writer->Sync().ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_TRUE(env_->NewAppendableFile(in("file"), &made).ok());
  writer.reset(made);
  ASSERT_TRUE(writer->Append("6789").ok());
  writer.reset();

  char scratch[16];
  Slice part;
  leveldb::SequentialFile* sequential = nullptr;
  ASSERT_TRUE(env_->NewSequentialFile(in("file"), &sequential).ok());
  const std::unique_ptr<leveldb::SequentialFile> reader(sequential);
  ASSERT_TRUE(reader->Read(3, &part, scratch).ok());
  EXPECT_EQ(part.ToString(), "012");
  ASSERT_TRUE(reader->Skip(4).ok());
  ASSERT_TRUE(reader->Read(16, &part, scratch).ok());
  EXPECT_EQ(part.ToString(), "789");
  ASSERT_TRUE(reader->Read(16, &part, scratch).ok());
  EXPECT_TRUE(part.empty());

  leveldb::RandomAccessFile* random = nullptr;
  ASSERT_TRUE(env_->NewRandomAccessFile(in("file"), &random).ok());
  const std::unique_ptr<leveldb::RandomAccessFile> anywhere(random);
  ASSERT_TRUE(anywhere->Read(8, 16, &part, scratch).ok());
  EXPECT_EQ(part.ToString(), "89") << "fewer at the end";
  ASSERT_TRUE(anywhere->Read(100, 1, &part, scratch).ok());
  EXPECT_TRUE(part.empty());

  ASSERT_TRUE(env_->NewWritableFile(in("file"), &made).ok());
  writer.reset(made);
  writer.reset();
  ASSERT_TRUE(env_->GetFileSize(in("file"), &bytes).ok());
  EXPECT_EQ(bytes, 0U) << "made anew";
}

TEST_F(EnvTest, DirectoriesListWhatIsInThem) {
  ASSERT_TRUE(leveldb::WriteStringToFile(env_, "x", in("a")).ok());
  ASSERT_TRUE(env_->RenameFile(in("a"), in("b")).ok());
  ASSERT_TRUE(env_->CreateDir(in("c")).ok());
  EXPECT_FALSE(env_->FileExists(in("a")));
  EXPECT_TRUE(env_->FileExists(in("b")));
  std::vector<std::string> names{"dropped"};
  ASSERT_TRUE(env_->GetChildren(directory_, &names).ok());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "b", "c"})) << "as LevelDB lists them";
  EXPECT_TRUE(env_->RemoveFile(in("b")).ok());
  EXPECT_TRUE(env_->DeleteDir(in("c")).ok()) << "the older name";
  ASSERT_TRUE(env_->GetChildren(directory_, &names).ok());
  EXPECT_EQ(names, (std::vector<std::string>{".", ".."}));
}

TEST_F(EnvTest, WhatIsNotThereIsNotFoundAndSaysWhich) {
  leveldb::SequentialFile* file = nullptr;
  const Status status = env_->NewSequentialFile(in("none"), &file);
  EXPECT_TRUE(status.IsNotFound());
  EXPECT_NE(status.ToString().find(in("none")), std::string::npos);
  EXPECT_EQ(file, nullptr);
  uint64_t bytes = 1;
  EXPECT_TRUE(env_->GetFileSize(in("none"), &bytes).IsNotFound());
  EXPECT_EQ(bytes, 0U);
  std::vector<std::string> names{"dropped"};
  EXPECT_TRUE(env_->GetChildren(in("none"), &names).IsNotFound());
  EXPECT_TRUE(names.empty());
  EXPECT_TRUE(env_->RemoveFile(in("none")).IsNotFound());
  EXPECT_TRUE(env_->RemoveDir(in("none")).IsNotFound());
  EXPECT_TRUE(env_->CreateDir(in("none/below")).IsNotFound());
  EXPECT_TRUE(env_->CreateDir(directory_).IsIOError()) << "there already";
  std::string text = "before";
  EXPECT_TRUE(leveldb::ReadFileToString(env_, in("none"), &text).IsNotFound());
  EXPECT_TRUE(leveldb::ReadFileToString(env_, directory_, &text).IsIOError());
}

TEST_F(EnvTest, ALockIsHeldOnceEvenWithinTheProcess) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env_->LockFile(in("lock"), &lock).ok());
  leveldb::FileLock* second = nullptr;
  EXPECT_TRUE(env_->LockFile(in("lock"), &second).IsIOError());
  EXPECT_EQ(second, nullptr);
  ASSERT_TRUE(env_->UnlockFile(lock).ok());
  ASSERT_TRUE(env_->LockFile(in("lock"), &lock).ok());
  ASSERT_TRUE(env_->UnlockFile(lock).ok());
}

/// The results of a function on another thread. Both threads own it: the function may still be
/// using `ended` when the test continues.
struct Traces {
  std::vector<int> done;
  std::promise<void> ended;
};
using Shared = std::shared_ptr<Traces>;

void end(void* argument) {
  const std::unique_ptr<Shared> traces(static_cast<Shared*>(argument));
  (*traces)->ended.set_value();
}

TEST_F(EnvTest, ScheduledWorkRunsInOrderAndThreadsRun) {
  const auto scheduled = std::make_shared<Traces>();
  env_->Schedule([](void* t) { static_cast<Traces*>(t)->done.push_back(1); }, scheduled.get());
  env_->Schedule([](void* t) { static_cast<Traces*>(t)->done.push_back(2); }, scheduled.get());
  env_->Schedule(&end, new Shared(scheduled));
  scheduled->ended.get_future().wait();
  EXPECT_EQ(scheduled->done, (std::vector<int>{1, 2}));

  const auto started = std::make_shared<Traces>();
  env_->StartThread(&end, new Shared(started));
  started->ended.get_future().wait();
}

TEST_F(EnvTest, ALoggerAppendsLines) {
  for (const int number : {1, 2}) {
    leveldb::Logger* made = nullptr;
    ASSERT_TRUE(env_->NewLogger(in("log"), &made).ok());
    const std::unique_ptr<leveldb::Logger> logger(made);
    leveldb::Log(logger.get(), "line %d", number);
  }
  leveldb::Log(nullptr, "without a logger");
  std::string text;
  ASSERT_TRUE(leveldb::ReadFileToString(env_, in("log"), &text).ok());
  EXPECT_EQ(text, "line 1\nline 2\n");
}

/// An Env as a program for LevelDB derives it, to observe one operation.
class CountingEnv final : public leveldb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  uint64_t NowMicros() override { return ++asked; }
  uint64_t asked = 0;
};

/// An Env that notes which of its functions are called.
class NotingEnv final : public leveldb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  using Status = leveldb::Status;
  Status NewSequentialFile(const std::string&, leveldb::SequentialFile**) override {
    return noted("sequential");
  }
  Status NewRandomAccessFile(const std::string&, leveldb::RandomAccessFile**) override {
    return noted("random");
  }
  Status NewWritableFile(const std::string&, leveldb::WritableFile**) override {
    return noted("writable");
  }
  Status NewAppendableFile(const std::string&, leveldb::WritableFile**) override {
    return noted("appendable");
  }
  bool FileExists(const std::string&) override { return noted("exists").ok(); }
  Status GetChildren(const std::string&, std::vector<std::string>*) override {
    return noted("children");
  }
  Status RemoveFile(const std::string&) override { return noted("remove"); }
  Status CreateDir(const std::string&) override { return noted("create"); }
  Status RemoveDir(const std::string&) override { return noted("remove directory"); }
  Status GetFileSize(const std::string&, uint64_t*) override { return noted("size"); }
  Status RenameFile(const std::string&, const std::string&) override { return noted("rename"); }
  Status LockFile(const std::string&, leveldb::FileLock**) override { return noted("lock"); }
  Status UnlockFile(leveldb::FileLock*) override { return noted("unlock"); }
  void Schedule(void (*)(void*), void*) override { noted("schedule"); }
  void StartThread(void (*)(void*), void*) override { noted("thread"); }
  Status GetTestDirectory(std::string*) override { return noted("test directory"); }
  Status NewLogger(const std::string&, leveldb::Logger**) override { return noted("logger"); }
  uint64_t NowMicros() override { return noted("now").ok() ? 1 : 0; }
  void SleepForMicroseconds(int) override { noted("sleep"); }

  std::vector<std::string> called;

 private:
  Status noted(const char* name) {
    called.emplace_back(name);
    return Status::NotFound(name);
  }
};

TEST_F(EnvTest, AWrapperHandsEachCallOn) {
  NotingEnv target(leveldb::Options().env);
  leveldb::EnvWrapper wrapper(&target);
  std::vector<std::string> names;
  std::string name;
  uint64_t bytes = 0;
  const std::vector<std::pair<const char*, std::function<leveldb::Status()>>> calls = {
      {"sequential", [&] { return wrapper.NewSequentialFile("a", nullptr); }},
      {"random", [&] { return wrapper.NewRandomAccessFile("a", nullptr); }},
      {"writable", [&] { return wrapper.NewWritableFile("a", nullptr); }},
      {"appendable", [&] { return wrapper.NewAppendableFile("a", nullptr); }},
      {"children", [&] { return wrapper.GetChildren("a", &names); }},
      {"remove", [&] { return wrapper.RemoveFile("a"); }},
      {"create", [&] { return wrapper.CreateDir("a"); }},
      {"remove directory", [&] { return wrapper.RemoveDir("a"); }},
      {"size", [&] { return wrapper.GetFileSize("a", &bytes); }},
      {"rename", [&] { return wrapper.RenameFile("a", "b"); }},
      {"lock", [&] { return wrapper.LockFile("a", nullptr); }},
      {"unlock", [&] { return wrapper.UnlockFile(nullptr); }},
      {"test directory", [&] { return wrapper.GetTestDirectory(&name); }},
      {"logger", [&] { return wrapper.NewLogger("a", nullptr); }}};
  for (const auto& [expected, call] : calls) {
    EXPECT_TRUE(call().IsNotFound()) << expected << ": the answer comes back";
    EXPECT_EQ(target.called.back(), expected);
  }
  EXPECT_FALSE(wrapper.FileExists("a"));
  EXPECT_EQ(target.called.back(), "exists");
  wrapper.Schedule([](void*) {}, nullptr);
  EXPECT_EQ(target.called.back(), "schedule");
  wrapper.StartThread([](void*) {}, nullptr);
  EXPECT_EQ(target.called.back(), "thread");
  EXPECT_EQ(wrapper.NowMicros(), 0U);
  EXPECT_EQ(target.called.back(), "now");
  wrapper.SleepForMicroseconds(1);
  EXPECT_EQ(target.called.back(), "sleep");
  EXPECT_EQ(target.called.size(), calls.size() + 5);
}

TEST_F(EnvTest, ADerivedEnvIsAcceptedAndNeverAsked) {
  CountingEnv counting(leveldb::Options().env);
  EXPECT_EQ(counting.NowMicros(), 1U);
  EXPECT_TRUE(leveldb::WriteStringToFile(&counting, "handed on", in("file")).ok());
  EXPECT_TRUE(env_->FileExists(in("file")));

  leveldb::DbFile file;
  file.options.env = &counting;
  EXPECT_TRUE(file->Put({}, "key", "value").ok());
  EXPECT_EQ(get(*file, "key"), "value");
  EXPECT_EQ(counting.asked, 1U);
}

}  // namespace
