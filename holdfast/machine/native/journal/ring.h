// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/group.h"
#include "holdfast/machine/native/journal/journal_file.h"

namespace holdfast::native {

/// Where a journal lies in its file: two blocks for the heads, then the ring. The ring may end
/// before the place does, and grow later. Until then the rest of the place may be a hole.
struct JournalPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;

  static constexpr uint64_t kHeadBytes = 2 * kJournalBlock;
  static constexpr uint64_t kLeastBytes = 16 * kJournalBlock;
  uint64_t ring_bytes() const { return bytes - kHeadBytes; }
};

/// The place that a new journal takes at first, if it may grow.
inline constexpr uint64_t kFirstJournalBytes = uint64_t{128} << 10;

/// Tells where the oldest group of the journal is. Little endian.
struct JournalHead {
  char magic[8];
  uint64_t checksum;  ///< XXH3 of the bytes behind it
  uint64_t sequence;  ///< the copy with the larger number is newer
  uint64_t salt;      ///< of the groups: random, drawn at each opening, so old groups do not count
  uint64_t tail;      ///< place of the oldest group, in bytes; modulo the ring's bytes
  uint64_t number;    ///< the oldest group's
  uint64_t position;  ///< before the oldest group: lines that the journal has had since creation
  uint32_t flags;     ///< kClosed, kChanges, kStaleTable
  uint32_t ring_blocks;  ///< length of the ring; 0: up to the end of the journal's place

  static constexpr uint32_t kClosed = 1;   ///< the heap was closed: the journal is empty
  static constexpr uint32_t kChanges = 2;  ///< groups may have changes of lines
  /// Pages have changed without the journal, so their checksums may be old.
  static constexpr uint32_t kStaleTable = 4;
};
static_assert(sizeof(JournalHead) == 64);

/// The ring of a journal, and its two heads. Each write goes to the older head, and the newer one
/// is durable by then, so one of them is whole after a crash.
///
/// Thread safety: one thread at a time.
class JournalRing {
 public:
  JournalRing(JournalFile& file, const JournalPlace& place)
      : file_(file), place_(place), bytes_(place.ring_bytes()) {}

  /// Overwrites the first `bytes` of the place with zeros, then makes an empty journal of them,
  /// durably. A first write to reserved blocks would change the file system's metadata at each
  /// sync. `changes`: of lines may be in its groups.
  Status format(uint64_t salt, uint64_t bytes, bool changes = true);

  /// Reads the newest whole head. corrupt: there is none.
  Status read_head();
  const JournalHead& head() const { return head_; }
  bool has_changes() const { return (head_.flags & JournalHead::kChanges) != 0; }
  /// Writes a newer head, durably; kChanges and kStaleTable stay as they are. Everything written to
  /// the file before must be durable.
  Status write_head(const JournalHead& head) { return write_head(head, bytes_); }
  /// Writes the newest head again, in its place. The caller syncs.
  Status rewrite_head();
  /// Writes a newer head with or without kStaleTable, durably.
  Status write_stale(bool stale);

  /// Growing has three steps. Before the first write behind the present end:
  /// 1. Returns the next length of the ring, at most twice the present one; the present one if the
  ///    place or the file has no more.
  Result<uint64_t> next_bytes() const;
  /// 2. Overwrites the place up to that length with zeros. The caller syncs.
  Status prepare(uint64_t bytes);
  /// 3. Records the length, durably. The groups behind the tail must not wrap around. The tail then
  ///    has a smaller number for the same place, by first_lap(). use() follows.
  Status write_longer_head(uint64_t bytes);
  uint64_t first_lap() const { return head_.tail / bytes_ * bytes_; }
  /// Begins to use the recorded length. No other thread uses the ring meanwhile.
  void use(uint64_t bytes) { bytes_ = bytes; }

  /// Read and write at a place of the ring, which wraps around.
  Status read(uint64_t at, std::span<std::byte> to) const;
  Status write(uint64_t at, std::span<const std::byte> from);
  /// As write(); returns when the range is on the medium.
  Status write_and_sync(uint64_t at, std::span<const std::byte> from);

  uint64_t bytes() const { return bytes_; }
  const JournalPlace& place() const { return place_; }
  JournalFile& file() const { return file_; }

 private:
  Status write_head(const JournalHead& head, uint64_t ring_bytes);
  uint64_t place_of(const JournalHead& head) const {
    return place_.offset + head.sequence % 2 * kJournalBlock;
  }
  Status write_zeros(uint64_t begin, uint64_t end);
  bool fits(const JournalHead& head) const;

  JournalFile& file_;
  const JournalPlace place_;
  uint64_t bytes_;  ///< of the ring
  JournalHead head_{};
};

}  // namespace holdfast::native
