// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/ring.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "holdfast/base/checksum.h"

namespace holdfast::native {
namespace {

// Version 1 had no length of the ring, which took the whole place, and no changes. Its programs
// refuse version 2.
constexpr char kJournalMagic[8] = {'H', 'D', 'J', 'O', 'U', 'R', 'N', '2'};
constexpr char kJournalMagic1[8] = {'H', 'D', 'J', 'O', 'U', 'R', 'N', '1'};

std::vector<std::byte> block_of(const JournalHead& head) {
  std::vector<std::byte> block(kJournalBlock);
  std::memcpy(block.data(), &head, sizeof head);
  return block;
}

uint64_t sum_of_head(const JournalHead& head) {
  JournalHead copy = head;
  copy.checksum = 0;
  return checksum(&copy, sizeof copy);
}

bool is_whole_head(const JournalHead& head) {
  const bool known = std::memcmp(head.magic, kJournalMagic, sizeof head.magic) == 0 ||
                     std::memcmp(head.magic, kJournalMagic1, sizeof head.magic) == 0;
  return known && head.checksum == sum_of_head(head);
}

}  // namespace

/// Writes zeros from byte `begin` to byte `end` of the place.
Status JournalRing::write_zeros(uint64_t begin, uint64_t end) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  const std::vector<std::byte> zeros(std::min(kStep, end - begin));
  for (uint64_t at = begin; at < end; at += zeros.size()) {
    const uint64_t n = std::min<uint64_t>(zeros.size(), end - at);
    Status status = file_.write(place_.offset + at, {zeros.data(), n});
    if (status.ok()) {
      status = file_.write_out(place_.offset + at, n);
    }
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

Status JournalRing::format(uint64_t salt, uint64_t bytes, bool changes) {
  bytes_ = bytes - JournalPlace::kHeadBytes;
  Status status = write_zeros(0, bytes);
  if (status.ok()) {
    status = file_.sync();
  }
  head_.flags = changes ? JournalHead::kChanges : 0;
  JournalHead head{};
  head.salt = salt;
  head.number = 1;
  return status.ok() ? write_head(head) : status;
}

Result<uint64_t> JournalRing::next_bytes() const {
  Result<uint64_t> file = file_.bytes();
  if (!file) {
    return file;
  }
  const uint64_t rest = *file > place_.bytes ? *file - place_.bytes : 0;
  const uint64_t most = std::min(place_.bytes, rest) / kJournalBlock * kJournalBlock;
  const uint64_t wanted = std::min(most, 2 * (bytes_ + JournalPlace::kHeadBytes));
  return std::max(wanted, bytes_ + JournalPlace::kHeadBytes) - JournalPlace::kHeadBytes;
}

Status JournalRing::prepare(uint64_t bytes) {
  return write_zeros(JournalPlace::kHeadBytes + bytes_, JournalPlace::kHeadBytes + bytes);
}

Status JournalRing::rewrite_head() {
  return file_.write(place_of(head_), block_of(head_));
}

Status JournalRing::write_stale(bool stale) {
  const uint32_t before = head_.flags;
  head_.flags = stale ? before | JournalHead::kStaleTable : before & ~JournalHead::kStaleTable;
  const Status status = write_head(head_);
  if (!status.ok()) {
    head_.flags = before;
  }
  return status;
}

Status JournalRing::write_longer_head(uint64_t bytes) {
  JournalHead head = head_;
  head.tail -= first_lap();
  return write_head(head, bytes);
}

bool JournalRing::fits(const JournalHead& head) const {
  return head.ring_blocks <= place_.ring_bytes() / kJournalBlock;
}

Status JournalRing::read_head() {
  bool found = false;
  for (const uint64_t at : {uint64_t{0}, kJournalBlock}) {
    std::byte raw[sizeof(JournalHead)];
    if (Status status = file_.read(place_.offset + at, raw); !status.ok()) {
      return status;
    }
    JournalHead head{};
    std::memcpy(&head, raw, sizeof head);
    if (is_whole_head(head) && fits(head) && (!found || head.sequence > head_.sequence)) {
      head_ = head;
      found = true;
    }
  }
  bytes_ = head_.ring_blocks != 0 ? head_.ring_blocks * kJournalBlock : place_.ring_bytes();
  return found ? Status()
               : Status(Code::corrupt,
                        "both heads of the journal are damaged, so it is unknown which of its "
                        "groups are missing in the data; restore the file from a copy");
}

Status JournalRing::write_head(const JournalHead& head, uint64_t ring_bytes) {
  JournalHead next = head;
  next.flags |= head_.flags & (JournalHead::kChanges | JournalHead::kStaleTable);
  next.ring_blocks = static_cast<uint32_t>(ring_bytes / kJournalBlock);
  std::memcpy(next.magic, kJournalMagic, sizeof next.magic);
  next.sequence = head_.sequence + 1;
  next.checksum = sum_of_head(next);
  const Status status = file_.write_and_sync(place_of(next), block_of(next));
  if (status.ok()) {
    head_ = next;
  }
  return status;
}

Status JournalRing::read(uint64_t at, std::span<std::byte> to) const {
  const uint64_t begin = at % bytes();
  const uint64_t first = std::min<uint64_t>(to.size(), bytes() - begin);
  const uint64_t ring = place_.offset + JournalPlace::kHeadBytes;
  Status status = file_.read(ring + begin, to.first(first));
  return status.ok() && first < to.size() ? file_.read(ring, to.subspan(first)) : status;
}

Status JournalRing::write(uint64_t at, std::span<const std::byte> from) {
  const uint64_t begin = at % bytes();
  const uint64_t first = std::min<uint64_t>(from.size(), bytes() - begin);
  const uint64_t ring = place_.offset + JournalPlace::kHeadBytes;
  Status status = file_.write(ring + begin, from.first(first));
  return status.ok() && first < from.size() ? file_.write(ring, from.subspan(first)) : status;
}

Status JournalRing::write_and_sync(uint64_t at, std::span<const std::byte> from) {
  const uint64_t begin = at % bytes();
  if (from.size() <= bytes() - begin) {
    return file_.write_and_sync(place_.offset + JournalPlace::kHeadBytes + begin, from);
  }
  Status status = write(at, from);
  return status.ok() ? file_.sync() : status;
}

}  // namespace holdfast::native
