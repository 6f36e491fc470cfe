// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// Writes a part of a file and waits until the medium has it, with one system call. Other parts of
/// the file may stay behind.
///
/// Thread safety: one thread at a time.
class Flush {
 public:
  /// The result of write_and_sync() that asks the caller to write the part in another way, and to
  /// use this object no more. No request is under way. Some of the bytes may be written.
  static constexpr int kRefused = -1;

  virtual ~Flush() = default;
  /// Returns 0, kRefused, or the errno of a write or sync that has failed.
  virtual int write_and_sync(uint64_t offset, std::span<const std::byte> from) = 0;
};

/// Returns null if the kernel or the file system cannot flush this file so, and for `fdatasync`.
/// The file stays open as long as the object.
std::unique_ptr<Flush> make_flush(int fd, FlushMethod method);

/// `dsync`: pwritev2() with RWF_DSYNC. Its write and its sync run in the calling thread.
std::unique_ptr<Flush> make_dsync_flush(int fd);
/// `io_uring`: a write, and a sync that is linked to it. Null without liburing, too.
std::unique_ptr<Flush> make_io_uring_flush(int fd);

}  // namespace holdfast::native
