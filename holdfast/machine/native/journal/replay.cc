// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/replay.h"

#include <algorithm>
#include <cstring>

namespace holdfast::native {
namespace {

/// Reads the group at this place of the ring. False if no whole group with the salt is there.
Result<bool> read_group(const JournalRing& ring, uint64_t at, GroupHead& head,
                        std::vector<std::byte>& group) {
  group.resize(kJournalBlock);
  if (Status status = ring.read(at, group); !status.ok()) {
    return status;
  }
  if (!read_group_head(group, head) || head.bytes > ring.bytes()) {
    return false;
  }
  group.resize(padded_bytes(head));
  if (Status status = ring.read(at, group); !status.ok()) {
    return status;
  }
  return is_whole_group(std::span(group).first(head.bytes), ring.head().salt);
}

uint64_t page_of(uint64_t offset) {
  return offset / kPageBytes * kPageBytes;
}

}  // namespace

Result<JournalTail> read_tail(const JournalRing& ring, uint64_t end) {
  JournalTail tail;
  tail.end = ring.head().tail;
  tail.number = ring.head().number;
  tail.position = ring.head().position;
  std::vector<std::byte> group;
  GroupHead head{};
  while (tail.end < end) {
    Result<bool> whole = read_group(ring, tail.end, head, group);
    if (!whole) {
      return whole.status();
    }
    const bool fits = tail.bytes.size() + group.size() <= ring.bytes();
    if (!*whole || !fits || head.number != tail.number || head.begin != tail.position) {
      return tail;
    }
    tail.bytes.insert(tail.bytes.end(), group.begin(), group.end());
    ++tail.groups;
    ++tail.number;
    tail.lines += head.end - head.begin;
    tail.end += group.size();
    tail.position = head.end;
  }
  return tail;
}

Status check_not_damaged(const JournalRing& ring, const JournalTail& tail) {
  std::vector<std::byte> group;
  GroupHead head{};
  for (uint64_t at = tail.end; at < tail.end + ring.bytes(); at += kJournalBlock) {
    Result<bool> whole = read_group(ring, at, head, group);
    if (!whole) {
      return whole.status();
    }
    if (*whole && head.number > tail.number && head.durable > tail.position) {
      return {Code::corrupt, "group " + std::to_string(tail.number) +
                                 " of the journal is damaged, and group " +
                                 std::to_string(head.number) +
                                 " shows that it was durable before; nothing was changed. Restore "
                                 "the heap file from a copy"};
    }
  }
  return {};
}

Result<std::vector<JournalLine>> newest_lines(const JournalTail& tail, const JournalPlace& place) {
  std::vector<JournalLine> lines;
  lines.reserve(tail.lines);
  bool inside = false;
  for (uint64_t at = 0; at < tail.bytes.size();) {
    GroupHead head{};
    std::memcpy(&head, tail.bytes.data() + at, sizeof head);
    const auto visit = [&](uint64_t offset, WordMask mask, const std::byte* words) {
      inside = inside || (offset >= place.offset && offset < place.offset + place.bytes);
      lines.push_back({offset, mask, words});
    };
    for_each_line({tail.bytes.data() + at, head.bytes}, visit);
    at += padded_bytes(head);
  }
  if (inside) {
    return Status(Code::corrupt, "the journal has lines that belong into the journal itself");
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const JournalLine& a, const JournalLine& b) { return a.offset < b.offset; });
  // The last one of equal offsets is the newest. A whole line makes those before it useless.
  size_t kept = 0;
  for (const JournalLine& line : lines) {
    while (line.mask == kAllWords && kept > 0 && lines[kept - 1].offset == line.offset) {
      --kept;
    }
    lines[kept++] = line;
  }
  lines.resize(kept);
  return lines;
}

Status write_home(JournalFile& file, std::span<const JournalLine> lines, uint64_t& bytes) {
  constexpr uint64_t kMostBytes = 64 * kPageBytes;  // of one write; neighbouring pages share it
  std::vector<std::byte> content;
  for (size_t i = 0; i < lines.size();) {
    const uint64_t begin = page_of(lines[i].offset);
    uint64_t end = begin + kPageBytes;
    size_t last = i;
    while (last < lines.size() && lines[last].offset < end) {
      ++last;
      const bool next = last < lines.size() && page_of(lines[last].offset) == end;
      end += next && end - begin < kMostBytes ? kPageBytes : 0;
    }
    content.resize(end - begin);
    if (Status status = file.read(begin, content); !status.ok()) {
      return status;
    }
    for (; i < last; ++i) {
      put_words(content.data() + (lines[i].offset - begin), lines[i].mask, lines[i].words);
    }
    Status status = file.write(begin, content);
    if (status.ok()) {
      status = file.write_out(begin, content.size());
    }
    if (!status.ok()) {
      return status;
    }
    bytes += content.size();
  }
  return {};
}

}  // namespace holdfast::native
