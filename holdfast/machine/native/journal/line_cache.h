// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// The words of a line that changed, or that a record has: bit i is word i.
using WordMask = uint8_t;
inline constexpr WordMask kAllWords = 0xff;
static_assert(kLineBytes == 8 * sizeof(uint64_t));

/// The content that lines had in the last groups. Each line has one place, where the next line with
/// the same place takes over. So a line may be missing at any time.
///
/// Thread safety: one thread at a time. Memory that no line has used yet is not touched.
class LineCache {
 public:
  /// `lines`: the most that it holds, about.
  explicit LineCache(size_t lines)
      : mask_(std::bit_floor(lines) - 1),
        entries_(static_cast<Entry*>(std::calloc(mask_ + 1, sizeof(Entry)))) {
    if (entries_ == nullptr) {
      throw std::bad_alloc();
    }
  }

  /// Begins to load the line's place, for an exchange() that comes soon.
  void prefetch(uint64_t offset) const {
    const Entry* const entry = &entries_.get()[mix64(offset) & mask_];
    __builtin_prefetch(entry, 1);
    __builtin_prefetch(entry->content + kLineBytes - 1, 1);
  }

  /// Remembers the line's new content. Returns the words in which it differs from the content that
  /// the cache had; all words if it had none.
  WordMask exchange(uint64_t offset, const std::byte* content) {
    Entry& entry = entries_.get()[mix64(offset) & mask_];
    WordMask changed = kAllWords;
    if (entry.tag == (offset | kTaken)) {
      changed = 0;
      for (unsigned i = 0; i < 8; ++i) {
        const size_t at = i * sizeof(uint64_t);
        const bool same = std::memcmp(entry.content + at, content + at, sizeof(uint64_t)) == 0;
        changed = static_cast<WordMask>(changed | (same ? 0U : 1U << i));
      }
    }
    entry.tag = offset | kTaken;
    std::memcpy(entry.content, content, kLineBytes);
    return changed;
  }

 private:
  static constexpr uint64_t kTaken = 1;  // offsets are multiples of the line
  struct Entry {
    uint64_t tag;  // 0: empty
    std::byte content[kLineBytes];
  };
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  const size_t mask_;
  const std::unique_ptr<Entry, Free> entries_;
};

}  // namespace holdfast::native
