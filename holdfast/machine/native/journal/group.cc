// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/group.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"

namespace holdfast::native {
namespace {

constexpr char kGroupMagic[8] = {'H', 'D', 'G', 'R', 'O', 'U', 'P', '1'};
// The room that a builder begins with; it grows with its groups.
constexpr uint64_t kFirstBytes = 16 * kJournalBlock;
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

GroupBuilder::GroupBuilder(uint64_t most_bytes) : most_bytes_(most_bytes) {
  grow(std::min(most_bytes, kFirstBytes));
}

/// Makes room for `bytes`. The table is at most half full.
void GroupBuilder::grow(uint64_t bytes) {
  bytes_.resize(bytes);
  const std::vector<Known> before = std::exchange(
      known_, std::vector<Known>(std::bit_ceil(2 * static_cast<size_t>(bytes / kLineBytes))));
  for (const Known& line : before) {
    if (line.round == round_) {
      find(line.offset) = line;
    }
  }
}

/// Returns the line's entry, or the empty one where it belongs.
GroupBuilder::Known& GroupBuilder::find(uint64_t offset) {
  const size_t mask = known_.size() - 1;
  size_t at = mix64(offset) & mask;
  while (known_[at].round == round_ && known_[at].offset != offset) {
    at = (at + 1) & mask;
  }
  return known_[at];
}

std::byte* GroupBuilder::place(uint64_t offset) {
  assert(offset % kLineBytes == 0);
  if (const Known& known = find(offset); known.round == round_) {
    return bytes_.data() + known.at;
  }
  if (full()) {
    return nullptr;
  }
  if (size_ + kRunHeadBytes + kLineBytes > bytes_.size()) {
    grow(std::min<uint64_t>(most_bytes_, 2 * bytes_.size()));
  }
  if (run_ == 0 || offset != run_end_ || run_lines_ == kMostRunLines) {
    run_ = size_;
    run_lines_ = 0;
    run_end_ = offset;
    size_ += kRunHeadBytes;
  }
  ++run_lines_;
  run_end_ += kLineBytes;
  const uint64_t word = (run_end_ - run_lines_ * kLineBytes) | (run_lines_ - 1);
  std::memcpy(bytes_.data() + run_, &word, sizeof word);
  find(offset) = {offset, static_cast<uint32_t>(size_), round_};
  size_ += kLineBytes;
  return bytes_.data() + size_ - kLineBytes;
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
  run_ = 0;
  if (++round_ == 0) {  // entries of the first rounds must not look new
    std::fill(known_.begin(), known_.end(), Known());
    round_ = 1;
  }
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
  return inside && lines <= head.end - head.begin;
}

void for_each_line(std::span<const std::byte> group, const JournalLineVisitor& visit) {
  for_each_run(group, [&](uint64_t offset, uint64_t lines, const std::byte* content) {
    for (uint64_t i = 0; i < lines; ++i) {
      visit(offset + i * kLineBytes, content + i * kLineBytes);
    }
  });
}

}  // namespace holdfast::native
