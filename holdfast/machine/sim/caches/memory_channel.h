// SPDX-License-Identifier: Apache-2.0
//
// One channel of a memory controller. The rules are at the top of memory_controller.cc. The code
// cites their numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/caches/memory_resources.h"

namespace holdfast::sim {
/// One channel: bus, banks, queues. Its times are those at the controller.
class MemoryController::Channel {
 public:
  static constexpr uint16_t kNone = Bank::kNone;
  static constexpr uint64_t kMostBanks = 1024;  ///< a power of two

  Channel(const Timing& timing, size_t banks)
      : timing_(timing),
        bus_(timing.bus, timing.turnaround, timing.read_queue),
        banks_(banks),
        ready_(banks + banks % 2, kNever),
        order_(ready_.size(), 0),
        finishes_(timing.write_queue),
        entries_(timing.write_queue),
        chains_(2 * std::bit_ceil(timing.write_queue), kNone),
        hash_shift_(64 - std::countr_zero(chains_.size())) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      entries_[i].next = i + 1 < entries_.size() ? static_cast<uint16_t>(i + 1) : kNone;
    }
  }

  Time read(uint64_t line, const Place& place, Time now, MemoryCounters& counters) {
    now_ = now;
    pump(now);
    const uint16_t found = find(line, now);
    if (found != kNone && timing_.forwards) {
      ++counters.forwarded;
      return now;
    }
    const Time admitted = bus_.admit(now, timing_.read_queue);
    if (admitted != now) {
      pump(admitted);
    }
    if (draining_ && drain_begin_ <= admitted) {
      finish_drain();
    }
    Time hard = drains_.end_at(admitted);
    if (found != kNone) {
      hard = std::max(hard, write_out(found, place.bank, admitted));
    }
    Bank& bank = banks_[place.bank];
    const bool hit = timing_.rows && bank.open_row == place.row;
    counters.row_hits += hit ? 1 : 0;
    bank.open_row = place.row;
    const Time length = hit ? timing_.row_hit : timing_.read;
    const Time start = bank.read(admitted, hard, length, timing_.write, timing_.turnaround);
    refresh_ready(place.bank);
    const Time sent = bus_.read(start + length);
    counters.reads_waited += sent - length - now;
    return sent + timing_.bus;
  }

  Time write(uint64_t line, const Place& place, Time now, MemoryCounters& counters,
             WriteTicket* ticket) {
    now_ = now;
    pump(now);
    release(now);
    if (timing_.merges) {
      const uint16_t found = chains_[chain_of(line)] == kNone ? kNone : unbegun(line, now);
      if (found != kNone) {
        ++counters.merged;
        ++entries_[found].writes;
        fill_in(ticket, found);
        return std::max(now, entries_[found].accepted);
      }
    }
    const Time accepted = used_ < entries_.size() ? now : next_free();
    counters.writes_waited += accepted - now;
    fill_in(ticket, enqueue(line, place, accepted));
    counters.highest_fill = std::max<uint64_t>(counters.highest_fill, used_);
    if (waiting_ == timing_.low + 1) {
      make_eligible(accepted);
    }
    if (!draining_ && used_ >= timing_.high) {
      begin_drain(accepted, std::max(timing_.batch, waiting_ - std::min(waiting_, timing_.low)));
    }
    return accepted;
  }

  Time drained(Time now) {
    now_ = now;
    pump(now);
    release(now);
    if (waiting_ > 0) {
      if (!draining_) {
        begin_drain(now, waiting_);
      }
      quota_ = waiting_;
      finish_drain();
    }
    return finishes_.empty() ? now : std::max(now, finishes_.back().at);
  }

  bool queued(uint64_t line, Time now) {
    pump(now);
    return find(line, now) != kNone;
  }

  bool cancel(const WriteTicket& ticket, const Place& place, Time now, MemoryCounters& counters) {
    pump(now);
    release(now);
    if (!waits(ticket)) {
      return false;
    }
    ++counters.cancelled;
    if (--entries_[ticket.entry].writes == 0) {
      remove(ticket.entry, place.bank);
    } else {
      --counters.merged;  // a write that it had merged with happens after all
    }
    return true;
  }
  /// True if the write is in the queue, and its bank has not begun it.
  bool waits(const WriteTicket& ticket) const {
    const Entry& entry = entries_[ticket.entry];
    return entry.writes != 0 && entry.number == ticket.number && entry.finish == 0;
  }
  uint64_t line_of(const WriteTicket& ticket) const { return entries_[ticket.entry].line; }

 private:
  static constexpr Time kNever = ~Time{0};

  struct Entry {
    uint64_t line = 0;
    Time accepted = 0;
    Time finish = 0;  ///< 0 while the write waits
    uint64_t row = 0;
    uint64_t number = 0;     ///< counts acceptances
    uint32_t writes = 0;     ///< merged here and not taken back; 0: the entry is unused
    uint16_t next = kNone;   ///< next of the bank's waiting writes, or of the unused entries
    uint16_t chain = kNone;  ///< next of the hash chain, which begins with the newest
  };

  // --- the table of queued lines

  size_t chain_of(uint64_t line) const {
    return (line * 0x9e3779b97f4a7c15) >> hash_shift_;  // Fibonacci hashing
  }

  /// The entry of a write of this line that is in the queue at `now`, or kNone.
  uint16_t find(uint64_t line, Time now) const {
    for (uint16_t i = chains_[chain_of(line)]; i != kNone; i = entries_[i].chain) {
      const Entry& entry = entries_[i];
      if (entry.line == line && entry.accepted <= now &&
          (entry.finish == 0 || entry.finish > now)) {
        return i;
      }
    }
    return kNone;
  }

  /// The entry of the newest write of this line, if that has not begun at `now`; else kNone.
  uint16_t unbegun(uint64_t line, Time now) const {
    for (uint16_t i = chains_[chain_of(line)]; i != kNone; i = entries_[i].chain) {
      const Entry& entry = entries_[i];
      if (entry.line == line) {
        return entry.finish == 0 || entry.finish - timing_.write > now ? i : kNone;
      }
    }
    return kNone;
  }

  void fill_in(WriteTicket* ticket, uint16_t entry) const {
    if (ticket != nullptr) {
      ticket->entry = entry;
      ticket->number = entries_[entry].number;
    }
  }

  uint16_t enqueue(uint64_t line, const Place& place, Time accepted) {
    const uint16_t i = unused_;
    Entry& entry = entries_[i];
    unused_ = entry.next;
    uint16_t& chain = chains_[chain_of(line)];
    entry = {line, accepted, 0, place.row, accepted_count_++, 1, kNone, chain};
    chain = i;
    Bank& bank = banks_[place.bank];
    if (bank.oldest == kNone) {
      bank.oldest = i;
      refresh_ready(place.bank);
      next_ready_ = std::min(next_ready_, ready_[place.bank]);
    } else {
      entries_[bank.newest].next = i;
    }
    bank.newest = i;
    ++used_;
    ++waiting_;
    return i;
  }

  /// Frees the entries whose bank has finished by t.
  void release(Time t) {
    while (!finishes_.empty() && finishes_.front().at <= t) {
      const auto i = static_cast<uint16_t>(finishes_.front().tag);
      finishes_.pop();
      free(i);
    }
  }

  void free(uint16_t i) {
    uint16_t* link = &chains_[chain_of(entries_[i].line)];
    while (*link != i) {
      link = &entries_[*link].chain;
    }
    *link = entries_[i].chain;
    entries_[i].writes = 0;
    entries_[i].next = unused_;
    unused_ = i;
    --used_;
  }

  /// Takes a waiting entry out of its bank's list, and frees it.
  void remove(uint16_t i, size_t bank_number) {
    Bank& bank = banks_[bank_number];
    uint16_t before = kNone;
    for (uint16_t at = bank.oldest; at != i; at = entries_[at].next) {
      before = at;
    }
    (before == kNone ? bank.oldest : entries_[before].next) = entries_[i].next;
    bank.newest = bank.newest == i ? before : bank.newest;
    free(i);
    --waiting_;
    refresh_ready(bank_number);
    if (draining_ && waiting_ == 0) {
      draining_ = false;
      drains_.add(drain_begin_, drain_begin_);
    }
  }

  /// The queue is full. Frees the entry that becomes free first, and returns that time (rule 10).
  Time next_free() {
    if (finishes_.empty()) {
      begin_next();
    } else {
      pump(finishes_.front().at - timing_.write);
    }
    const Time t = finishes_.front().at;
    pump(t);
    release(t);
    return t;
  }

  // --- from the queue to the banks

  /// Updates ready_: the time at which the bank's oldest waiting write could begin; never if there
  /// is none.
  void refresh_ready(size_t bank) {
    const uint16_t oldest = banks_[bank].oldest;
    if (oldest == kNone) {
      chosen_ = chosen_ == bank ? kNone : chosen_;
      ready_[bank] = kNever;
      return;
    }
    chosen_ = kNone;
    ready_[bank] =
        std::max(banks_[bank].free_for_write(timing_.turnaround), entries_[oldest].accepted);
    order_[bank] = entries_[oldest].number * kMostBanks + bank;
  }

  /// Begins all writes that rules 7 and 9 let begin before t.
  void pump(Time t) {
    while ((waiting_ > timing_.low || draining_) && next_ready_ < t) {
      const size_t bank = next_bank();
      const Time start = bus_.free_for_write(std::max(ready_[bank], eligible_));
      if (start >= t) {
        next_ready_ = start;
        return;
      }
      begin(bank, start);
      next_ready_ = std::max(next_ready_, start + timing_.bus);
    }
  }

  void begin_next() {
    const size_t bank = next_bank();
    begin(bank, bus_.free_for_write(std::max(ready_[bank], eligible_)));
  }

  /// The bank that can begin a write first; of several, the one with the oldest write. Two loops
  /// without branches, two banks at a time, because a saturated controller spends its time here.
  size_t next_bank() {
    if (chosen_ != kNone) {
      return chosen_;
    }
    const size_t n = ready_.size();
    Time even = kNever;
    Time odd = kNever;
    for (size_t i = 0; i < n; i += 2) {
      even = std::min(even, ready_[i]);
      odd = std::min(odd, ready_[i + 1]);
    }
    const Time time = std::max(std::min(even, odd), eligible_);
    const auto order = [&](size_t i) {  // all bits are ones for a bank that is not ready
      return order_[i] | (uint64_t{0} - uint64_t{ready_[i] > time});
    };
    even = odd = kNever;
    for (size_t i = 0; i < n; i += 2) {
      even = std::min(even, order(i));
      odd = std::min(odd, order(i + 1));
    }
    chosen_ = static_cast<uint16_t>(std::min(even, odd) & (kMostBanks - 1));
    return chosen_;
  }

  void begin(size_t bank_number, Time start) {
    Bank& bank = banks_[bank_number];
    const uint16_t i = bank.oldest;
    Entry& entry = entries_[i];
    bank.oldest = entry.next;
    bank.open_row = entry.row;
    bank.write(start, timing_.write, now_, timing_.turnaround);
    bus_.write(start);
    entry.finish = start + timing_.write;
    finishes_.insert(entry.finish, i);
    refresh_ready(bank_number);
    --waiting_;
    if (draining_ && (--quota_ == 0 || waiting_ == 0)) {
      draining_ = false;
      drains_.add(drain_begin_, start);
    }
  }

  void begin_drain(Time t, size_t quota) {
    draining_ = true;
    drain_begin_ = t;
    quota_ = quota;
    if (waiting_ <= timing_.low) {
      make_eligible(t);
    }
  }

  void make_eligible(Time t) {
    eligible_ = t;
    next_ready_ = 0;
    chosen_ = kNone;
  }

  void finish_drain() {
    while (draining_) {
      begin_next();
    }
  }

  /// Makes the bank write its entries up to this one. Returns the time at which this one begins.
  Time write_out(uint16_t entry, size_t bank, Time t) {
    while (entries_[entry].finish == 0) {
      begin(bank, bus_.free_for_write(std::max(ready_[bank], t)));
    }
    return entries_[entry].finish - timing_.write;
  }

  const Timing& timing_;
  Bus bus_;
  std::vector<Bank> banks_;
  std::vector<Time> ready_;       ///< by bank, see refresh_ready(); padded to an even length
  std::vector<uint64_t> order_;   ///< by bank: the number of its oldest waiting write, and the bank
  Moments finishes_;              ///< the ends of the writes that have begun
  std::vector<Entry> entries_;    ///< the write queue
  std::vector<uint16_t> chains_;  ///< the table of queued lines: the heads of its hash chains
  int hash_shift_;
  uint16_t unused_ = 0;  ///< the first unused entry
  size_t used_ = 0;
  size_t waiting_ = 0;  ///< the used entries whose write has not begun
  uint64_t accepted_count_ = 0;
  Time now_ = 0;             ///< `now` of the present call
  Time next_ready_ = 0;      ///< no write can begin before this time
  uint16_t chosen_ = kNone;  ///< the last result of next_bank() while it is valid
  Time eligible_ = 0;        ///< the time since which rule 7 or 9 lets writes begin
  bool draining_ = false;
  size_t quota_ = 0;  ///< writes that the drain still has to begin
  Time drain_begin_ = 0;
  DrainHistory drains_;
};

}  // namespace holdfast::sim
