// SPDX-License-Identifier: Apache-2.0
//
// Does Env have the operations and results that programs for LevelDB expect?
#include "holdfast/db/env.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/db/db_file.h"
#include "tests/native/refuse_call.h"

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
  ASSERT_TRUE(env_->GetFileSize(in("file"), &bytes).ok());
  EXPECT_EQ(bytes, 6U) << "what was synced is there";
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

TEST_F(EnvTest, AFailureIsAnErrorOfItsCall) {
  leveldb::WritableFile* made = nullptr;
  ASSERT_TRUE(env_->NewWritableFile("/dev/full", &made).ok());
  const std::unique_ptr<leveldb::WritableFile> full(made);
  ASSERT_TRUE(full->Append("kept in memory").ok());
  EXPECT_TRUE(full->Flush().IsIOError());
  EXPECT_TRUE(full->Append(std::string(1 << 20, 'x')).IsIOError());
  static_cast<void>(full->Append("kept in memory"));
  EXPECT_TRUE(full->Sync().IsIOError());
  ASSERT_TRUE(env_->NewWritableFile("/dev/full", &made).ok());
  const std::unique_ptr<leveldb::WritableFile> closed(made);
  ASSERT_TRUE(closed->Append("kept in memory").ok());
  EXPECT_TRUE(closed->Close().IsIOError());
  EXPECT_TRUE(closed->Close().IsIOError()) << "it is closed";
  EXPECT_TRUE(closed->Append("more").IsIOError());
  EXPECT_TRUE(closed->Flush().IsIOError());
  EXPECT_TRUE(closed->Sync().IsIOError());
  ASSERT_TRUE(env_->NewWritableFile("/dev/null", &made).ok());
  const std::unique_ptr<leveldb::WritableFile> null(made);
  EXPECT_TRUE(null->Flush().ok());
  EXPECT_TRUE(null->Sync().IsIOError()) << "it cannot be synced";

  char scratch[4] = "old";
  Slice part("untouched");
  leveldb::RandomAccessFile* random = nullptr;
  ASSERT_TRUE(env_->NewRandomAccessFile(directory_, &random).ok());
  const std::unique_ptr<leveldb::RandomAccessFile> anywhere(random);
  EXPECT_TRUE(anywhere->Read(0, 4, &part, scratch).IsIOError()) << "a directory";
  EXPECT_TRUE(part.empty());
  ASSERT_TRUE(leveldb::WriteStringToFile(env_, "0123", in("file")).ok());
  leveldb::SequentialFile* sequential = nullptr;
  ASSERT_TRUE(env_->NewSequentialFile(in("file"), &sequential).ok());
  const std::unique_ptr<leveldb::SequentialFile> reader(sequential);
  errno = EIO;  // of an earlier call
  EXPECT_TRUE(reader->Skip(1).ok());
  errno = EIO;
  EXPECT_TRUE(reader->Read(4, &part, scratch).ok()) << "fewer bytes at the end are no error";
  EXPECT_EQ(part.ToString(), "123");
  EXPECT_TRUE(reader->Skip(uint64_t{1} << 63).IsIOError()) << "no such offset";
}

TEST_F(EnvTest, WholeFilesOfAnySizeAreWrittenAndRead) {
  for (const size_t bytes : {0u, 1u, 8191u, 8192u, 8193u, 30000u}) {
    std::string text(bytes, 'x');
    for (size_t i = 0; i < bytes; i += 100) {
      text[i] = static_cast<char>(i / 100);
    }
    ASSERT_TRUE(leveldb::WriteStringToFile(env_, text, in("file")).ok());
    std::string found = "before";
    ASSERT_TRUE(leveldb::ReadFileToString(env_, in("file"), &found).ok());
    EXPECT_EQ(found, text);
  }
  EXPECT_TRUE(leveldb::WriteStringToFile(env_, "x", in("none/file")).IsNotFound());
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
  EXPECT_TRUE(env_->DeleteFile(in("b")).ok()) << "the older name";
  EXPECT_TRUE(env_->DeleteDir(in("c")).ok()) << "the older name";
  ASSERT_TRUE(env_->GetChildren(directory_, &names).ok());
  EXPECT_EQ(names, (std::vector<std::string>{".", ".."}));
}

TEST_F(EnvTest, WhatIsNotThereIsNotFoundAndSaysWhich) {
  leveldb::SequentialFile* file = nullptr;
  ASSERT_TRUE(leveldb::WriteStringToFile(env_, "x", in("file")).ok());
  ASSERT_TRUE(env_->NewSequentialFile(in("file"), &file).ok());
  const std::unique_ptr<leveldb::SequentialFile> found(file);
  const Status status = env_->NewSequentialFile(in("none"), &file);
  EXPECT_TRUE(status.IsNotFound());
  EXPECT_NE(status.ToString().find(in("none")), std::string::npos);
  EXPECT_EQ(file, nullptr);
  leveldb::Logger* logger = nullptr;
  ASSERT_TRUE(env_->NewLogger(in("log"), &logger).ok());
  const std::unique_ptr<leveldb::Logger> there(logger);
  EXPECT_TRUE(env_->NewLogger(in("none/log"), &logger).IsNotFound());
  EXPECT_EQ(logger, nullptr);
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
  EXPECT_EQ(text, "");
  EXPECT_TRUE(leveldb::ReadFileToString(env_, directory_, &text).IsIOError());
}

TEST_F(EnvTest, ALockIsHeldOnceEvenWithinTheProcess) {
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env_->LockFile(in("lock"), &lock).ok());
  leveldb::FileLock* second = lock;
  EXPECT_TRUE(env_->LockFile(in("lock"), &second).IsIOError());
  EXPECT_EQ(second, nullptr);
  second = lock;
  EXPECT_TRUE(env_->LockFile(in("none/lock"), &second).IsNotFound());
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

/// Schedules another piece of work, and stays until that has begun, or for a while: one background
/// thread begins it later.
struct Nested {
  std::thread::id first;
  std::atomic<bool> begun{false};
  std::thread::id second;
  std::promise<void> ended;
};

TEST_F(EnvTest, ScheduledWorkHasOneThreadAndMaySchedule) {
  static const auto nested = std::make_shared<Nested>();
  env_->Schedule(
      [](void* env) {
        nested->first = std::this_thread::get_id();
        static_cast<Env*>(env)->Schedule(
            [](void*) {
              nested->second = std::this_thread::get_id();
              nested->begun = true;
              nested->ended.set_value();
            },
            nullptr);
        for (int i = 0; i < 20000 && !nested->begun; ++i) {
          std::this_thread::yield();
        }
      },
      env_);
  nested->ended.get_future().wait();
  EXPECT_EQ(nested->first, nested->second);
  const auto later = std::make_shared<Traces>();  // when the thread is idle
  env_->Schedule(&end, new Shared(later));
  later->ended.get_future().wait();
}

/// Schedules without threads, and then from a thread that may make more. Returns whether the first
/// call fails alone.
bool schedules_after_a_failure(Env& env) {
  std::promise<void> failed;
  const auto later = std::make_shared<Traces>();
  std::thread free([&] {
    failed.get_future().wait();
    env.Schedule(&end, new Shared(later));
    if (later->ended.get_future().wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
      std::_Exit(2);
    }
  });
  bool thrown = false;
  for (const int call : {SYS_clone, SYS_clone3}) {
    thrown = holdfast::refuse_call(call, EAGAIN);
  }
  try {
    env.Schedule([](void*) { std::abort(); }, nullptr);
    thrown = false;
  } catch (const std::system_error&) {
  }
  failed.set_value();
  free.join();
  return thrown;
}

TEST_F(EnvTest, ScheduledWorkWaitsForNoThreadThatCouldNotBegin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, without the background thread
  EXPECT_EXIT(std::_Exit(schedules_after_a_failure(*env_) ? 0 : 1), ::testing::ExitedWithCode(0),
              "");
}

TEST_F(EnvTest, TheTestDirectoryIsMadeWhereTemporaryFilesAre) {
  const char* const before = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::string kept = before == nullptr ? "" : before;
  const auto set = [](const std::string& folder) {
    ::setenv("TMPDIR", folder.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  };
  set(directory_);
  std::string path;
  EXPECT_TRUE(env_->GetTestDirectory(&path).ok());
  EXPECT_EQ(path.rfind(directory_, 0), 0U);
  EXPECT_TRUE(std::filesystem::is_directory(path));
  set(in("none"));
  EXPECT_FALSE(env_->GetTestDirectory(&path).ok());
  set(kept);
  if (before == nullptr) {
    ::unsetenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  }
}

TEST_F(EnvTest, TheClockRunsWhileAThreadSleeps) {
  const auto before = std::chrono::steady_clock::now();
  env_->SleepForMicroseconds(2000);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::microseconds(2000));
  const uint64_t first = env_->NowMicros();
  EXPECT_GT(first, uint64_t{1'000'000'000} * 1'000'000) << "microseconds since 1970";
}

TEST_F(EnvTest, AFileThatGrowsIsReadOn) {
  ASSERT_TRUE(leveldb::WriteStringToFile(env_, "first", in("file")).ok());
  leveldb::SequentialFile* made = nullptr;
  ASSERT_TRUE(env_->NewSequentialFile(in("file"), &made).ok());
  const std::unique_ptr<leveldb::SequentialFile> reader(made);
  const auto read = [&] {
    char scratch[16];
    Slice part;
    EXPECT_TRUE(reader->Read(sizeof(scratch), &part, scratch).ok());
    return part.ToString();
  };
  EXPECT_EQ(read(), "first");
  EXPECT_EQ(read(), "");
  leveldb::WritableFile* appended = nullptr;
  ASSERT_TRUE(env_->NewAppendableFile(in("file"), &appended).ok());
  const std::unique_ptr<leveldb::WritableFile> writer(appended);
  ASSERT_TRUE(writer->Append("second").ok());
  ASSERT_TRUE(writer->Flush().ok());
  EXPECT_EQ(read(), "second");
}

TEST_F(EnvTest, ALoggerAppendsLines) {
  for (const int number : {1, 2}) {
    leveldb::Logger* made = nullptr;
    ASSERT_TRUE(env_->NewLogger(in("log"), &made).ok());
    const std::unique_ptr<leveldb::Logger> logger(made);
    leveldb::Log(logger.get(), number == 1 ? "line %d" : "line %d\n", number);
    std::string text;
    ASSERT_TRUE(leveldb::ReadFileToString(env_, in("log"), &text).ok());
    EXPECT_EQ(text, number == 1 ? "line 1\n" : "line 1\nline 2\n");
  }
  leveldb::Log(nullptr, "without a logger");
}

TEST_F(EnvTest, LinesOfSeveralThreadsStayWhole) {
  constexpr size_t kLines = 500;
  leveldb::Logger* made = nullptr;
  ASSERT_TRUE(env_->NewLogger(in("log"), &made).ok());
  const std::unique_ptr<leveldb::Logger> logger(made);
  std::vector<std::thread> threads;
  for (const char* name : {"one", "two", "six"}) {
    threads.emplace_back([&logger, name] {
      for (size_t i = 0; i < kLines; ++i) {
        leveldb::Log(logger.get(), "%s", name);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::string text;
  ASSERT_TRUE(leveldb::ReadFileToString(env_, in("log"), &text).ok());
  ASSERT_EQ(text.size(), 3 * kLines * 4);
  for (size_t at = 0; at < text.size(); at += 4) {
    const std::string line = text.substr(at, 4);
    ASSERT_TRUE(line == "one\n" || line == "two\n" || line == "six\n") << line;
  }
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

/// A file that fails at one of its functions.
class FailingFile final : public leveldb::WritableFile {
 public:
  FailingFile(bool at_append, std::string* written) : at_append_(at_append), written_(written) {}
  Status Append(const Slice& data) override {
    written_->append(data.data(), data.size());
    return at_append_ ? Status::IOError("append") : Status::OK();
  }
  Status Close() override { return at_append_ ? Status::OK() : Status::IOError("close"); }
  Status Flush() override { return Status::OK(); }
  Status Sync() override { return Status::OK(); }

 private:
  const bool at_append_;
  std::string* written_;
};

class FailingEnv final : public leveldb::EnvWrapper {
 public:
  explicit FailingEnv(bool at_append) : EnvWrapper(Env::Default()), at_append_(at_append) {}
  Status NewWritableFile(const std::string&, leveldb::WritableFile** file) override {
    *file = new FailingFile(at_append_, &written);
    return Status::OK();
  }
  Status RemoveFile(const std::string& name) override {
    removed = name;
    return Status::OK();
  }
  std::string written;
  std::string removed;

 private:
  const bool at_append_;
};

TEST_F(EnvTest, AFileThatCannotBeWrittenIsRemoved) {
  for (const bool at_append : {true, false}) {
    FailingEnv env(at_append);
    const Status status = leveldb::WriteStringToFile(&env, "text", "name");
    EXPECT_EQ(status.message(), at_append ? "append" : "close");
    EXPECT_EQ(env.written, "text");
    EXPECT_EQ(env.removed, "name");
  }
}

TEST_F(EnvTest, AnEnvNeedNotAppend) {
  NotingEnv env(Env::Default());
  leveldb::WritableFile* file = nullptr;
  ASSERT_TRUE(env_->NewWritableFile(in("file"), &file).ok());
  const std::unique_ptr<leveldb::WritableFile> made(file);
  EXPECT_TRUE(env.Env::NewAppendableFile(in("file"), &file).IsNotSupportedError());
  EXPECT_EQ(file, nullptr);
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
