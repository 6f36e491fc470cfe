// SPDX-License-Identifier: Apache-2.0
//
// The rules of the memory controller. The numbers are cited in the code.
//
//  1. Half of path_ns is the way to the controller, the other half the way back. Channels are
//     independent. Consecutive lines lie on consecutive channels, and consecutive rows (of a
//     channel's lines) on consecutive banks.
//  2. A read takes its bank for read_ns, or for row_hit_ns if the bank's last access was to the
//     same row. Then it takes the bus for bus_ns. A write takes its bank for write_ns, and the bus
//     for the first bus_ns of that.
//  3. A bank rests for turnaround_ns between a read and a write. So does the bus before a write
//     that follows a read.
//  4. A read holds an entry of the read queue until its value has left. If all entries are held, it
//     waits until the first becomes free.
//  5. A write holds an entry of the write queue until its bank has finished. If all entries are
//     held, writes are accepted as entries become free, in the order of calls. An accepted write is
//     persistent.
//  6. If a write of the line is in the queue and has not begun, a new write of the line merges with
//     it at once. A read of a line in the queue is served from there in path_ns. Without `forwards`
//     the read instead makes the bank first write its older entries.
//  7. Idle-time writes: while more than drain_low of the entries wait, an idle bank begins its
//     oldest write. If several banks are idle, the one with the oldest write begins. At or below
//     drain_low, writes stay in the queue: they are persistent, and may still merge or be read.
//  8. A read goes before all waiting writes, but behind earlier reads of its bank and behind the
//     write in service. It takes the bus before writes too; these catch up afterwards.
//  9. A drain begins when drain_high of the entries are in use. Its quota is fixed at that moment:
//     down to drain_low waiting entries, and at least drain_batch writes. A read that comes during
//     a drain waits for the drain's writes to its bank. Later writes do not prolong its wait.
// 10. If the queue is full, the controller looks ahead to the next free entry and books writes
//     beyond `now`. A later call still goes before them (rule 8). They then move to the end of the
//     bank's work, but acceptance times that were returned before do not change.
// 11. A bank remembers its last four bookings, and the bus all transfers of queued reads. A request
//     that comes with an earlier `now` takes the first gap that it fits in.
// 12. A write that has not begun can be taken back. Its entry becomes free at once, unless another
//     write has merged with it.
#include "holdfast/machine/sim/caches/memory_controller.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "holdfast/machine/sim/caches/memory_channel.h"

namespace holdfast::sim {
namespace {

void require(bool condition, const char* what) {
  if (!condition) {
    throw Error(Status(Code::invalid_argument, std::string("memory controller: ") + what));
  }
}

Time picoseconds(double ns, const char* name) {
  require(ns >= 0 && ns < 1e9, name);
  return static_cast<Time>(std::llround(ns * 1000));
}

}  // namespace

MemoryController::Divisor::Divisor(uint64_t by)
    : by_(by), shift_(std::has_single_bit(by) ? std::countr_zero(by) : -1) {}

MemoryController::MemoryController(const MemoryDescription& d, size_t line_bytes) {
  require(d.channels >= 1, "it needs at least one channel");
  require(d.banks >= 1 && static_cast<uint64_t>(d.banks) <= Channel::kMostBanks,
          "banks: 1 to 1024");
  require(d.read_queue >= 1 && d.write_queue >= 1 && d.write_queue < Channel::kNone,
          "queues need 1 to 65534 entries");
  require(d.drain_low >= 0 && d.drain_low <= d.drain_high && d.drain_high <= 1,
          "drain_low and drain_high are parts of the queue: 0 <= drain_low <= drain_high <= 1");
  require(d.drain_batch >= 1, "drain_batch is at least 1");
  require(line_bytes >= 1, "line_bytes is at least 1");
  timing_.read = picoseconds(d.read_ns, "read_ns is not a time below a second");
  timing_.row_hit = picoseconds(d.row_hit_ns, "row_hit_ns is not a time below a second");
  timing_.write = picoseconds(d.write_ns, "write_ns is not a time below a second");
  timing_.bus = picoseconds(d.bus_ns, "bus_ns is not a time below a second");
  timing_.turnaround = picoseconds(d.turnaround_ns, "turnaround_ns is not a time below a second");
  const Time path = picoseconds(d.path_ns, "path_ns is not a time below a second");
  timing_.path_there = path / 2;
  timing_.path_back = path - path / 2;
  timing_.read_queue = static_cast<size_t>(d.read_queue);
  timing_.write_queue = static_cast<size_t>(d.write_queue);
  timing_.high = std::max<size_t>(1, static_cast<size_t>(std::ceil(d.drain_high * d.write_queue)));
  timing_.low = std::min(timing_.high - 1, static_cast<size_t>(d.drain_low * d.write_queue));
  timing_.batch = static_cast<size_t>(d.drain_batch);
  timing_.rows = d.row_bytes != 0;
  timing_.forwards = d.forwards;
  timing_.merges = d.merges;
  channel_count_ = Divisor(static_cast<uint64_t>(d.channels));
  row_lines_ = Divisor(std::max<uint64_t>(1, d.row_bytes / line_bytes));
  bank_count_ = Divisor(static_cast<uint64_t>(d.banks));
  channels_.reserve(static_cast<size_t>(d.channels));
  for (int i = 0; i < d.channels; ++i) {
    channels_.emplace_back(timing_, static_cast<size_t>(d.banks));
  }
}

MemoryController::~MemoryController() = default;

MemoryController::Place MemoryController::place(uint64_t line) const {
  const uint64_t in_channel = channel_count_.quotient(line);
  const uint64_t row = row_lines_.quotient(in_channel);
  const uint64_t in_bank = bank_count_.quotient(row);
  return {line - in_channel * channel_count_.by(), row - in_bank * bank_count_.by(), in_bank};
}

Time MemoryController::read(uint64_t line, Time now) {
  return read_inside(line, now + timing_.path_there) + timing_.path_back;
}

Time MemoryController::read_inside(uint64_t line, Time now) {
  ++counters_.reads;
  const Place at = place(line);
  return channels_[at.channel].read(line, at, now, counters_);
}

Time MemoryController::write(uint64_t line, Time now, WriteTicket* ticket) {
  ++counters_.writes;
  const Place at = place(line);
  if (ticket != nullptr) {
    ticket->channel = at.channel;
  }
  const uint64_t merged = counters_.merged;
  const Time accepted =
      channels_[at.channel].write(line, at, now + timing_.path_there, counters_, ticket);
  if (wear_ && counters_.merged == merged) {
    wear_->add(line);
  }
  return accepted;
}

bool MemoryController::cancel(const WriteTicket& ticket, Time now) {
  Channel& channel = channels_[ticket.channel];
  const uint64_t line = channel.line_of(ticket);
  const uint64_t merged = counters_.merged;
  if (!channel.cancel(ticket, place(line), now, counters_)) {
    return false;
  }
  if (wear_ && counters_.merged == merged) {
    wear_->take_back(line);
  }
  return true;
}

bool MemoryController::waits(const WriteTicket& ticket) const {
  return channels_[ticket.channel].waits(ticket);
}

Time MemoryController::drained(Time now) {
  Time last = now;
  for (Channel& channel : channels_) {
    last = std::max(last, channel.drained(now));
  }
  return last;
}

bool MemoryController::queued(uint64_t line, Time now) {
  return channels_[place(line).channel].queued(line, now);
}

}  // namespace holdfast::sim
