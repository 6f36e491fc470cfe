// SPDX-License-Identifier: Apache-2.0
//
// The part of Proteus for options, the machine, and recovery.
//
// Each hardware thread has a circular log of `area` bytes in the own region. An entry has a line.
#include <algorithm>
#include <cstring>

#include "holdfast/hardware/parts/hardware_slots.h"
#include "holdfast/hardware/parts/home_lines.h"
#include "holdfast/hardware/parts/own_log.h"
#include "holdfast/hardware/proteus/proteus.h"

namespace holdfast {
namespace {

// The original's sizes, from a summary: LogQ 16, LLT 64.
constexpr OptionInfo kLogQ = {"logq", "16", "entries of a core's log queue, 1 to 65536"};
constexpr OptionInfo kLlt = {"llt", "64", "blocks of a thread's log look-up table, 1 to 65536"};
constexpr OptionInfo kArea = {"area", "16777216",
                              "bytes of a thread's log in persistent memory, 4 KiB to 1 TiB"};
constexpr OptionInfo kPrinted = {
    "printed", "none",
    "a published sentence taken at its word, which loses data: drop, commit, abort"};
constexpr OptionInfo kOptions[] = {kLogQ, kLlt, kArea, kPrinted};
constexpr const char* kPrintedNames[] = {"none", "drop", "commit", "abort"};

Result<std::unique_ptr<HardwareDesign>> make_proteus(const Options& options) {
  ProteusOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) -> uint64_t {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.logq = read(kLogQ, 1, 1 << 16);
  o.llt = read(kLlt, 1, 1 << 16);
  o.area = read(kArea, 4096, uint64_t{1} << 40);
  auto printed = option_choice(options, kPrinted, kPrintedNames);
  status = status.ok() ? printed.status() : status;
  if (!status.ok()) {
    return status;
  }
  o.printed = static_cast<ProteusOptions::Printed>(*printed);
  return std::unique_ptr<HardwareDesign>(std::make_unique<Proteus>(o));
}

}  // namespace

DesignInfo proteus_info() {
  return {.name = "proteus",
          .title = "an undo log whose writes are dropped from the write queue at the commit",
          .source = "Proteus (MICRO 2017), as Hercules (ACM TECS 2023) compares it",
          .survives = "the undo log and a register of each thread: every committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_proteus};
}

std::vector<StructureInfo> Proteus::structures(const MachineDescription& machine) const {
  return {{.name = "threads", .entries = hardware_slots(machine), .entry_bytes = sizeof(Register)}};
}

void Proteus::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design proteus is made for caches that do not survive a power "
                       "failure: domain pmem"));
  }
  threads_.resize(hardware_slots(context.machine()));
  logq_.resize(static_cast<size_t>(context.cores()));
}

Place Proteus::place(size_t slot, uint64_t entry) const {
  return {Space::own, (slot * capacity() + entry % capacity()) * context().line_bytes()};
}

void Proteus::set_register(size_t slot, const Register& value, Time now) {
  context().change(kThreads, slot, reinterpret_cast<const std::byte*>(&value), now);
}

Proteus::Register Proteus::register_of(size_t slot) const {
  Register value;
  std::memcpy(&value, context().entry(kThreads, slot).data(), sizeof(value));
  return value;
}

/// Reads the entries of the thread's transaction that has not ended, oldest first, up to the first
/// gap. No line has gone home because of an entry behind one. Reads as many at a time as the LogQ
/// has.
Time Proteus::scan(size_t slot, std::vector<Entry>& entries, Time now) {
  const Register own = register_of(slot);
  const uint64_t end = own.begin + capacity();
  bool whole = true;
  for (uint64_t next = own.begin; whole && next < end;) {
    std::vector<Place> places;
    for (; next < end && places.size() < options_.logq; ++next) {
      places.push_back(place(slot, next));
    }
    const auto look = [&](size_t, const std::byte* bytes) {
      Entry entry;
      std::memcpy(&entry, bytes, sizeof(entry));
      whole = whole && entry.number > own.ended;
      if (whole) {
        entries.push_back(entry);
      }
    };
    now = read_lines(context(), places, ReadCause::recovery, look, now);
  }
  return now;
}

/// Everything is home before the registers change, so that recovery can begin again. All registers
/// change: entries behind a gap must not count when the thread's next transaction fills the gap.
Time Proteus::recover(DesignRecovery& recovery, Time now) {
  std::vector<Entry> entries;
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    const size_t before = entries.size();
    now = scan(slot, entries, now);
    recovery.discarded += entries.size() != before ? 1 : 0;
  }
  // Newest first: the oldest entry of a block has its bytes from before the transaction.
  HomeLines lines(context());
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    lines.put(entry->home, entry->old);
  }
  const Time home = lines.write(now);
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    const Register own = register_of(slot);
    set_register(slot, {own.ended + 1, own.begin}, home);
    threads_[slot] = {.number = own.ended + 2, .begin = own.begin};
  }
  recovery.lines_written = lines.lines();
  recovery.text = std::to_string(recovery.discarded) + " transactions discarded, " +
                  std::to_string(recovery.lines_written) + " lines written home";
  return home;
}

}  // namespace holdfast
