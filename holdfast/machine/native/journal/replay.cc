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
    tail.last = tail.bytes.size();
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
  // tail.lines counts each copy of a line, so a few groups may have a huge number. A record of the
  // newest one takes a head and a word at least.
  lines.reserve(std::min<uint64_t>(tail.lines, tail.bytes.size() / (2 * sizeof(uint64_t))));
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

namespace {

/// The pages of some neighbouring lines, and what the table says about them.
class HomePages {
 public:
  HomePages(JournalFile& file, HomeWrites& writes) : file_(file), writes_(writes) {}

  /// Reads the pages of these lines, which lie from byte `begin` to byte `end` of the file.
  Status read(uint64_t begin, uint64_t end) {
    begin_ = begin;
    content_.resize(end - begin);
    whole_lines_.assign((end - begin) / kPageBytes, 0);
    before_.resize(writes_.checksums != nullptr ? whole_lines_.size() : 0);
    Status status = file_.read(begin, content_);
    if (status.ok() && !before_.empty()) {
      status = writes_.checksums->load(begin, before_);
    }
    if (status.ok()) {
      mark_damaged();
    }
    return status;
  }

  void put(const JournalLine& line) {
    const uint64_t at = line.offset - begin_;
    put_words(content_.data() + at, line.mask, line.words);
    whole_lines_[at / kPageBytes] += line.mask == kAllWords ? 1 : 0;
  }

  Status write() {
    Status status = file_.write(begin_, content_);
    if (status.ok()) {
      status = file_.write_out(begin_, content_.size());
    }
    writes_.bytes += content_.size();
    for (size_t i = 0; i < before_.size(); ++i) {
      const bool damaged = before_[i] == kDamagedPage && whole_lines_[i] < kPageBytes / kLineBytes;
      const uint64_t entry = damaged ? kDamagedPage : page_entry(content_.data() + i * kPageBytes);
      entries_.push_back({begin_ + i * kPageBytes, entry});
    }
    return status;
  }

  /// After the last write().
  Status write_entries() {
    return entries_.empty() ? Status() : writes_.checksums->store(entries_);
  }

 private:
  void mark_damaged() {
    for (size_t i = 0; i < before_.size(); ++i) {
      if (!writes_.torn && before_[i] != kDamagedPage &&
          !agrees(before_[i], content_.data() + i * kPageBytes)) {
        before_[i] = kDamagedPage;
        ++writes_.damaged;
      }
    }
  }

  JournalFile& file_;
  HomeWrites& writes_;
  uint64_t begin_ = 0;
  std::vector<std::byte> content_;
  std::vector<uint64_t> whole_lines_;  // of each page
  std::vector<uint64_t> before_;       // entry of each page; empty without a table
  std::vector<PageEntry> entries_;     // of all pages so far
};

}  // namespace

Status write_home(JournalFile& file, std::span<const JournalLine> lines, HomeWrites& writes) {
  constexpr uint64_t kMostBytes = 64 * kPageBytes;  // of one write; neighbouring pages share it
  HomePages pages(file, writes);
  for (size_t i = 0; i < lines.size();) {
    const uint64_t begin = page_of(lines[i].offset);
    uint64_t end = begin + kPageBytes;
    size_t last = i;
    while (last < lines.size() && lines[last].offset < end) {
      ++last;
      const bool next = last < lines.size() && page_of(lines[last].offset) == end;
      end += next && end - begin < kMostBytes ? kPageBytes : 0;
    }
    if (Status status = pages.read(begin, end); !status.ok()) {
      return status;
    }
    for (; i < last; ++i) {
      pages.put(lines[i]);
    }
    if (Status status = pages.write(); !status.ok()) {
      return status;
    }
  }
  return pages.write_entries();
}

}  // namespace holdfast::native
