// SPDX-License-Identifier: Apache-2.0
//
// LevelDB's window to the operating system, with LevelDB's names, for programs that call it or
// derive from it. The database asks the machine (holdfast/machine), never an Env: one handed over
// in Options has no effect on it.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// A file read from its beginning to its end. One thread at a time.
class SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  /// Up to n bytes, fewer only where the file ends. They may lie in scratch, which has room for n.
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  /// Beyond the end is no error.
  virtual Status Skip(uint64_t n) = 0;
};

/// A file read anywhere. Any thread.
class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  /// As SequentialFile::Read, from this offset on.
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

/// A file written from its beginning, or its present end, on. One thread at a time.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  /// Closes it; what that finds nobody learns.
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  /// To the operating system: survives the end of the process.
  virtual Status Flush() = 0;
  /// To the medium.
  virtual Status Sync() = 0;
};

/// A taker of messages. The database has none: what goes wrong is in a Status.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  virtual void Logv(const char* format, std::va_list arguments) = 0;
};

/// What LockFile has locked.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

/// Thread safety: any thread. What is made is deleted by the caller; where making fails, it is set
/// to null. A file that is not there is NotFound, every other failure an IOError.
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  /// Of this computer; never deleted.
  static Env* Default();

  virtual Status NewSequentialFile(const std::string& name, SequentialFile** file) = 0;
  virtual Status NewRandomAccessFile(const std::string& name, RandomAccessFile** file) = 0;
  /// Instead of what was there under this name.
  virtual Status NewWritableFile(const std::string& name, WritableFile** file) = 0;
  /// Behind what is there. Unless derived classes say otherwise, NotSupported.
  virtual Status NewAppendableFile(const std::string& name, WritableFile** file);

  virtual bool FileExists(const std::string& name) = 0;
  /// Names within the directory.
  virtual Status GetChildren(const std::string& directory, std::vector<std::string>* names) = 0;
  // LevelDB renamed two operations, and lets derived classes define either name of each.
  virtual Status RemoveFile(const std::string& name) { return DeleteFile(name); }
  virtual Status DeleteFile(const std::string& name) { return RemoveFile(name); }
  virtual Status CreateDir(const std::string& name) = 0;
  virtual Status RemoveDir(const std::string& name) { return DeleteDir(name); }
  virtual Status DeleteDir(const std::string& name) { return RemoveDir(name); }
  virtual Status GetFileSize(const std::string& name, uint64_t* bytes) = 0;
  virtual Status RenameFile(const std::string& from, const std::string& to) = 0;

  /// Makes the file where there is none. Does not wait: locked by anybody, this process included,
  /// it is an IOError. Gone with the process.
  virtual Status LockFile(const std::string& name, FileLock** lock) = 0;
  /// Deletes the lock.
  virtual Status UnlockFile(FileLock* lock) = 0;

  /// Runs function(argument) on a thread in the background, after all that was scheduled before.
  virtual void Schedule(void (*function)(void* argument), void* argument) = 0;
  /// Runs function(argument) on a thread of its own, for which nobody waits.
  virtual void StartThread(void (*function)(void* argument), void* argument) = 0;

  /// A directory for tests, the same at each call.
  virtual Status GetTestDirectory(std::string* path) = 0;
  /// One that appends lines to this file.
  virtual Status NewLogger(const std::string& name, Logger** logger) = 0;

  /// Since some moment in the past.
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

/// Hands all calls on to another Env; to be derived from by who wants to replace a few.
class EnvWrapper : public Env {
 public:
  explicit EnvWrapper(Env* target) : target_(target) {}
  Env* target() const { return target_; }

  Status NewSequentialFile(const std::string& name, SequentialFile** file) override {
    return target_->NewSequentialFile(name, file);
  }
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** file) override {
    return target_->NewRandomAccessFile(name, file);
  }
  Status NewWritableFile(const std::string& name, WritableFile** file) override {
    return target_->NewWritableFile(name, file);
  }
  Status NewAppendableFile(const std::string& name, WritableFile** file) override {
    return target_->NewAppendableFile(name, file);
  }
  bool FileExists(const std::string& name) override { return target_->FileExists(name); }
  Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    return target_->GetChildren(directory, names);
  }
  Status RemoveFile(const std::string& name) override { return target_->RemoveFile(name); }
  Status CreateDir(const std::string& name) override { return target_->CreateDir(name); }
  Status RemoveDir(const std::string& name) override { return target_->RemoveDir(name); }
  Status GetFileSize(const std::string& name, uint64_t* bytes) override {
    return target_->GetFileSize(name, bytes);
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    return target_->RenameFile(from, to);
  }
  Status LockFile(const std::string& name, FileLock** lock) override {
    return target_->LockFile(name, lock);
  }
  Status UnlockFile(FileLock* lock) override { return target_->UnlockFile(lock); }
  void Schedule(void (*function)(void*), void* argument) override {
    target_->Schedule(function, argument);
  }
  void StartThread(void (*function)(void*), void* argument) override {
    target_->StartThread(function, argument);
  }
  Status GetTestDirectory(std::string* path) override { return target_->GetTestDirectory(path); }
  Status NewLogger(const std::string& name, Logger** logger) override {
    return target_->NewLogger(name, logger);
  }
  uint64_t NowMicros() override { return target_->NowMicros(); }
  void SleepForMicroseconds(int micros) override { target_->SleepForMicroseconds(micros); }

 private:
  Env* target_;
};

/// Nothing where the logger is null.
[[gnu::format(printf, 2, 3)]] void Log(Logger* logger, const char* format, ...);

/// The file has these bytes, or is removed again.
Status WriteStringToFile(Env* env, const Slice& data, const std::string& name);
Status ReadFileToString(Env* env, const std::string& name, std::string* data);

}  // namespace holdfast::db
