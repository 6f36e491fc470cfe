// SPDX-License-Identifier: Apache-2.0
//
// LevelDB's interface to the operating system, for programs that call it or derive from it.
//
// The database itself uses the machine (holdfast/machine) and never calls an Env: Options::env has
// no effect.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/db/slice.h"
#include "holdfast/db/status.h"

namespace holdfast::db {

/// A file that is read from its beginning to its end. Thread safety: one thread at a time.
class SequentialFile {
 public:
  SequentialFile() = default;
  SequentialFile(const SequentialFile&) = delete;
  SequentialFile& operator=(const SequentialFile&) = delete;
  virtual ~SequentialFile();

  /// Reads the next n bytes, or fewer at the file's end. *result may point into `scratch`, which
  /// has room for n bytes. So `scratch` must live as long as *result is used.
  virtual Status Read(size_t n, Slice* result, char* scratch) = 0;
  /// Skips n bytes. Returns ok beyond the file's end.
  virtual Status Skip(uint64_t n) = 0;
};

/// A file that is read at any offset. Thread safety: any thread may read at any time.
class RandomAccessFile {
 public:
  RandomAccessFile() = default;
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;
  virtual ~RandomAccessFile();

  /// Reads n bytes from `offset` on; otherwise like SequentialFile::Read.
  virtual Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const = 0;
};

/// A file that is written at its end. Thread safety: one thread at a time.
///
/// Durability: Append may keep bytes in the process. Flush and Sync say what survives.
class WritableFile {
 public:
  WritableFile() = default;
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;
  /// Closes the file, ignoring errors.
  virtual ~WritableFile();

  virtual Status Append(const Slice& data) = 0;
  virtual Status Close() = 0;
  /// Hands all bytes to the operating system: they survive the end of the process.
  virtual Status Flush() = 0;
  /// Writes all bytes to the medium: they survive a power cut.
  virtual Status Sync() = 0;
};

/// A receiver of log messages. The database logs nothing: a Status says what has failed.
///
/// Thread safety: any thread may log at any time.
class Logger {
 public:
  Logger() = default;
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  virtual ~Logger();

  virtual void Logv(const char* format, std::va_list arguments) = 0;
};

/// A lock on a file; Env::LockFile makes it and Env::UnlockFile ends it.
class FileLock {
 public:
  FileLock() = default;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  virtual ~FileLock();
};

/// Files, directories, locks, threads and clocks of the operating system.
///
/// Thread safety: any thread may call any function.
///
/// Ownership: the caller deletes the objects that the New functions store in their last argument.
/// On failure they store null.
///
/// Errors: NotFound for a missing file, IOError for every other failure.
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env();

  /// The Env of this computer. Never deleted.
  static Env* Default();

  virtual Status NewSequentialFile(const std::string& name, SequentialFile** file) = 0;
  virtual Status NewRandomAccessFile(const std::string& name, RandomAccessFile** file) = 0;
  /// Creates the file, or empties the existing one.
  virtual Status NewWritableFile(const std::string& name, WritableFile** file) = 0;
  /// Opens the file for writing after its present content, or creates it. Returns NotSupported
  /// unless a derived class overrides it.
  virtual Status NewAppendableFile(const std::string& name, WritableFile** file);

  virtual bool FileExists(const std::string& name) = 0;
  /// Stores the names of the directory's entries, without the directory's own path.
  virtual Status GetChildren(const std::string& directory, std::vector<std::string>* names) = 0;
  // LevelDB has renamed two operations. A derived class may define the old name (Delete...) or the
  // new one (Remove...) of each: the other one calls it.
  virtual Status RemoveFile(const std::string& name) { return DeleteFile(name); }
  virtual Status DeleteFile(const std::string& name) { return RemoveFile(name); }
  virtual Status CreateDir(const std::string& name) = 0;
  virtual Status RemoveDir(const std::string& name) { return DeleteDir(name); }
  virtual Status DeleteDir(const std::string& name) { return RemoveDir(name); }
  virtual Status GetFileSize(const std::string& name, uint64_t* bytes) = 0;
  virtual Status RenameFile(const std::string& from, const std::string& to) = 0;

  /// Locks the file, and creates it if it does not exist. Does not wait: returns IOError if any
  /// process, this one included, has locked it. The lock ends with the process.
  virtual Status LockFile(const std::string& name, FileLock** lock) = 0;
  /// Unlocks the file and deletes `lock`.
  virtual Status UnlockFile(FileLock* lock) = 0;

  /// Runs function(argument) on the background thread, after all calls scheduled before. The
  /// default Env throws std::system_error if the system has no thread for that; then it runs
  /// nothing.
  virtual void Schedule(void (*function)(void* argument), void* argument) = 0;
  /// Runs function(argument) on a new, detached thread.
  virtual void StartThread(void (*function)(void* argument), void* argument) = 0;

  /// Stores the path of a directory for tests, the same one at each call.
  virtual Status GetTestDirectory(std::string* path) = 0;
  /// Makes a logger that appends lines to the file `name`.
  virtual Status NewLogger(const std::string& name, Logger** logger) = 0;

  /// Microseconds since some fixed moment in the past.
  virtual uint64_t NowMicros() = 0;
  virtual void SleepForMicroseconds(int micros) = 0;
};

/// An Env that forwards all calls to another one. A derived class replaces some of them.
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

/// Logs a formatted message; does nothing if the logger is null.
[[gnu::format(printf, 2, 3)]] void Log(Logger* logger, const char* format, ...);

/// Creates or replaces the file `name` with `data`. On failure removes the file.
Status WriteStringToFile(Env* env, const Slice& data, const std::string& name);
/// Stores the content of the file `name` in *data.
Status ReadFileToString(Env* env, const std::string& name, std::string* data);

}  // namespace holdfast::db
