// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/file_content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "holdfast/machine/machine.h"

namespace holdfast::sim {
namespace {

constexpr size_t kMostPopulated = size_t{1} << 30;

Status failed(const std::string& path, const char* what, int error) {
  return {error == ENOENT ? Code::not_found : Code::io_error,
          path + ": " + what + " (" + std::generic_category().message(error) + ")"};
}

}  // namespace

Result<std::shared_ptr<const FileContent>> FileContent::open(int fd, const std::string& path,
                                                             size_t offset, size_t bytes) {
  if (bytes == 0 || offset % kPageBytes != 0 || bytes % kPageBytes != 0) {
    return Status(Code::invalid_argument, path + ": content is mapped by whole pages");
  }
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    return failed(path, "cannot be used", errno);
  }
  std::shared_ptr<FileContent> content(new FileContent(own, path, offset, bytes));
  struct stat status{};
  if (fstat(own, &status) != 0) {
    return failed(path, "cannot be examined", errno);
  }
  // A mapping may extend beyond the end of the file, but an access there would kill the program.
  if (status.st_size < 0 || static_cast<size_t>(status.st_size) < offset + bytes) {
    return Status(Code::corrupt, path + ": the file is shorter than its content");
  }
  void* const data =
      mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, own, static_cast<off_t>(offset));
  if (data == MAP_FAILED) {
    return failed(path, "cannot be mapped", errno);
  }
  content->data_ = static_cast<const std::byte*>(data);
  return std::shared_ptr<const FileContent>(std::move(content));
}

FileContent::~FileContent() {
  if (data_ != nullptr) {
    munmap(const_cast<std::byte*>(data_), bytes_);
  }
  close(fd_);
}

void FileContent::read(std::byte* to, const std::byte* from, size_t n) const {
  auto at = static_cast<off_t>(offset_ + static_cast<size_t>(from - data_));
  while (n > 0) {
    const ssize_t got = pread(fd_, to, n, at);
    if (got > 0) {
      to += got;
      at += got;
      n -= static_cast<size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      throw Error(failed(path_, "cannot be read", got == 0 ? EIO : errno));
    }
  }
}

Status FileContent::map_over(std::byte* to, const std::byte* from, size_t n) const {
  const size_t at = offset_ + static_cast<size_t>(from - data_);
  void* const got = mmap(to, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                         fd_, static_cast<off_t>(at));
  if (got != to) {
    return failed(path_, "cannot be mapped copy-on-write", errno);
  }
#ifdef MADV_POPULATE_READ
  // Takes the page faults now, in the set-up, and not during the measurement; a failure does no
  // harm. A run touches only a small part of larger content, and populating all of that would take
  // longer than the run.
  if (n <= kMostPopulated) {
    madvise(to, n, MADV_POPULATE_READ);
  }
#endif
  return {};
}

}  // namespace holdfast::sim
