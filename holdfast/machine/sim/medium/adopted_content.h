// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>

#include "holdfast/machine/sim/medium/file_content.h"
#include "holdfast/machine/sim/support/masked_word.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// The certain bytes of the parts of a medium that were adopted from files. The bytes stay in the
/// file; this object holds only the lines that have changed since. So a run that changes one line
/// in each of a million pages takes memory for lines, not for pages.
class AdoptedContent {
 public:
  /// For a medium of at most `limit` bytes.
  AdoptedContent(size_t limit, size_t line_bytes);

  /// From `offset` (the beginning of a page) to the next added range, the medium holds the bytes of
  /// `file` from `content` on. `file` outlives this object.
  void add(size_t offset, const FileContent& file, const std::byte* content);

  /// Changes bytes. word.address is an offset in an added range.
  void store(const MaskedWord& word);
  /// Copies the present bytes to `to`. [offset, offset + n) lies in one added page.
  void copy(size_t offset, size_t n, std::byte* to) const;

 private:
  struct Piece {
    const FileContent* file;
    const std::byte* content;
  };

  void read_original(size_t offset, size_t n, std::byte* to) const;

  size_t line_bytes_;
  std::map<size_t, Piece> pieces_;  ///< by offset
  /// By line that has changed: its place in lines_. Not a flat table, because the lines are far
  /// apart, so that almost every line would take a page of the table.
  std::unordered_map<size_t, size_t> places_;
  ZeroedArray<std::byte> lines_;
};

}  // namespace holdfast::sim
