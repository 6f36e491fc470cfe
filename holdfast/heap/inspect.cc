// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/inspect.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holdfast {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status system_error(const std::string& path, int error) {
  const Code code = error == ENOENT   ? Code::not_found
                    : error == EACCES ? Code::permission_denied
                                      : Code::io_error;
  return {code, path + ": " + std::generic_category().message(error)};
}

}  // namespace

Result<HeapFileInfo> inspect_heap_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return system_error(path, errno);
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return system_error(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Status(Code::wrong_format, path + ": not a regular file");
  }
  SuperblockBytes copies[kSuperblocks];
  const ssize_t got = ::pread(file.get(), copies, kHeaderBytes, 0);
  if (got < 0) {
    return system_error(path, errno);
  }
  if (static_cast<size_t>(got) < kHeaderBytes) {
    return Status(Code::wrong_format, path + ": too short to be a Holdfast heap (" +
                                          std::to_string(status.st_size) + " bytes)");
  }
  HeapFileInfo info;
  auto superblock = choose(copies[0], copies[1], path, &info.healed);
  if (!superblock) {
    return superblock.status();
  }
  info.superblock = *superblock;
  info.file_bytes = static_cast<uint64_t>(status.st_size);
  info.disk_bytes = static_cast<uint64_t>(status.st_blocks) * 512;
  if (Status valid = validate(info.superblock, info.file_bytes, path); !valid.ok()) {
    return valid;
  }
  // The owner holds an exclusive lock; a shared one that cannot be had at once means it is in use.
  info.in_use = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return info;
}

int recorded_threads(const std::string& path, int fallback) {
  const auto info = inspect_heap_file(path);
  return info ? static_cast<int>(info.value().superblock.slots) - 1
              : fallback;  // one slot is the machine's own
}

void remove_file(const std::string& path) {
  ::unlink(path.c_str());
}

}  // namespace holdfast
