// SPDX-License-Identifier: Apache-2.0
//
// Flushes through io_uring.
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "holdfast/machine/native/medium/flush.h"
#include "holdfast/machine/native/threads/fork_guard.h"

namespace holdfast::native {
namespace {

/// Whether a request with this result has not been done and says nothing about the medium.
bool is_not_done(int result) {
  return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

/// Requests are submitted and their results collected in one call, so none is under way between two
/// calls. The kernel and the library order their accesses to the shared queues by themselves.
///
/// A forked child does not have the queues, which it shares with its parent otherwise: their pages
/// are not inherited.
class IoUringFlush : public Flush {
 public:
  explicit IoUringFlush(int fd) : fd_(fd) {}

  /// False if the kernel refuses: it has no io_uring or no such requests, a filter of system calls
  /// or a setting forbids it, or the process may lock no more memory.
  bool set_up() {
    if (io_uring_queue_init(kEntries, &ring_, 0) != 0) {
      return false;
    }
    open_ = true;
    const std::unique_ptr<io_uring_probe, decltype(&io_uring_free_probe)> probe(
        io_uring_get_probe_ring(&ring_), &io_uring_free_probe);
    return probe != nullptr && io_uring_opcode_supported(probe.get(), IORING_OP_WRITE) != 0 &&
           io_uring_opcode_supported(probe.get(), IORING_OP_FSYNC) != 0 &&
           io_uring_ring_dontfork(&ring_) == 0;
  }

  ~IoUringFlush() override {
    if (open_ && fork_guard_.forked_child()) {
      ::close(ring_.ring_fd);
    } else if (open_) {
      io_uring_queue_exit(&ring_);
    }
  }
  IoUringFlush(const IoUringFlush&) = delete;
  IoUringFlush& operator=(const IoUringFlush&) = delete;

  int write_and_sync(uint64_t offset, std::span<const std::byte> from) override {
    if (fork_guard_.forked_child()) {
      return kRefused;
    }
    while (!from.empty()) {
      const auto bytes = static_cast<unsigned>(std::min(from.size(), kMostBytes));
      Results results;
      if (!run(offset, from.first(bytes), results)) {
        return kRefused;
      }
      const auto [written, synced] = results;
      if (is_not_done(written)) {
        return kRefused;
      }
      if (written <= 0) {
        return written < 0 ? -written : EIO;
      }
      // A short write cancels the sync. The next sync is for the whole file.
      if (static_cast<unsigned>(written) == bytes && synced != 0) {
        return is_not_done(synced) ? kRefused : -synced;
      }
      offset += static_cast<unsigned>(written);
      from = from.subspan(static_cast<unsigned>(written));
    }
    return 0;
  }

 private:
  static constexpr unsigned kEntries = 2;
  static constexpr size_t kMostBytes = size_t{1} << 30;
  struct Results {
    int written = -EIO;
    int synced = -EIO;
  };

  /// Returns when both requests have ended. False if they were not both submitted.
  bool run(uint64_t offset, std::span<const std::byte> from, Results& results) {
    io_uring_sqe* const write = io_uring_get_sqe(&ring_);
    io_uring_sqe* const sync = io_uring_get_sqe(&ring_);
    if (write == nullptr || sync == nullptr) {
      return false;
    }
    io_uring_prep_write(write, fd_, from.data(), static_cast<unsigned>(from.size()), offset);
    io_uring_sqe_set_flags(write, IOSQE_IO_LINK);
    io_uring_sqe_set_data(write, &results.written);
    io_uring_prep_fsync(sync, fd_, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sync, &results.synced);
    int submitted = 0;
    do {
      submitted = io_uring_submit_and_wait(&ring_, 2);
    } while (submitted == -EINTR);  // before it has submitted any
    for (int i = 0; i < submitted; ++i) {
      io_uring_cqe* done = nullptr;
      int error = 0;
      do {
        error = io_uring_wait_cqe(&ring_, &done);
      } while (error == -EINTR);
      if (error != 0) {
        return true;  // the results are failures, and end the journal
      }
      *static_cast<int*>(io_uring_cqe_get_data(done)) = done->res;
      io_uring_cqe_seen(&ring_, done);
    }
    return submitted == 2;
  }

  const int fd_;
  const ForkGuard fork_guard_;
  io_uring ring_{};
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Flush> make_io_uring_flush(int fd) {
  auto flush = std::make_unique<IoUringFlush>(fd);
  return flush->set_up() ? std::move(flush) : nullptr;
}

}  // namespace holdfast::native
