// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "holdfast/machine/native/journal/journal.h"
#include "tests/unit/machine/native/faulty_file.h"

namespace holdfast::native {

inline constexpr uint64_t kHomeBytes = 4 * kPageBytes;
inline constexpr uint64_t kHomeLines = kHomeBytes / kLineBytes;
inline constexpr JournalPlace kSmallJournal = {kHomeBytes, JournalPlace::kLeastBytes};

/// A journal that begins with the size of the one above, and grows to the double size in a file
/// that is long enough.
inline constexpr JournalPlace kGrowingJournal = {kHomeBytes, 2 * kSmallJournal.bytes};
inline constexpr uint64_t kLongFile = 2 * kGrowingJournal.bytes;

/// Returns a file with zeros at home and an empty journal behind it.
inline std::vector<std::byte> new_content(const JournalPlace& place = kSmallJournal,
                                          bool changes = true) {
  FaultyFile file(std::vector<std::byte>(kHomeBytes + place.bytes));
  Journal::format(file, place, 1, kSmallJournal.bytes, changes).check();
  return file.issued();
}

/// Home in a file's content.
inline std::vector<std::byte> home_of(const std::vector<std::byte>& content) {
  return {content.begin(), content.begin() + kHomeBytes};
}

/// Home in the memory of a process that has just opened the journal: the file's, with the lines
/// that opening has found.
inline std::vector<std::byte> opened_home(const FaultyFile& file, Journal& journal) {
  std::vector<std::byte> home = home_of(file.issued());
  const auto recovered = journal.take_recovered();
  for (const auto& [offset, mask, words] : recovered->lines) {
    put_words(home.data() + offset, mask, words);
  }
  return home;
}

/// A program over a journal: it stores to lines in memory and fences them. It knows the content of
/// home at each position.
class JournalProgram {
 public:
  JournalProgram(FaultyFile& file, uint64_t salt, const JournalPlace& place = kSmallJournal,
                 PageChecksums* checksums = nullptr)
      : file_(file), journal_(Journal::open(file, place, salt, &copy_line, checksums).value()) {
    start_ = journal_->position();
    memory_ = opened_home(file, *journal_);
    first_ = memory_;
    acknowledged_ = start_;
  }

  /// Returns how many words of a line a store of this value changes.
  static uint64_t words_of(uint64_t value) { return mix64(value) % 8 + 1; }

  Journal& journal() { return *journal_; }
  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t start() const { return start_; }
  const std::vector<std::byte>& memory() const { return memory_; }

  /// Stores the value to some words of some lines, and fences these.
  void fence(std::span<const uint64_t> lines, uint64_t value) {
    std::vector<LineRun> runs;
    for (const uint64_t line : lines) {
      std::byte* const at = memory_.data() + line * kLineBytes;
      store(at, value);
      runs.push_back({line * kLineBytes, at, 1});
      appended_.push_back({line, value});
    }
    journal_->append(runs);
  }

  void sync() {
    const uint64_t end = journal_->position();
    journal_->await(end);
    acknowledged_ = end;
  }

  /// One random step: usually a fence of some lines, sometimes a sync, seldom a checkpoint.
  void step(Random& random, uint64_t value) {
    std::vector<uint64_t> lines(random.below(6));
    for (uint64_t& line : lines) {
      line = random.below(kHomeLines);
    }
    fence(lines, value);
    if (random.below(3) == 0) {
      sync();
    }
    if (random.below(20) == 0) {
      journal_->checkpoint();
      acknowledged_ = journal_->position();
    }
  }

  /// Returns home as of this position, at least that of the program's start.
  std::vector<std::byte> home_at(uint64_t position) const {
    std::vector<std::byte> home = first_;
    for (uint64_t i = 0; i < position - start_; ++i) {
      const auto& [line, value] = appended_.at(i);
      store(home.data() + line * kLineBytes, value);
    }
    return home;
  }

 private:
  /// To other words for each value, from one word to all of them.
  static void store(std::byte* line, uint64_t value) {
    for (uint64_t i = value % 8, n = words_of(value); n > 0; i = (i + 1) % 8, --n) {
      std::memcpy(line + i * sizeof value, &value, sizeof value);
    }
  }

  struct Appended {
    uint64_t line;
    uint64_t value;
  };

  FaultyFile& file_;
  std::unique_ptr<Journal> journal_;
  uint64_t start_ = 0;
  uint64_t acknowledged_ = 0;
  std::vector<std::byte> memory_;
  std::vector<std::byte> first_;
  std::vector<Appended> appended_;
};

}  // namespace holdfast::native
