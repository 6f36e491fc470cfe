// SPDX-License-Identifier: Apache-2.0
//
// The table of page checksums: its entries, and their places in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/journal_file.h"

namespace holdfast::native {

/// Whole pages of a file.
struct PageRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Entries of the table with a meaning of their own. The others are the low 63 bits of an XXH3.
///
/// Blocks that a growing file gets are zeros, so new pages and their new entries agree.
inline constexpr uint64_t kZeroPage = 0;
/// Set beside a checksum: the page may be zeros instead, because it becomes a hole.
inline constexpr uint64_t kMayBeZeros = uint64_t{1} << 63;
/// A checkpoint has found that the page differs from its checksum. No page agrees with it.
inline constexpr uint64_t kDamagedPage = ~uint64_t{0};

/// Returns the entry of a page with this content.
uint64_t page_entry(const std::byte* page);
/// Returns whether a page with this content agrees with its entry.
bool agrees(uint64_t entry, const std::byte* page);

/// Returns the error about a page that disagrees.
Status damaged_page(uint64_t page);

/// The entry of the page at this offset.
struct PageEntry {
  uint64_t page;
  uint64_t entry;
};

/// The table in its file. Entry i, of 8 bytes, belongs to page i of the file, where the pages of
/// the journal do not count.
///
/// Thread safety: any thread. Errors: those of the file. Nothing is durable before the file's next
/// sync().
class PageChecksums {
 public:
  /// `file` must outlive the object.
  explicit PageChecksums(JournalFile& file) : file_(file) {}

  /// From here on the table consists of these pieces, in this order. The file may get longer, but
  /// entries keep their places.
  void use(const PageRange& journal, std::vector<PageRange> pieces);

  const PageRange& journal() const { return journal_; }

  /// Reads the entries of neighbouring pages, the first one at offset `page`. A page without an
  /// entry, such as one of the journal, gets an error.
  Status load(uint64_t page, std::span<uint64_t> to) const;
  /// Overwrites the entries of these pages, which are in ascending order.
  Status store(std::span<const PageEntry> from);

  /// Compares these pages with their entries. Calls differs(page) for each page that disagrees, and
  /// returns the first error of it. A page may become a hole meanwhile; a page that a checkpoint
  /// writes may disagree.
  Status compare(const PageRange& pages, FunctionRef<Status(uint64_t page)> differs) const;

  /// Sets kMayBeZeros for these pages. Returns whether that has changed the table.
  Result<bool> allow_zeros(const PageRange& pages);

  /// Makes all entries up to the end of a file of this length anew, from the pages of the file,
  /// which do not change meanwhile. Reads the whole file.
  Status renew(uint64_t file_bytes);

 private:
  Result<uint64_t> index_of(uint64_t page, uint64_t pages) const;
  uint64_t place_of(uint64_t index) const;
  template <class F>
  Status change(uint64_t index, F&& f);

  JournalFile& file_;
  mutable std::mutex mutex_;  // guards the members below, and a change of a page of the table
  PageRange journal_;
  std::vector<PageRange> pieces_;
  uint64_t entries_ = 0;
};

}  // namespace holdfast::native
