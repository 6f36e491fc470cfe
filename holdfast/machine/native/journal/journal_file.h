// SPDX-License-Identifier: Apache-2.0
//
// native/journal/: the journal of a heap on an ordinary disk. The design is in
// docs/inside/journal.md, the bytes in docs/reference/file-format.md. This header: the file under a
// journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "holdfast/base/status.h"

namespace holdfast::native {

/// The file that a journal and the pages behind it lie in. Offsets are bytes from its beginning.
///
/// Thread safety: as far as the journal's threads need it. A checkpoint reads groups and writes
/// pages while another thread writes a group. Errors: io_error, or what the system says. A caller
/// gives up after the first error, because the content of the medium is unknown then.
class JournalFile {
 public:
  virtual ~JournalFile() = default;

  /// Reads all of `to`; an error if the file is shorter. Finds what write() has written, synced or
  /// not.
  virtual Status read(uint64_t offset, std::span<std::byte> to) = 0;
  /// Overwrites a range inside the file. Any of its sectors may be on the medium at once, or only
  /// after sync().
  virtual Status write(uint64_t offset, std::span<const std::byte> from) = 0;
  /// Begins to bring a written range to the medium, and returns when older such ranges have left
  /// the cache. A hint that keeps the next sync() short.
  virtual Status write_out(uint64_t /*offset*/, uint64_t /*bytes*/) { return {}; }
  /// Returns the length of the file, which bounds the growth of a journal; 0: it does not grow.
  virtual Result<uint64_t> bytes() { return uint64_t{0}; }
  /// Returns when everything written before is on the medium.
  virtual Status sync() = 0;
  /// Overwrites a range inside the file, and returns when this range is on the medium. Others may
  /// not be.
  virtual Status write_and_sync(uint64_t offset, std::span<const std::byte> from) {
    Status status = write(offset, from);
    return status.ok() ? sync() : status;
  }
};

}  // namespace holdfast::native
