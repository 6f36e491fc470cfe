// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/group.h"
#include "holdfast/machine/native/journal/journal_file.h"

namespace holdfast::native {

/// Where a journal lies in its file: two blocks for the heads, then the ring.
struct JournalPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;

  static constexpr uint64_t kHeadBytes = 2 * kJournalBlock;
  static constexpr uint64_t kLeastBytes = 16 * kJournalBlock;
  uint64_t ring_bytes() const { return bytes - kHeadBytes; }
};

/// Tells where the oldest group of the journal is. Little endian.
struct JournalHead {
  char magic[8];
  uint64_t checksum;  ///< XXH3 of the bytes behind it
  uint64_t sequence;  ///< the copy with the larger number is newer
  uint64_t salt;      ///< of the groups: random, drawn at each opening, so old groups do not count
  uint64_t tail;      ///< place of the oldest group, in bytes; modulo the ring's bytes
  uint64_t number;    ///< the oldest group's
  uint64_t position;  ///< before the oldest group: lines that the journal has had since creation
  uint64_t flags;     ///< kClosed, kChanges

  static constexpr uint64_t kClosed = 1;   ///< the heap was closed: the journal is empty
  static constexpr uint64_t kChanges = 2;  ///< groups may have changes of lines
};
static_assert(sizeof(JournalHead) == 64);

/// The ring of a journal, and its two heads. Each write goes to the older head, and the newer one
/// is durable by then, so one of them is whole after a crash.
///
/// Thread safety: one thread at a time.
class JournalRing {
 public:
  JournalRing(JournalFile& file, const JournalPlace& place) : file_(file), place_(place) {}

  /// Overwrites all of the journal with zeros, then makes an empty journal of it, durably. A first
  /// write to reserved blocks would change the file system's metadata at each sync. `changes`: of
  /// lines may be in its groups. Versions that do not know them refuse such a journal.
  Status format(uint64_t salt, bool changes = true);

  /// Reads the newest whole head. corrupt: there is none.
  Status read_head();
  const JournalHead& head() const { return head_; }
  bool has_changes() const { return (head_.flags & JournalHead::kChanges) != 0; }
  /// Writes a newer head, durably; kChanges stays as it is. Everything written to the file before
  /// must be durable.
  Status write_head(const JournalHead& head);

  /// Read and write at a place of the ring, which wraps around.
  Status read(uint64_t at, std::span<std::byte> to) const;
  Status write(uint64_t at, std::span<const std::byte> from);

  uint64_t bytes() const { return place_.ring_bytes(); }
  const JournalPlace& place() const { return place_; }
  JournalFile& file() const { return file_; }

 private:
  JournalFile& file_;
  const JournalPlace place_;
  JournalHead head_{};
};

}  // namespace holdfast::native
