// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/group.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "holdfast/base/checksum.h"

namespace holdfast::native {
namespace {

constexpr char kGroupMagic[8] = {'H', 'D', 'G', 'R', 'O', 'U', 'P', '1'};
constexpr uint64_t kChecksummedFrom = offsetof(GroupHead, number);

uint64_t round_to_blocks(uint64_t n) {
  return (n + kJournalBlock - 1) / kJournalBlock * kJournalBlock;
}

GroupHead head_of(std::span<const std::byte> group) {
  GroupHead head{};
  std::memcpy(&head, group.data(), sizeof head);
  return head;
}

/// Visits the runs. False if one of them leaves the group.
template <class F>
bool for_each_run(std::span<const std::byte> group, F&& visit) {
  for (uint64_t at = sizeof(GroupHead); at < group.size();) {
    uint64_t word = 0;
    if (group.size() - at < sizeof word) {
      return false;
    }
    std::memcpy(&word, group.data() + at, sizeof word);
    at += sizeof word;
    const uint64_t lines = word % kLineBytes + 1;
    if ((group.size() - at) / kLineBytes < lines) {
      return false;
    }
    visit(word / kLineBytes * kLineBytes, lines, group.data() + at);
    at += lines * kLineBytes;
  }
  return true;
}

}  // namespace

static_assert(kMostRunLines == kLineBytes, "the number of lines is below the line's size");

GroupBuilder::GroupBuilder(uint64_t most_bytes) : bytes_(most_bytes) {}

uint64_t GroupBuilder::room(uint64_t wanted) const {
  const uint64_t left = bytes_.size() - size_;
  if (left < sizeof(uint64_t) + kLineBytes) {
    return 0;
  }
  return std::min({wanted, kMostRunLines, (left - sizeof(uint64_t)) / kLineBytes});
}

std::byte* GroupBuilder::add(uint64_t offset, uint64_t lines) {
  assert(lines > 0 && lines <= room(lines) && offset % kLineBytes == 0);
  const uint64_t word = offset | (lines - 1);
  std::memcpy(bytes_.data() + size_, &word, sizeof word);
  std::byte* const content = bytes_.data() + size_ + sizeof word;
  size_ += sizeof word + lines * kLineBytes;
  lines_ += lines;
  return content;
}

std::span<const std::byte> GroupBuilder::seal(GroupHead head, uint64_t salt) {
  std::memcpy(head.magic, kGroupMagic, sizeof head.magic);
  head.bytes = size_;
  std::memcpy(bytes_.data(), &head, sizeof head);
  head.checksum = checksum(bytes_.data() + kChecksummedFrom, size_ - kChecksummedFrom, salt);
  std::memcpy(bytes_.data(), &head, sizeof head);
  const uint64_t whole = round_to_blocks(size_);
  std::fill(bytes_.begin() + static_cast<ptrdiff_t>(size_),
            bytes_.begin() + static_cast<ptrdiff_t>(whole), std::byte{0});
  return {bytes_.data(), whole};
}

void GroupBuilder::clear() {
  size_ = sizeof(GroupHead);
  lines_ = 0;
}

uint64_t padded_bytes(const GroupHead& head) {
  return round_to_blocks(head.bytes);
}

bool read_group_head(std::span<const std::byte> block, GroupHead& head) {
  if (block.size() < sizeof head) {
    return false;
  }
  head = head_of(block);
  return std::memcmp(head.magic, kGroupMagic, sizeof head.magic) == 0 &&
         head.bytes >= sizeof head && head.end >= head.begin;
}

bool is_whole_group(std::span<const std::byte> group, uint64_t salt) {
  GroupHead head{};
  if (!read_group_head(group, head) || head.bytes != group.size() ||
      head.checksum !=
          checksum(group.data() + kChecksummedFrom, group.size() - kChecksummedFrom, salt)) {
    return false;
  }
  uint64_t lines = 0;
  const bool inside =
      for_each_run(group, [&](uint64_t, uint64_t n, const std::byte*) { lines += n; });
  return inside && lines == head.end - head.begin;
}

void for_each_line(std::span<const std::byte> group, const JournalLineVisitor& visit) {
  for_each_run(group, [&](uint64_t offset, uint64_t lines, const std::byte* content) {
    for (uint64_t i = 0; i < lines; ++i) {
      visit(offset + i * kLineBytes, content + i * kLineBytes);
    }
  });
}

}  // namespace holdfast::native
