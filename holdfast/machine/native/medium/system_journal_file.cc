// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/system_journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast::native {
namespace {

/// Calls transfer(bytes so far) until n bytes are done. It returns as read() and write() do.
template <class F>
Status transfer_all(const std::string& path, const char* failure, size_t n, F&& transfer) {
  for (size_t done = 0; done < n;) {
    const ssize_t got = transfer(done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return file_error(path, failure, got < 0 ? errno : EIO);
    }
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

SystemJournalFile::SystemJournalFile(int fd, std::string path, MediumSync& sync, FlushMethod flush)
    : fd_(fd),
      path_(std::move(path)),
      sync_(sync),
      flush_(sync.calls_fdatasync() ? make_flush(fd, flush) : nullptr),
      method_(flush_ != nullptr ? flush : FlushMethod::fdatasync),
      hinted_(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC),
              path_) {}

Status SystemJournalFile::read(uint64_t offset, std::span<std::byte> to) {
  return transfer_all(path_, "cannot be read", to.size(), [&](size_t done) {
    return ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
  });
}

Status SystemJournalFile::write(uint64_t offset, std::span<const std::byte> from) {
  return transfer_all(path_, "cannot be written", from.size(), [&](size_t done) {
    return ::pwrite(fd_, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
  });
}

/// Linux reports a failed write-back once to each opening of a file. So hints have an opening of
/// their own, and leave the failure for the sync that relies on the write. Without /proc there is
/// none, and no hint.
void SystemJournalFile::hint(const Piece& piece, unsigned flags) const {
#ifdef SYNC_FILE_RANGE_WRITE
  if (hinted_.fd() >= 0) {
    const auto begin = static_cast<off_t>(piece.begin);
    const auto bytes = static_cast<off_t>(piece.end - piece.begin);
    static_cast<void>(::sync_file_range(hinted_.fd(), begin, bytes, flags));
  }
#endif
}

/// Otherwise the sync that ends a checkpoint would have hundreds of MiB to write, and the groups of
/// all writers would wait for it.
Status SystemJournalFile::write_out(uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
  if (piece_.written == 0 || offset < piece_.end) {
    piece_ = {offset, offset, 0};
  }
  piece_.end = offset + bytes;
  piece_.written += bytes;
  if (piece_.written < kPieceBytes) {
    return {};
  }
  hint(piece_, SYNC_FILE_RANGE_WRITE);
  if (on_its_way_.written != 0) {
    hint(on_its_way_,
         SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
  on_its_way_ = std::exchange(piece_, {});
  return {};
}

Result<uint64_t> SystemJournalFile::bytes() {
  struct stat found{};
  return fstat(fd_, &found) == 0 ? Result<uint64_t>(static_cast<uint64_t>(found.st_size))
                                 : Result<uint64_t>(file_error(path_, "cannot be examined", errno));
}

Status SystemJournalFile::sync() {
  try {
    sync_.wait_durable();
    return {};
  } catch (const MediumFailure& failure) {
    return failure.status();
  }
}

Status SystemJournalFile::write_and_sync(uint64_t offset, std::span<const std::byte> from) {
  const auto flush = [&] {
    const int result = flush_ != nullptr ? flush_->write_and_sync(offset, from) : Flush::kRefused;
    if (result == Flush::kRefused) {
      flush_ = nullptr;
      method_.store(FlushMethod::fdatasync, std::memory_order_relaxed);
    }
    return result;
  };
  if (flush_method() != FlushMethod::fdatasync) {
    try {
      if (sync_.run(flush) != Flush::kRefused) {
        return {};
      }
    } catch (const MediumFailure& failure) {
      return failure.status();
    }
  }
  return JournalFile::write_and_sync(offset, from);
}

}  // namespace holdfast::native
