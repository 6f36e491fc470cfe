// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/journal/ring.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "holdfast/base/checksum.h"

namespace holdfast::native {
namespace {

constexpr char kJournalMagic[8] = {'H', 'D', 'J', 'O', 'U', 'R', 'N', '1'};
// With JournalHead::kChanges. Versions that would take a group with changes for a torn one find no
// head.
constexpr char kChangesMagic[8] = {'H', 'D', 'J', 'O', 'U', 'R', 'N', '2'};

const char* magic_of(const JournalHead& head) {
  return (head.flags & JournalHead::kChanges) != 0 ? kChangesMagic : kJournalMagic;
}

uint64_t sum_of_head(const JournalHead& head) {
  JournalHead copy = head;
  copy.checksum = 0;
  return checksum(&copy, sizeof copy);
}

bool is_whole_head(const JournalHead& head) {
  return std::memcmp(head.magic, magic_of(head), sizeof head.magic) == 0 &&
         head.checksum == sum_of_head(head);
}

}  // namespace

Status JournalRing::format(uint64_t salt, bool changes) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  const std::vector<std::byte> zeros(std::min(kStep, place_.bytes));
  for (uint64_t at = 0; at < place_.bytes; at += zeros.size()) {
    const uint64_t n = std::min<uint64_t>(zeros.size(), place_.bytes - at);
    if (Status status = file_.write(place_.offset + at, {zeros.data(), n}); !status.ok()) {
      return status;
    }
  }
  Status status = file_.sync();
  head_.flags = changes ? JournalHead::kChanges : 0;
  JournalHead head{};
  head.salt = salt;
  head.number = 1;
  return status.ok() ? write_head(head) : status;
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
    if (is_whole_head(head) && (!found || head.sequence > head_.sequence)) {
      head_ = head;
      found = true;
    }
  }
  return found ? Status()
               : Status(Code::corrupt,
                        "both heads of the journal are damaged, so it is unknown which of its "
                        "groups are missing in the data; restore the file from a copy");
}

Status JournalRing::write_head(const JournalHead& head) {
  JournalHead next = head;
  next.flags |= head_.flags & JournalHead::kChanges;
  std::memcpy(next.magic, magic_of(next), sizeof next.magic);
  next.sequence = head_.sequence + 1;
  next.checksum = sum_of_head(next);
  std::vector<std::byte> block(kJournalBlock);
  std::memcpy(block.data(), &next, sizeof next);
  Status status = file_.write(place_.offset + next.sequence % 2 * kJournalBlock, block);
  if (status.ok()) {
    status = file_.sync();
  }
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

}  // namespace holdfast::native
