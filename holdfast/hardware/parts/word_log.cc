// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/word_log.h"

#include <algorithm>
#include <cstring>

namespace holdfast {
namespace {

constexpr size_t kHeaderBytes = 64;
constexpr uint8_t kSlice = 1;
constexpr uint8_t kRecord = 2;
constexpr size_t kHomeBytes = 5;

}  // namespace

/// The first half of a slot.
struct WordLog::Header {
  uint64_t number = 0;  ///< of the slot, from 1
  uint64_t tx = 0;
  uint8_t homes[kWords][kHomeBytes] = {};
  uint8_t kind = 0;
  uint8_t words = 0;
  uint8_t unused[kHeaderBytes - 2 * sizeof(uint64_t) - kWords * kHomeBytes - 2] = {};
};

void WordLog::attach(DesignContext& context, uint64_t bytes) {
  static_assert(sizeof(Header) == kHeaderBytes);
  context_ = &context;
  log_.attach(context, 0, bytes, kSliceBytes);
}

WordLog::Appended WordLog::put(const Header& header, std::span<const LoggedWord> words, Time now) {
  std::byte bytes[kSliceBytes] = {};
  std::memcpy(bytes, &header, sizeof(header));
  for (size_t i = 0; i < words.size(); ++i) {
    std::memcpy(bytes + kHeaderBytes + i * sizeof(uint64_t), &words[i].value, sizeof(uint64_t));
  }
  Appended appended{log_.take(), now};
  const size_t line = context_->line_bytes();
  const size_t used = header.kind == kRecord ? kHeaderBytes : kSliceBytes;
  for (size_t at = 0; at < used; at += line) {
    appended.accepted =
        std::max(appended.accepted, log_.write(appended.slot, at / line, bytes + at, now));
  }
  return appended;
}

WordLog::Appended WordLog::append(uint64_t tx, std::span<const LoggedWord> words, Time now) {
  Header header{.number = log_.head() + 1,
                .tx = tx,
                .kind = kSlice,
                .words = static_cast<uint8_t>(words.size())};
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t number = words[i].home / sizeof(uint64_t);
    std::memcpy(header.homes[i], &number, kHomeBytes);
  }
  return put(header, words, now);
}

WordLog::Appended WordLog::append_record(uint64_t tx, Time now) {
  return put({.number = log_.head() + 1, .tx = tx, .kind = kRecord}, {}, now);
}

Time WordLog::read_words(uint64_t slot, uint64_t (&values)[kWords], Time now) const {
  std::vector<std::byte> bytes(context_->line_bytes());
  const size_t line = context_->line_bytes();
  now = context_->read(log_.place(slot, kHeaderBytes / line), bytes.data(), ReadCause::data, now);
  std::memcpy(values, bytes.data() + kHeaderBytes % line, sizeof(values));
  return now;
}

/// Reads the slot from its first bytes, with the words if these are enough. Returns false if they
/// are not the header of this slot.
bool WordLog::decode(uint64_t slot, const std::byte* bytes, size_t n, Entry& entry) {
  Header header;
  std::memcpy(&header, bytes, sizeof(header));
  if (header.number != slot + 1) {
    return false;
  }
  entry = {.slot = slot, .tx = header.tx, .record = header.kind == kRecord, .words = {}};
  for (size_t i = 0; i < std::min<size_t>(header.words, kWords); ++i) {
    uint64_t number = 0;
    std::memcpy(&number, header.homes[i], kHomeBytes);
    entry.words.push_back({number * sizeof(uint64_t), 0});
    if (n >= kSliceBytes) {
      std::memcpy(&entry.words.back().value, bytes + kHeaderBytes + i * sizeof(uint64_t),
                  sizeof(uint64_t));
    }
  }
  return true;
}

/// Reads the words of the slices among these entries, unless their lines had them.
Time WordLog::add_words(std::vector<Entry>& entries, Time now) const {
  const size_t line = context_->line_bytes();
  if (line >= kSliceBytes) {
    return now;
  }
  std::vector<Place> places;
  std::vector<Entry*> slices;
  for (Entry& entry : entries) {
    if (!entry.words.empty()) {
      places.push_back(log_.place(entry.slot, kHeaderBytes / line));
      slices.push_back(&entry);
    }
  }
  const auto add = [&](size_t i, const std::byte* bytes) {
    for (LoggedWord& word : slices[i]->words) {
      const auto index = static_cast<size_t>(&word - slices[i]->words.data());
      std::memcpy(&word.value, bytes + index * sizeof(uint64_t), sizeof(uint64_t));
    }
  };
  return read_lines(*context_, places, ReadCause::recovery, add, now);
}

Time WordLog::read(uint64_t begin, uint64_t end, FunctionRef<void(const Entry&)> f,
                   Time now) const {
  const size_t line = context_->line_bytes();
  const size_t lines = std::max<size_t>(1, kSliceBytes / line);
  std::vector<Place> places;
  for (uint64_t slot = begin; slot < end; ++slot) {
    for (size_t i = 0; i < lines; ++i) {
      places.push_back(log_.place(slot, i));
    }
  }
  std::byte bytes[kSliceBytes];
  const auto look = [&](size_t i, const std::byte* from) {
    std::memcpy(bytes + i % lines * line, from, std::min(line, kSliceBytes));
    Entry entry;
    if (i % lines == lines - 1 && decode(begin + i / lines, bytes, kSliceBytes, entry)) {
      f(entry);
    }
  };
  return read_lines(*context_, places, ReadCause::migration, look, now);
}

Time WordLog::scan(FunctionRef<void(const Entry&)> f, Time now) {
  std::vector<Entry> entries;
  const auto valid = [&](uint64_t slot, const std::byte* bytes) {
    Entry entry;
    if (!decode(slot, bytes, context_->line_bytes(), entry)) {
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
