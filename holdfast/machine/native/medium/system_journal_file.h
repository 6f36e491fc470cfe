// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/journal_file.h"
#include "holdfast/machine/native/medium/file.h"
#include "holdfast/machine/native/medium/flush.h"
#include "holdfast/machine/native/medium/medium_sync.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// The file of a journal as the system has it. A failed sync, or flush, poisons the medium.
class SystemJournalFile : public JournalFile {
 public:
  /// `flush`: the way of write_and_sync(). Where the system does not have it, or `sync` does not
  /// call fdatasync, it is write() and sync().
  SystemJournalFile(int fd, std::string path, MediumSync& sync,
                    FlushMethod flush = FlushMethod::fdatasync);

  Status read(uint64_t offset, std::span<std::byte> to) override;
  Status write(uint64_t offset, std::span<const std::byte> from) override;
  Status write_out(uint64_t offset, uint64_t bytes) override;
  Result<uint64_t> bytes() override;
  int fd() const { return fd_; }
  Status sync() override;
  Status write_and_sync(uint64_t offset, std::span<const std::byte> from) override;

  /// Returns the way that is in use. Any thread.
  FlushMethod flush_method() const { return method_.load(std::memory_order_relaxed); }

 private:
  /// A part of the file in which a checkpoint has written pages, in ascending order.
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t written = 0;
  };
  void hint(const Piece& piece, unsigned flags) const;

  const int fd_;
  const std::string path_;
  MediumSync& sync_;
  std::unique_ptr<Flush> flush_;     // in sync_.run(); null: write() and sync()
  std::atomic<FlushMethod> method_;  // relaxed: it orders nothing
  const File hinted_;                // for hint(): another opening of the file
  Piece piece_;                      // is being written
  Piece on_its_way_;                 // from the cache to the medium
};

}  // namespace holdfast::native
