// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/parts/word_replay.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

Time write_home(DesignContext& context, WordLines::iterator& next, const WordLines& lines,
                size_t most, Cause cause, Time now) {
  const size_t size = context.line_bytes();
  std::vector<std::pair<Place, std::vector<std::byte>>> writes;
  Time there = now;
  const ReadCause reads = cause == Cause::recovery ? ReadCause::recovery : ReadCause::migration;
  for (; next != lines.end() && writes.size() < most; ++next) {
    const auto& [line, words] = *next;
    writes.emplace_back(Place{Space::home, line}, std::vector<std::byte>(size));
    auto& [place, bytes] = writes.back();
    if (words.size() * sizeof(uint64_t) < size) {
      there = std::max(there, context.read(place, bytes.data(), reads, now));
    }
    for (const auto& [home, value] : words) {
      std::memcpy(&bytes[home - line], &value, sizeof(value));
    }
  }
  Time accepted = there;
  for (const auto& [place, bytes] : writes) {
    accepted = std::max(accepted, context.write(place, bytes.data(), cause, there).accepted);
  }
  return accepted;
}

Time replay(DesignContext& context, WordLog& log, size_t most, DesignRecovery& recovery, Time now) {
  std::vector<WordLog::Entry> slices;
  std::set<uint64_t> committed;
  std::set<uint64_t> dropped;
  const auto add = [&](const WordLog::Entry& entry) {
    if (entry.record) {
      committed.insert(entry.tx);
    } else {
      slices.push_back(entry);
    }
  };
  now = log.scan(add, now);
  WordLines lines;
  for (const WordLog::Entry& slice : slices) {
    if (!committed.contains(slice.tx)) {
      dropped.insert(slice.tx);
      continue;
    }
    for (const LoggedWord& word : slice.words) {
      lines[word.home / context.line_bytes() * context.line_bytes()][word.home] = word.value;
    }
  }
  for (auto next = lines.begin(); next != lines.end();) {
    now = write_home(context, next, lines, most, Cause::recovery, now);
  }
  now = log.slots().restart(now);
  recovery.transactions = static_cast<uint64_t>(std::count_if(
      committed.begin(), committed.end(), [](uint64_t tx) { return (tx & kOutsideBit) == 0; }));
  recovery.discarded = dropped.size();
  recovery.lines_written = lines.size();
  recovery.text = std::to_string(recovery.transactions) + " transactions recovered from the log (" +
                  std::to_string(recovery.lines_written) + " lines), " +
                  std::to_string(recovery.discarded) + " discarded";
  return now;
}

}  // namespace holdfast
