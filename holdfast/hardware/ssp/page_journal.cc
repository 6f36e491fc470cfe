// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/ssp/page_journal.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "holdfast/base/round.h"

namespace holdfast {

/// A slot of the journal. Unused changes have an empty mask.
struct PageJournal::Slot {
  uint64_t number = 0;  ///< from 1
  uint32_t first = 0;   ///< the number of the record's first slot, its lower half
  uint16_t index = 0;   ///< in the record
  uint16_t count = 0;   ///< slots of the record
  PageChange changes[2];
};

void PageJournal::attach(DesignContext& context, uint64_t bytes, uint64_t frames) {
  static_assert(sizeof(Slot) == 64);
  context_ = &context;
  const size_t line = context.line_bytes();
  log_.attach(context, 0, bytes, line);
  begin_ = round_up(bytes, line);
  const uint64_t lines = (frames + entries_per_line() - 1) / entries_per_line();
  table_.resize(lines * entries_per_line());
  end_ = begin_ + lines * line;
}

Place PageJournal::table_place(uint64_t line) const {
  return {Space::own, begin_ + line * context_->line_bytes()};
}

Time PageJournal::write_table_line(uint64_t line, Cause cause, Time now) {
  ++table_lines_;
  const Entry* const entries = &table_[line * entries_per_line()];
  return context_->write(table_place(line), reinterpret_cast<const std::byte*>(entries), cause, now)
      .accepted;
}

/// A frame that has another page than before begins without bits.
void PageJournal::change(Entry& entry, const PageChange& change) {
  if (entry.page != change.page) {
    entry = {.page = change.page, .bits = 0};
  }
  entry.bits = (entry.bits & ~change.mask) | (change.bits & change.mask);
}

Time PageJournal::write(Record& record, Time now) {
  const size_t count = record.slots();
  std::vector<std::byte> line(context_->line_bytes());
  for (; record.written < count; ++record.written) {
    if (const Time ready = log_.ready(now); ready > now) {
      return ready;
    }
    const uint64_t number = log_.take();
    record.first_slot = record.written == 0 ? number : record.first_slot;
    Slot slot{.number = number + 1,
              .first = static_cast<uint32_t>(record.first_slot),
              .index = static_cast<uint16_t>(record.written),
              .count = static_cast<uint16_t>(count),
              .changes = {}};
    for (size_t i = 0; i < 2 && 2 * record.written + i < record.changes.size(); ++i) {
      slot.changes[i] = record.changes[2 * record.written + i];
    }
    std::memcpy(line.data(), &slot, sizeof(slot));
    const Time accepted = log_.write(number, 0, line.data(), now, Cause::journal);
    record.accepted = std::max(record.accepted, accepted);
    ++written_;
  }
  return now;
}

void PageJournal::apply(const std::vector<PageChange>& changes) {
  for (const PageChange& one : changes) {
    change(table_[one.frame], one);
    changed_.insert(one.frame / entries_per_line());
  }
}

void PageJournal::checkpoint(uint64_t oldest, Time now) {
  new_tail_ = oldest;
  tail_sent_ = false;
  due_ = now;
  for (const uint64_t line : changed_) {
    due_ = std::max(due_, write_table_line(line, Cause::table, now));
  }
  changed_.clear();
  ++checkpoints_;
}

std::optional<Time> PageJournal::step(Time now) {
  if (due_ == 0) {
    return {};
  }
  if (due_ > now) {
    return due_;
  }
  if (!tail_sent_) {
    due_ = log_.write_tail(new_tail_, now, Cause::journal);
    tail_sent_ = true;
    return due_;
  }
  log_.free_before(new_tail_);
  due_ = 0;
  return {};
}

Time PageJournal::read(bool torn, std::vector<Entry>& entries, uint64_t& records, uint64_t& dropped,
                       Time now) {
  std::vector<Place> places;
  for (uint64_t line = 0; line < table_.size() / entries_per_line(); ++line) {
    places.push_back(table_place(line));
  }
  now = read_lines(
      *context_, places, ReadCause::recovery,
      [&](size_t line, const std::byte* bytes) {
        std::memcpy(static_cast<void*>(&table_[line * entries_per_line()]), bytes,
                    context_->line_bytes());
      },
      now);
  std::map<uint64_t, std::vector<Slot>> found;  // by the record's first slot
  now = log_.scan(
      [&](uint64_t number, const std::byte* bytes) {
        Slot slot;
        std::memcpy(&slot, bytes, sizeof(slot));
        if (slot.number != number + 1) {
          return false;
        }
        const auto back = static_cast<uint32_t>(static_cast<uint32_t>(number) - slot.first);
        found[number - back].push_back(slot);
        return true;
      },
      now);
  for (const auto& [first, slots] : found) {
    const bool whole = slots.size() == slots.front().count;
    ++(whole ? records : dropped);
    for (const Slot& slot : slots) {
      for (const PageChange& one : slot.changes) {
        if ((whole || torn) && one.mask != 0) {
          change(table_[one.frame], one);
        }
      }
    }
  }
  entries = table_;
  return now;
}

/// The table first: the journal, applied to an empty table again, gives the same bits.
Time PageJournal::clear(const std::vector<Entry>& entries, Time now) {
  Time cleared = now;
  std::fill(table_.begin(), table_.end(), Entry{});
  for (uint64_t line = 0; line < table_.size() / entries_per_line(); ++line) {
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(line * entries_per_line());
    if (std::any_of(begin, begin + static_cast<std::ptrdiff_t>(entries_per_line()),
                    [](const Entry& entry) { return entry.bits != 0 || entry.page != 0; })) {
      cleared = std::max(cleared, write_table_line(line, Cause::recovery, now));
    }
  }
  return log_.restart(cleared);
}

}  // namespace holdfast
