// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/word_log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "holdfast/base/round.h"

namespace holdfast {
namespace {

constexpr uint8_t kSlice = 1;
constexpr uint8_t kRecord = 2;
constexpr size_t kHomeBytes = 5;

}  // namespace

/// The beginning of a slot.
struct WordLog::Header {
  uint64_t number = 0;  ///< of the slot, from 1
  uint64_t tx = 0;
  uint8_t homes[kEntries][kHomeBytes] = {};
  uint8_t kind = 0;
  uint8_t entries = 0;
  uint8_t unused[kHeaderBytes - 2 * sizeof(uint64_t) - kEntries * kHomeBytes - 2] = {};
};

void WordLog::attach(DesignContext& context, uint64_t bytes, size_t entry_words) {
  static_assert(sizeof(Header) == kHeaderBytes);
  context_ = &context;
  entry_words_ = entry_words;
  const size_t line = context.line_bytes();
  const size_t slice = kHeaderBytes + kEntries * entry_words * sizeof(uint64_t);
  log_.attach(context, 0, bytes, round_up(slice, line));
}

WordLog::Appended WordLog::put(const Header& header, std::span<const LoggedWord> words, Time now) {
  const size_t line = context_->line_bytes();
  const size_t used = kHeaderBytes + words.size() * sizeof(uint64_t);
  std::vector<std::byte> bytes(round_up(used, line));
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (size_t i = 0; i < words.size(); ++i) {
    std::memcpy(&bytes[kHeaderBytes + i * sizeof(uint64_t)], &words[i].value, sizeof(uint64_t));
  }
  Appended appended{log_.take(), now};
  for (size_t at = 0; at < used; at += line) {
    appended.accepted =
        std::max(appended.accepted, log_.write(appended.slot, at / line, &bytes[at], now));
  }
  return appended;
}

WordLog::Appended WordLog::append(uint64_t tx, std::span<const LoggedWord> words, Time now) {
  Header header{.number = log_.head() + 1,
                .tx = tx,
                .kind = kSlice,
                .entries = static_cast<uint8_t>(words.size() / entry_words_)};
  for (size_t i = 0; i < header.entries; ++i) {
    const uint64_t number = words[i * entry_words_].home / sizeof(uint64_t);
    std::memcpy(header.homes[i], &number, kHomeBytes);
  }
  return put(header, words, now);
}

WordLog::Appended WordLog::append_record(uint64_t tx, Time now) {
  return put({.number = log_.head() + 1, .tx = tx, .kind = kRecord}, {}, now);
}

Time WordLog::read_words(uint64_t slot, uint64_t (&values)[kEntries], Time now) const {
  std::vector<std::byte> bytes(context_->line_bytes());
  const size_t line = context_->line_bytes();
  now = context_->read(log_.place(slot, kHeaderBytes / line), bytes.data(), ReadCause::data, now);
  std::memcpy(values, bytes.data() + kHeaderBytes % line, sizeof(values));
  return now;
}

/// Reads the slot from its first line. Returns false if that does not begin with the header of this
/// slot.
bool WordLog::decode(uint64_t slot, const std::byte* bytes, Entry& entry) const {
  Header header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.number != slot + 1) {
    return false;
  }
  entry = {.slot = slot, .tx = header.tx, .record = header.kind == kRecord, .words = {}};
  for (size_t i = 0; i < std::min<size_t>(header.entries, kEntries); ++i) {
    uint64_t number = 0;
    std::memcpy(&number, header.homes[i], kHomeBytes);
    for (size_t word = 0; word < entry_words_; ++word) {
      entry.words.push_back({(number + word) * sizeof(uint64_t), 0});
    }
  }
  add_values(0, bytes, entry);
  return true;
}

/// Adds the values of the words that lie in line `index` of the slot.
void WordLog::add_values(size_t index, const std::byte* bytes, Entry& entry) const {
  const size_t begin = index * context_->line_bytes();
  const size_t end = begin + context_->line_bytes();
  for (size_t i = 0; i < entry.words.size(); ++i) {
    const size_t at = kHeaderBytes + i * sizeof(uint64_t);
    if (at >= begin && at < end) {
      std::memcpy(&entry.words[i].value, bytes + at - begin, sizeof(uint64_t));
    }
  }
}

/// Reads the words of the slices among these entries that their first lines do not have.
Time WordLog::add_words(std::vector<Entry>& entries, Time now) const {
  const size_t line = context_->line_bytes();
  std::vector<Place> places;
  std::vector<std::pair<Entry*, size_t>> lines;
  for (Entry& entry : entries) {
    const size_t used = kHeaderBytes + entry.words.size() * sizeof(uint64_t);
    for (size_t i = 1; i * line < used; ++i) {
      places.push_back(log_.place(entry.slot, i));
      lines.emplace_back(&entry, i);
    }
  }
  const auto add = [&](size_t i, const std::byte* bytes) {
    add_values(lines[i].second, bytes, *lines[i].first);
  };
  return read_lines(*context_, places, ReadCause::recovery, add, now);
}

Time WordLog::read(uint64_t begin, uint64_t end, FunctionRef<void(const Entry&)> f,
                   Time now) const {
  const size_t slice = kHeaderBytes + kEntries * entry_words_ * sizeof(uint64_t);
  const size_t lines = std::max<size_t>(1, slice / context_->line_bytes());
  std::vector<Place> places;
  for (uint64_t slot = begin; slot < end; ++slot) {
    for (size_t i = 0; i < lines; ++i) {
      places.push_back(log_.place(slot, i));
    }
  }
  Entry entry;
  bool valid = false;
  const auto look = [&](size_t i, const std::byte* bytes) {
    if (i % lines == 0) {
      valid = decode(begin + i / lines, bytes, entry);
    } else if (valid) {
      add_values(i % lines, bytes, entry);
    }
    if (valid && i % lines == lines - 1) {
      f(entry);
    }
  };
  return read_lines(*context_, places, ReadCause::migration, look, now);
}

Time WordLog::scan(FunctionRef<void(const Entry&)> f, Time now) {
  std::vector<Entry> entries;
  const auto valid = [&](uint64_t slot, const std::byte* bytes) {
    Entry entry;
    if (!decode(slot, bytes, entry)) {
      return false;
    }
    entries.push_back(std::move(entry));
    return true;
  };
  now = add_words(entries, log_.scan(valid, now));
  for (const Entry& entry : entries) {
    f(entry);
  }
  return now;
}

}  // namespace holdfast
