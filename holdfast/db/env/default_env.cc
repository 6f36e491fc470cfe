// SPDX-License-Identifier: Apache-2.0
//
// The Env of this computer, Env::Default().
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "holdfast/db/env.h"

namespace holdfast::db {
namespace {

namespace fs = std::filesystem;

Status status_of(const std::string& name, const std::error_code& error) {
  if (!error) {
    return Status::OK();
  }
  return error == std::errc::no_such_file_or_directory ? Status::NotFound(name, error.message())
                                                       : Status::IOError(name, error.message());
}
Status last_error(const std::string& name) {
  return status_of(name, std::error_code(errno, std::generic_category()));
}

struct Close {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Opens a stdio file. An `e` in `mode` closes it when the process executes another program.
Status open(const std::string& name, const char* mode, File* file) {
  file->reset(std::fopen(name.c_str(), mode));
  return *file == nullptr ? last_error(name) : Status::OK();
}

class StdioReader final : public SequentialFile {
 public:
  StdioReader(std::string name, File file) : name_(std::move(name)), file_(std::move(file)) {}

  Status Read(size_t n, Slice* result, char* scratch) override {
    std::clearerr(file_.get());  // the file may have grown since its end was met
    const size_t got = std::fread(scratch, 1, n, file_.get());
    *result = Slice(scratch, got);
    return got < n && std::ferror(file_.get()) != 0 ? last_error(name_) : Status::OK();
  }
  Status Skip(uint64_t n) override {
    return ::fseeko(file_.get(), static_cast<off_t>(n), SEEK_CUR) != 0 ? last_error(name_)
                                                                       : Status::OK();
  }

 private:
  const std::string name_;
  const File file_;
};

class PositionedReader final : public RandomAccessFile {
 public:
  PositionedReader(std::string name, File file) : name_(std::move(name)), file_(std::move(file)) {}

  Status Read(uint64_t offset, size_t n, Slice* result, char* scratch) const override {
    size_t got = 0;
    while (got < n) {
      const ssize_t more =
          ::pread(::fileno(file_.get()), scratch + got, n - got, static_cast<off_t>(offset + got));
      if (more == 0) {
        break;
      }
      if (more < 0 && errno != EINTR) {
        *result = Slice();
        return last_error(name_);
      }
      got += more > 0 ? static_cast<size_t>(more) : 0;
    }
    *result = Slice(scratch, got);
    return Status::OK();
  }

 private:
  const std::string name_;
  const File file_;
};

class StdioWriter final : public WritableFile {
 public:
  StdioWriter(std::string name, File file) : name_(std::move(name)), file_(std::move(file)) {}

  Status Append(const Slice& data) override {
    return done(
        [&] { return std::fwrite(data.data(), 1, data.size(), file_.get()) == data.size(); });
  }
  Status Close() override {
    return done([&] { return std::fclose(file_.release()) == 0; });
  }
  Status Flush() override {
    return done([&] { return std::fflush(file_.get()) == 0; });
  }
  Status Sync() override {
    return done(
        [&] { return std::fflush(file_.get()) == 0 && ::fdatasync(::fileno(file_.get())) == 0; });
  }

 private:
  template <class Step>
  Status done(const Step& step) {
    if (file_ == nullptr) {
      return Status::IOError(name_, "the file is closed");
    }
    return step() ? Status::OK() : last_error(name_);
  }

  const std::string name_;
  File file_;
};

class LineLogger final : public Logger {
 public:
  explicit LineLogger(File file) : file_(std::move(file)) {}

  /// Writes a line. One call writes all of it, so the lines of concurrent threads stay apart.
  void Logv(const char* format, std::va_list arguments) override {
    std::va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string line(static_cast<size_t>(std::max(size, 0)), '\0');
    static_cast<void>(std::vsnprintf(line.data(), line.size() + 1, format, arguments));
    if (!line.ends_with('\n')) {
      line += '\n';
    }
    static_cast<void>(std::fwrite(line.data(), 1, line.size(), file_.get()));
    static_cast<void>(std::fflush(file_.get()));
  }

 private:
  const File file_;
};

class OpenFileLock final : public FileLock {
 public:
  explicit OpenFileLock(File file) : file_(std::move(file)) {}

 private:
  const File file_;  // closing the file ends the lock
};

class DefaultEnv final : public Env {
 public:
  Status NewSequentialFile(const std::string& name, SequentialFile** file) override {
    return make<StdioReader>(name, "re", file);
  }
  Status NewRandomAccessFile(const std::string& name, RandomAccessFile** file) override {
    return make<PositionedReader>(name, "re", file);
  }
  Status NewWritableFile(const std::string& name, WritableFile** file) override {
    return make<StdioWriter>(name, "we", file);
  }
  Status NewAppendableFile(const std::string& name, WritableFile** file) override {
    return make<StdioWriter>(name, "ae", file);
  }

  bool FileExists(const std::string& name) override {
    std::error_code error;
    return fs::exists(name, error);
  }
  Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    names->clear();
    std::error_code error;  // with an error the iterator is at the end
    for (fs::directory_iterator at(directory, error); at != fs::directory_iterator();
         at.increment(error)) {
      names->push_back(at->path().filename().string());
    }
    if (!error) {
      names->insert(names->end(), {".", ".."});  // as LevelDB has them
    }
    return status_of(directory, error);
  }
  Status RemoveFile(const std::string& name) override {
    return ::unlink(name.c_str()) != 0 ? last_error(name) : Status::OK();
  }
  Status CreateDir(const std::string& name) override {
    return ::mkdir(name.c_str(), 0755) != 0 ? last_error(name) : Status::OK();
  }
  Status RemoveDir(const std::string& name) override {
    return ::rmdir(name.c_str()) != 0 ? last_error(name) : Status::OK();
  }
  Status GetFileSize(const std::string& name, uint64_t* bytes) override {
    std::error_code error;
    const auto size = fs::file_size(name, error);
    *bytes = error ? 0 : size;
    return status_of(name, error);
  }
  Status RenameFile(const std::string& from, const std::string& to) override {
    std::error_code error;
    fs::rename(from, to, error);
    return status_of(from, error);
  }

  Status LockFile(const std::string& name, FileLock** lock) override {
    *lock = nullptr;
    File file;
    if (Status status = open(name, "ae", &file); !status.ok()) {
      return status;
    }
    struct flock whole{};  // from the beginning to the end
    whole.l_type = F_WRLCK;
    if (::fcntl(::fileno(file.get()), F_OFD_SETLK, &whole) != 0) {
      return last_error(name);
    }
    *lock = new OpenFileLock(std::move(file));
    return Status::OK();
  }
  Status UnlockFile(FileLock* lock) override {
    delete lock;
    return Status::OK();
  }

  void Schedule(void (*function)(void*), void* argument) override {
    const std::lock_guard lock(mutex_);
    if (!background_) {
      std::thread([this] { work(); }).detach();  // throws if the system has no thread
      background_ = true;
    }
    scheduled_.emplace_back([=] { function(argument); });
    arrived_.notify_one();
  }
  void StartThread(void (*function)(void*), void* argument) override {
    std::thread(function, argument).detach();
  }

  Status GetTestDirectory(std::string* path) override {
    std::error_code error;
    const fs::path directory =
        fs::temp_directory_path(error) / ("holdfast-test-" + std::to_string(::geteuid()));
    if (!error) {
      fs::create_directory(directory, error);
    }
    *path = directory.string();
    return status_of(*path, error);
  }
  Status NewLogger(const std::string& name, Logger** logger) override {
    *logger = nullptr;
    File file;
    Status status = open(name, "ae", &file);
    if (status.ok()) {
      *logger = new LineLogger(std::move(file));
    }
    return status;
  }

  uint64_t NowMicros() override {
    using std::chrono::microseconds;
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<microseconds>(since).count());
  }
  void SleepForMicroseconds(int micros) override {
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
  }

 private:
  template <class T, class Interface>
  static Status make(const std::string& name, const char* mode, Interface** made) {
    *made = nullptr;
    File file;
    Status status = open(name, mode, &file);
    if (status.ok()) {
      *made = new T(name, std::move(file));
    }
    return status;
  }

  [[noreturn]] void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return !scheduled_.empty(); });
      const auto next = std::move(scheduled_.front());
      scheduled_.pop_front();
      lock.unlock();
      next();
    }
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> scheduled_;
  bool background_ = false;  ///< the background thread has been started
};

}  // namespace

Env* Env::Default() {
  // Never destroyed: the background thread, and objects destroyed after main, may still use it.
  static auto* const env = new DefaultEnv;
  return env;
}

}  // namespace holdfast::db
