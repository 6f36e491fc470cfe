// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>

#include "holdfast/machine/sim/medium/file_content.h"
#include "holdfast/machine/sim/support/masked_word.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// The certain bytes of those parts of a medium that were taken over from elsewhere: bytes that
/// stay where they are, and over them the lines that have changed since. A run that changes one
/// line in each of a million pages then costs lines, not pages.
class AdoptedContent {
 public:
  /// For a medium of at most `limit` bytes.
  AdoptedContent(size_t limit, size_t line_bytes);

  /// From `offset`, a page, up to the next range, the medium holds the bytes of `file` from
  /// `content` on. `file` outlives this object.
  void add(size_t offset, const FileContent& file, const std::byte* content);

  /// word.address is an offset within an added range.
  void store(const MaskedWord& word);
  /// [offset, offset + n) lies within one added page.
  void copy(size_t offset, size_t n, std::byte* to) const;

 private:
  struct Piece {
    const FileContent* file;
    const std::byte* content;
  };

  void read_original(size_t offset, size_t n, std::byte* to) const;

  size_t line_bytes_;
  std::map<size_t, Piece> pieces_;  ///< by offset
  /// Place in lines_ of a line that has changed. A flat table would cost a page of its own for
  /// almost every line, as far apart as they are.
  std::unordered_map<size_t, size_t> places_;
  ZeroedArray<std::byte> lines_;
};

}  // namespace holdfast::sim
