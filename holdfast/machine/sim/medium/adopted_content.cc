// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/adopted_content.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace holdfast::sim {

AdoptedContent::AdoptedContent(size_t limit, size_t line_bytes)
    : line_bytes_(line_bytes), lines_(limit + line_bytes) {}

void AdoptedContent::add(size_t offset, const FileContent& file, const std::byte* content) {
  pieces_[offset] = {&file, content};
}

void AdoptedContent::read_original(size_t offset, size_t n, std::byte* to) const {
  const auto& [begin, piece] = *std::prev(pieces_.upper_bound(offset));
  piece.file->read(to, piece.content + (offset - begin), n);
}

void AdoptedContent::store(const MaskedWord& word) {
  const size_t line = word.address / line_bytes_;
  const auto [entry, fresh] = places_.try_emplace(line, places_.size() * line_bytes_);
  if (fresh) {
    read_original(line * line_bytes_, line_bytes_, &lines_[entry->second]);
  }
  const size_t at = entry->second + word.address % line_bytes_;
  write_word({reinterpret_cast<uintptr_t>(&lines_[at]), word.value, word.mask});
}

void AdoptedContent::copy(size_t offset, size_t n, std::byte* to) const {
  read_original(offset, n, to);
  for (size_t done = 0; done < n;) {
    const size_t at = offset + done;
    const size_t within = at % line_bytes_;
    const size_t piece = std::min(n - done, line_bytes_ - within);
    if (const auto changed = places_.find(at / line_bytes_); changed != places_.end()) {
      std::memcpy(to + done, &lines_[changed->second + within], piece);
    }
    done += piece;
  }
}

}  // namespace holdfast::sim
