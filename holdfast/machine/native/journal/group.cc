// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/group.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/base/round.h"

namespace holdfast::native {
namespace {

constexpr char kGroupMagic[8] = {'H', 'D', 'G', 'R', 'O', 'U', 'P', '1'};
// The room that a builder begins with; it grows with its groups.
constexpr uint64_t kFirstBytes = 16 * kJournalBlock;
constexpr uint64_t kChecksummedFrom = offsetof(GroupHead, number);

uint64_t round_to_blocks(uint64_t n) {
  return round_up(n, kJournalBlock);
}

GroupHead head_of(std::span<const std::byte> group) {
  GroupHead head{};
  std::memcpy(&head, group.data(), sizeof head);
  return head;
}

constexpr int kMaskShift = 48;  // above the largest file
constexpr uint64_t kChange = uint64_t{1} << 63;
constexpr uint64_t kOffsetBits = (uint64_t{1} << kMaskShift) - kLineBytes;
// A change in the middle of a run costs two heads. Up to this many words it is not longer than the
// line.
constexpr int kMostChanges = 5;

uint64_t bytes_of(WordMask mask) {
  return sizeof(uint64_t) * static_cast<uint64_t>(std::popcount(mask));
}

/// Visits the records' lines. False if a record leaves the group, or has no words.
template <class F>
bool for_each_record(std::span<const std::byte> group, F&& visit) {
  for (uint64_t at = sizeof(GroupHead); at < group.size();) {
    uint64_t head = 0;
    if (group.size() - at < sizeof head) {
      return false;
    }
    std::memcpy(&head, group.data() + at, sizeof head);
    at += sizeof head;
    const bool change = (head & kChange) != 0;
    const WordMask mask = change ? static_cast<WordMask>(head >> kMaskShift) : kAllWords;
    const uint64_t lines = change ? 1 : head % kLineBytes + 1;
    const uint64_t offset = change ? head & kOffsetBits : head / kLineBytes * kLineBytes;
    const uint64_t n = bytes_of(mask);
    if (mask == 0 || (group.size() - at) / n < lines) {
      return false;
    }
    for (uint64_t i = 0; i < lines; ++i, at += n) {
      visit(offset + i * kLineBytes, mask, group.data() + at);
    }
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
  std::vector<Known> before(std::bit_ceil(2 * static_cast<size_t>(bytes / kLineBytes)));
  bytes_.resize(bytes);  // the last allocation: one that fails changes nothing
  known_.swap(before);
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

/// Encodes the lines in bytes_ anew, relative to the cache. Returns the size, which is not larger.
uint64_t GroupBuilder::encode_changes(LineCache& cache) {
  constexpr size_t kAhead = 8;
  std::vector<std::pair<uint64_t, const std::byte*>> lines;
  lines.reserve(size_ / kLineBytes);
  for_each_record({bytes_.data(), size_}, [&](uint64_t offset, WordMask, const std::byte* line) {
    lines.emplace_back(offset, line);
  });
  changes_.resize(std::max(changes_.size(), bytes_.size()));
  std::byte* to = changes_.data() + sizeof(GroupHead);
  const auto add = [&to](const void* p, size_t n) {
    std::memcpy(to, p, n);
    to += n;
  };
  std::byte* run = nullptr;  // the last record's head, if it is a run
  uint64_t begin = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i + kAhead < lines.size()) {
      cache.prefetch(lines[i + kAhead].first);
    }
    const auto& [offset, line] = lines[i];
    const WordMask mask = cache.exchange(offset, line);
    if (std::popcount(mask) > kMostChanges) {
      if (run == nullptr || offset != end || end - begin == kMostRunLines * kLineBytes) {
        run = to;
        begin = end = offset;
        add(&begin, sizeof begin);
      }
      end += kLineBytes;
      const uint64_t head = begin | ((end - begin) / kLineBytes - 1);
      std::memcpy(run, &head, sizeof head);
      add(line, kLineBytes);
    } else if (mask != 0) {
      run = nullptr;
      const uint64_t head = kChange | uint64_t{mask} << kMaskShift | offset;
      add(&head, sizeof head);
      for (unsigned word = 0; word < 8; ++word) {
        if ((mask >> word & 1U) != 0) {
          add(line + word * sizeof(uint64_t), sizeof(uint64_t));
        }
      }
    }
  }
  return static_cast<uint64_t>(to - changes_.data());
}

std::span<const std::byte> GroupBuilder::seal(GroupHead head, uint64_t salt, LineCache* cache) {
  const uint64_t size = cache != nullptr ? encode_changes(*cache) : size_;
  std::vector<std::byte>& bytes = cache != nullptr ? changes_ : bytes_;
  const uint64_t whole = round_to_blocks(size);
  std::memcpy(head.magic, kGroupMagic, sizeof head.magic);
  head.bytes = size;
  std::memcpy(bytes.data(), &head, sizeof head);
  head.checksum = checksum(bytes.data() + kChecksummedFrom, size - kChecksummedFrom, salt);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(size),
            bytes.begin() + static_cast<ptrdiff_t>(whole), std::byte{0});
  return {bytes.data(), whole};
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
      for_each_record(group, [&](uint64_t, WordMask, const std::byte*) { ++lines; });
  return inside && lines <= head.end - head.begin;
}

void for_each_line(std::span<const std::byte> group, const JournalLineVisitor& visit) {
  for_each_record(group, visit);
}

void put_words(std::byte* line, WordMask mask, const std::byte* words) {
  for (unsigned i = 0; i < 8; ++i) {
    if ((mask >> i & 1U) != 0) {
      std::byte* const to = line + i * sizeof(uint64_t);
      if (std::memcmp(to, words, sizeof(uint64_t)) != 0) {
        std::memcpy(to, words, sizeof(uint64_t));
      }
      words += sizeof(uint64_t);
    }
  }
}

}  // namespace holdfast::native
