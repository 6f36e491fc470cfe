// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/flush.h"

#include <linux/magic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace holdfast::native {
namespace {

constexpr uint32_t kXfs = 0x58465342;  // linux/magic.h has it in newer kernels only

/// Whether a write with RWF_DSYNC ends with a sync of its part. Each of these file systems calls
/// generic_write_sync() at the end of a write. Some others, such as FUSE, pass the flag on to a
/// program that may ignore it, but they do pass on fdatasync.
bool syncs_written_parts(int fd) {
  constexpr uint32_t kKnown[] = {EXT4_SUPER_MAGIC, kXfs, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                 TMPFS_MAGIC};
  struct statfs found{};
  return fstatfs(fd, &found) == 0 &&
         std::find(std::begin(kKnown), std::end(kKnown), static_cast<uint32_t>(found.f_type)) !=
             std::end(kKnown);
}

class DsyncFlush : public Flush {
 public:
  explicit DsyncFlush(int fd) : fd_(fd) {}

  int write_and_sync(uint64_t offset, std::span<const std::byte> from) override {
    while (!from.empty()) {
      // The system reads the bytes only.
      const iovec part = {const_cast<std::byte*>(from.data()), from.size()};
      const ssize_t done = ::pwritev2(fd_, &part, 1, static_cast<off_t>(offset), RWF_DSYNC);
      if (done > 0) {  // and these bytes are on the medium
        offset += static_cast<uint64_t>(done);
        from = from.subspan(static_cast<size_t>(done));
      } else if (done == 0) {
        return EIO;
      } else if (errno == EOPNOTSUPP || errno == ENOSYS) {
        return kRefused;
      } else if (errno != EINTR) {
        return errno;
      }
    }
    return 0;
  }

 private:
  const int fd_;
};

}  // namespace

std::unique_ptr<Flush> make_dsync_flush(int fd) {
  return syncs_written_parts(fd) ? std::make_unique<DsyncFlush>(fd) : nullptr;
}

std::unique_ptr<Flush> make_flush(int fd, FlushMethod method) {
  switch (method) {
    case FlushMethod::dsync:
      return make_dsync_flush(fd);
    case FlushMethod::io_uring:
      return make_io_uring_flush(fd);
    case FlushMethod::fdatasync:
      break;
  }
  return nullptr;
}

}  // namespace holdfast::native
