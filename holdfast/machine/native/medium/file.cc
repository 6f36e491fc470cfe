// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace holdfast::native {
namespace {

Status not_regular(const std::string& path, mode_t mode) {
  return S_ISDIR(mode) ? file_error(path, "", EISDIR)
                       : Status(Code::invalid_argument,
                                path + " is not an ordinary file; a heap lives in one");
}

/// Whether an open file holds a lock. `description` is its fdinfo in /proc, which lists its locks:
/// "lock:   1: OFDLCK ADVISORY  WRITE -1 fe:00:131081 0 EOF"
bool holds_lock(const std::filesystem::path& description) {
  std::ifstream lines(description);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("lock:", 0) == 0) {
      return true;
    }
  }
  return false;
}

/// "process 4711" if the system shows which process has locked the file, else "another process".
/// The system's lists of locks name no process for a lock that belongs to an open file, so this
/// searches the open files of all processes.
std::string lock_holder(int fd) {
  namespace fs = std::filesystem;
  struct stat wanted{};
  if (fstat(fd, &wanted) != 0) {
    return "another process";
  }
  // A process may end meanwhile, and then its directory has an error.
  std::error_code error;
  const fs::directory_iterator end;
  for (fs::directory_iterator process("/proc", error); process != end; process.increment(error)) {
    const std::string id = process->path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    for (fs::directory_iterator open(process->path() / "fd", error); open != end;
         open.increment(error)) {
      struct stat found{};
      if (::stat(open->path().c_str(), &found) == 0 && found.st_ino == wanted.st_ino &&
          found.st_dev == wanted.st_dev &&
          holds_lock(process->path() / "fdinfo" / open->path().filename())) {
        return id == std::to_string(getpid()) ? "this process" : "process " + id;
      }
    }
  }
  return "another process";
}

/// A lock on the whole file. It belongs to the open file, which forked children share, and ends at
/// the latest when all of them have closed it or have been killed.
struct flock whole_file(short type) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

Status lock(const File& file, short type) {
  struct flock range = whole_file(type);
  if (fcntl(file.fd(), F_OFD_SETLK, &range) == 0) {
    return {};
  }
  if (errno != EAGAIN && errno != EACCES) {
    return file_error(file.path(), "cannot be locked", errno);
  }
  return {Code::busy, file.path() + " is in use by " + lock_holder(file.fd()) +
                          "; close it there first (`holdfast info` works meanwhile)"};
}

Status check_regular(const File& file) {
  struct stat info{};
  if (fstat(file.fd(), &info) != 0) {
    return file_error(file.path(), "cannot be examined", errno);
  }
  return S_ISREG(info.st_mode) ? Status() : not_regular(file.path(), info.st_mode);
}

/// Gives the file another number if it has that of a closed standard stream. The program's output
/// would go into the file.
int above_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) {
    return fd;
  }
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return above;
}

Result<File> open_existing(const std::string& path, int flags) {
  if (Status status = check_path(path); !status.ok()) {
    return status;
  }
  std::string name = path;  // before the file is open: there may be no memory
  // Non-blocking, because the name may lead to a pipe.
  const int fd = above_standard_streams(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK));
  if (fd < 0) {
    return file_error(path, "cannot be opened", errno);
  }
  File file(fd, std::move(name));
  if (Status status = check_regular(file); !status.ok()) {
    return status;
  }
  return file;
}

/// Returns ok if the file is empty and still has a name.
Status check_empty(const File& file) {
  struct stat info{};
  if (fstat(file.fd(), &info) != 0) {
    return file_error(file.path(), "cannot be examined", errno);
  }
  const int error = info.st_size != 0 ? EEXIST : info.st_nlink == 0 ? ENOENT : 0;
  return error == 0 ? Status() : file_error(file.path(), "cannot be created", error);
}

/// Takes an empty file for a new heap: a program may have made it, as mkstemp does.
Result<File> take_empty_file(const std::string& path) {
  auto file = open_existing(path, O_RDWR);
  if (!file) {
    return file;
  }
  Status status = check_empty(*file);
  if (status.ok()) {
    status = lock(*file, F_WRLCK);
  }
  if (status.ok()) {
    status = check_empty(*file);  // another process may have made a heap of it, or removed it
  }
  if (status.ok()) {
    status = sync_directory(path);
  }
  return status.ok() ? std::move(file) : status;
}

/// The Status for a file that cannot be created. A missing directory is named: for a name that ends
/// with a slash the system reports a directory even if nothing is there.
Status creation_error(const std::string& path, int error) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  struct stat found{};
  if ((error == ENOENT || error == EISDIR) && !directory.empty()) {
    if (::stat(directory.c_str(), &found) != 0) {
      return {Code::not_found,
              path + " cannot be created: the directory " + directory +
                  " does not exist; make it first, or check the name",
              ENOENT};
    }
    if (!S_ISDIR(found.st_mode)) {
      error = ENOTDIR;
    }
  }
  return file_error(path, "cannot be created", error);
}

}  // namespace

Status check_path(const std::string& path) {
  const size_t zero = path.find('\0');
  if (zero == std::string::npos) {
    return {};
  }
  return {Code::invalid_argument, "the path '" + path.substr(0, zero) +
                                      "' goes on behind a zero byte, and no file has such a name"};
}

Status sync_directory(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) {
    directory = ".";
  }
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return file_error(directory, "cannot be opened to make the new name durable", errno);
  }
  // EINVAL means that the file system has nothing to synchronise.
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return error == 0 ? Status() : file_error(directory, "cannot be written to its medium", error);
}

File::File(int fd, std::string path) : fd_(fd), opener_(getpid()), path_(std::move(path)) {}

bool File::inherited() const {
  return getpid() != opener_;
}

void File::close() {
  if (fd_ < 0) {
    return;
  }
  if (!inherited()) {
    struct flock none = whole_file(F_UNLCK);  // forked children may have the file open for long
    fcntl(fd_, F_OFD_SETLK, &none);
  }
  ::close(std::exchange(fd_, -1));
}

Status file_error(const std::string& path, const std::string& what, int error) {
  const auto failure = [&](Code code, const std::string& message) {
    return Status(code, path + message, error);
  };
  switch (error) {
    case ENOENT:
      return failure(Code::not_found, " does not exist; create it first, or check the name");
    case EEXIST:
      return failure(Code::already_exists,
                     " exists already; open it, delete it, or choose another name");
    case EISDIR:
      return failure(Code::invalid_argument, " is a directory; name a file in it");
    case ENOTDIR:
      return failure(Code::not_found, ": a part of the path is not a directory; check the name");
    case EACCES:
    case EPERM:
      return failure(Code::permission_denied,
                     ": no permission; check the owner and mode of the file and of its directory");
    case EROFS:
      return failure(Code::permission_denied, " is on a read-only file system; open it read-only");
    case ENOSPC:
    case EDQUOT:
      return failure(Code::out_of_space, ": the disk or the quota is full; make room");
    case EFBIG:
      return failure(Code::out_of_space,
                     ": larger than the file system or the process's file size limit allows");
    default:
      return failure(Code::io_error,
                     ' ' + what + " (" + std::generic_category().message(error) + ')');
  }
}

Result<File> create_file(const std::string& path) {
  if (Status status = check_path(path); !status.ok()) {
    return status;
  }
  std::string name = path;  // as in open_existing()
  const int fd =
      above_standard_streams(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd < 0) {
    return errno == EEXIST ? take_empty_file(path) : creation_error(path, errno);
  }
  File file(fd, std::move(name));
  Status status = lock(file, F_WRLCK);
  if (status.code() == Code::busy) {
    return status;  // another process has taken the empty file
  }
  if (status.ok()) {
    status = sync_directory(path);
  }
  if (!status.ok()) {
    file.remove_name();
    return status;
  }
  return file;
}

Result<File> open_file(const std::string& path, Access access) {
  auto file = open_existing(path, access == Access::change ? O_RDWR : O_RDONLY);
  if (file && access != Access::look) {
    const short type = access == Access::change ? F_WRLCK : F_RDLCK;
    if (Status status = lock(*file, type); !status.ok()) {
      return status;
    }
  }
  return file;
}

Result<FileSize> File::size() const {
  struct stat info{};
  if (fstat(fd_, &info) != 0) {
    return file_error(path_, "cannot be examined", errno);
  }
  return FileSize{static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_blocks) * 512};
}

Result<size_t> File::read(void* to, size_t n) const {
  ssize_t got = 0;
  do {
    got = ::pread(fd_, to, n, 0);
  } while (got < 0 && errno == EINTR);
  return got < 0 ? Result<size_t>(file_error(path_, "cannot be read", errno))
                 : Result<size_t>(static_cast<size_t>(got));
}

Result<uint64_t> File::bytes_in_memory() const {
  std::error_code error;
  const std::string name =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd_), error).string();
  std::ifstream lines("/proc/self/smaps");
  if (error || !lines) {
    return Status(Code::unsupported, path_ +
                                         ": the system does not show how much of it is in memory "
                                         "(/proc/self/smaps)");
  }
  // "7f10b000-7f10c000 rw-s 00000000 fe:00 131081   /the/name", then lines such as "Rss:   4 kB".
  uint64_t kilobytes = 0;
  bool ours = false;
  for (std::string line; std::getline(lines, line);) {
    const bool begins_mapping = line.find_first_of("0123456789abcdef") == 0;
    if (begins_mapping) {
      ours = line.ends_with(' ' + name);
    } else if (ours && line.starts_with("Rss:")) {
      kilobytes += std::stoull(line.substr(4));
    }
  }
  return kilobytes * 1024;
}

void File::remove_name() const {
  struct stat ours{};
  struct stat named{};
  if (fstat(fd_, &ours) == 0 && lstat(path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
      ours.st_dev == named.st_dev) {
    ::unlink(path_.c_str());
  }
}

Result<bool> File::has_writer() const {
  struct flock range = whole_file(F_RDLCK);
  if (fcntl(fd_, F_OFD_GETLK, &range) != 0) {
    return file_error(path_, "cannot be examined for locks", errno);
  }
  return range.l_type != F_UNLCK;
}

}  // namespace holdfast::native
