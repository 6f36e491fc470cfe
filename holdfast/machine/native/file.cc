// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace holdfast::native {
namespace {

Status not_regular(const std::string& path, mode_t mode) {
  return {Code::invalid_argument,
          path + (S_ISDIR(mode) ? " is a directory; name a file in it"
                                : " is not an ordinary file; a heap lives in one")};
}

/// "process 4711", if the kernel's list of locks names the holder.
std::string lock_holder(int fd) {
  struct stat file{};
  if (fstat(fd, &file) != 0) {
    return "another process";
  }
  char id[64];
  std::snprintf(id, sizeof(id), "%02x:%02x:%lu", major(file.st_dev), minor(file.st_dev),
                static_cast<unsigned long>(file.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131081 0 EOF"
    std::istringstream words(line);
    std::string number, kind, advice, access, process, where;
    words >> number >> kind >> advice >> access >> process >> where;
    if (kind == "FLOCK" && where == id) {
      return process == std::to_string(getpid()) ? "this process" : "process " + process;
    }
  }
  return "another process";
}

/// The lock belongs to the open file and goes with it: also when the process is killed, and not
/// when a forked child closes its copy.
Status lock(const File& file) {
  if (flock(file.fd(), LOCK_EX | LOCK_NB) == 0) {
    return {};
  }
  if (errno != EWOULDBLOCK) {
    return file_error(file.path(), "cannot be locked", errno);
  }
  return {Code::busy, file.path() + " is in use by " + lock_holder(file.fd()) +
                          "; close it there first (looking at it read-only works meanwhile)"};
}

Status check_regular(const File& file) {
  struct stat info{};
  if (fstat(file.fd(), &info) != 0) {
    return file_error(file.path(), "cannot be examined", errno);
  }
  return S_ISREG(info.st_mode) ? Status() : not_regular(file.path(), info.st_mode);
}

/// A new file's name survives a power cut only once its directory is on the medium.
Status sync_directory(const std::string& path) {
  std::string directory = std::filesystem::path(path).parent_path().string();
  if (directory.empty()) {
    directory = ".";
  }
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return file_error(directory, "cannot be opened to make the new name durable", errno);
  }
  // EINVAL: a file system that has nothing to synchronise.
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return error == 0 ? Status() : file_error(directory, "cannot be written to its medium", error);
}

Result<File> open_existing(const std::string& path, int flags) {
  // Not blocking: a name can lead to a pipe.
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return file_error(path, "cannot be opened", errno);
  }
  File file(fd, path);
  if (Status status = check_regular(file); !status.ok()) {
    return status;
  }
  return file;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Status file_error(const std::string& path, const std::string& what, int error) {
  switch (error) {
    case ENOENT:
      return {Code::not_found, path + " does not exist; create it first, or check the name"};
    case EEXIST:
      return {Code::already_exists,
              path + " exists already; open it, delete it, or choose another name"};
    case EISDIR:
      return {Code::invalid_argument, path + " is a directory; name a file in it"};
    case ENOTDIR:
      return {Code::not_found, path + ": a part of the path is not a directory; check the name"};
    case EACCES:
    case EPERM:
      return {Code::permission_denied, path +
                                           ": no permission; check the owner and mode of the "
                                           "file and of its directory"};
    case EROFS:
      return {Code::permission_denied, path + " is on a read-only file system; open it read-only"};
    case ENOSPC:
    case EDQUOT:
      return {Code::out_of_space, path + ": the disk or the quota is full; make room"};
    case EFBIG:
      return {Code::out_of_space, path +
                                      ": larger than the file system or the process's file size "
                                      "limit allows"};
    default:
      return {Code::io_error,
              path + ' ' + what + " (" + std::generic_category().message(error) + ')'};
  }
}

Result<File> create_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return file_error(path, "cannot be created", errno);
  }
  File file(fd, path);
  Status status = lock(file);
  if (status.ok()) {
    status = sync_directory(path);
  }
  if (!status.ok()) {
    ::unlink(path.c_str());
    return status;
  }
  return file;
}

Result<File> open_file(const std::string& path) {
  auto file = open_existing(path, O_RDWR);
  if (file) {
    if (Status status = lock(*file); !status.ok()) {
      return status;
    }
  }
  return file;
}

Result<File> open_file_read_only(const std::string& path) {
  return open_existing(path, O_RDONLY);
}

}  // namespace holdfast::native
