// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/page_checksums.h"
#include "holdfast/machine/native/journal/ring.h"

namespace holdfast::native {

/// The groups of a journal from its tail on, up to the first that is torn or stale.
struct JournalTail {
  std::vector<std::byte> bytes;  ///< the whole groups, each padded to blocks
  uint64_t last = 0;             ///< place in `bytes` of the last group
  uint64_t groups = 0;
  uint64_t lines = 0;
  uint64_t end = 0;       ///< place in the ring behind the last group
  uint64_t number = 0;    ///< of the next group
  uint64_t position = 0;  ///< behind the last group
};

/// Reads the groups behind the ring's head, up to the place `end`, behind which another thread may
/// be writing.
Result<JournalTail> read_tail(const JournalRing& ring, uint64_t end = ~uint64_t{0});

/// Looks for a later group that proves that the group behind `tail` was durable once: then it is
/// damaged, not torn, and acknowledged updates are missing. corrupt if so. Reads the whole ring.
Status check_not_damaged(const JournalRing& ring, const JournalTail& tail);

/// Words that belong into the line at `offset` in the file.
struct JournalLine {
  uint64_t offset;
  WordMask mask;
  const std::byte* words;  ///< in JournalTail::bytes
};
/// Returns what makes the newest content of each line, by offset. A line may have several entries:
/// one that begins it, and later changes, in their order. Code::corrupt for a line inside the
/// journal.
Result<std::vector<JournalLine>> newest_lines(const JournalTail& tail, const JournalPlace& place);

/// The content of a journal at its opening.
struct RecoveredLines {
  JournalTail tail;
  std::vector<JournalLine> lines;  ///< newest_lines()
};

/// The table of page checksums for write_home(), and its results.
struct HomeWrites {
  PageChecksums* checksums = nullptr;
  /// A crash may have torn the pages. Else each one agrees with its entry, unless it is damaged.
  bool torn = false;
  uint64_t bytes = 0;    ///< written home
  uint64_t damaged = 0;  ///< pages found to be damaged
};

/// Writes the lines home, page by page, then the entries of these pages. Not durable before the
/// file's next sync(). A damaged page gets entry kDamagedPage, unless the lines replace all of it:
/// a checksum of its new content would call the damage right.
Status write_home(JournalFile& file, std::span<const JournalLine> lines, HomeWrites& writes);

}  // namespace holdfast::native
