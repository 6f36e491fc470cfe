// SPDX-License-Identifier: Apache-2.0
//
// The part of TransactionCache for options, power failure and recovery.
//
// The structures: kEntries has a SavedEntry and the line for each entry of each core's TC,
// kRegisters a Register for each hardware thread. Each thread's log has kLogBytes of the own
// region: the lines of its records, and from kDescriptions on a SavedRecord for each.
#include <algorithm>
#include <cstring>
#include <set>

#include "holdfast/hardware/parts/hardware_slots.h"
#include "holdfast/hardware/tc/transaction_cache.h"

namespace holdfast {
namespace {

// Hercules (ACM TECS 2023), table 2: side-path TC, 4 KB, FIFO, 40/50 cycles read/write.
constexpr OptionInfo kBytes = {"bytes", "4096", "size of one core's TC, 64 bytes to 1 GiB"};
constexpr OptionInfo kRead = {"read_cycles", "40",
                              "cycles to read an entry, 0 to 1000000; also to probe all TCs"};
constexpr OptionInfo kWrite = {"write_cycles", "50", "cycles to write an entry, 0 to 1000000"};
constexpr OptionInfo kProbe = {"probe_first", "1",
                               "0: a miss asks PM and the TCs at the same time"};
constexpr OptionInfo kOptions[] = {kBytes, kRead, kWrite, kProbe};

Result<std::unique_ptr<HardwareDesign>> make_tc(const Options& options) {
  auto bytes = option_number(options, kBytes, 64, 1 << 30);
  auto read = option_number(options, kRead, 0, 1'000'000);
  auto write = option_number(options, kWrite, 0, 1'000'000);
  auto probe = option_number(options, kProbe, 0, 1);
  for (auto* number : {&bytes, &read, &write, &probe}) {
    if (!number->ok()) {
      return number->status();
    }
  }
  return std::unique_ptr<HardwareDesign>(std::make_unique<TransactionCache>(
      TransactionCacheOptions{.bytes = *bytes,
                              .read_cycles = static_cast<double>(*read),
                              .write_cycles = static_cast<double>(*write),
                              .probe_first = *probe != 0}));
}

constexpr uint64_t kLogBytes = uint64_t{1} << 30;
constexpr uint64_t kDescriptions = kLogBytes / 2;

template <class T>
T read_as(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

DesignInfo tc_info() {
  return {.name = "tc",
          .title = "persistent transaction cache beside each L1",
          .source = "TC (DAC 2017), sizes as in Hercules (ACM TECS 2023), table 2",
          .survives = "the transaction caches and their log in PM: every committed transaction",
          .durable = true,
          .options = kOptions,
          .make = make_tc};
}

std::vector<StructureInfo> TransactionCache::structures(const MachineDescription& machine) const {
  const auto cores = static_cast<size_t>(machine.cores * machine.sockets) + 1;
  const size_t capacity = std::max<size_t>(1, options_.bytes / machine.line_bytes);
  return {
      {.name = "entries",
       .entries = cores * capacity,
       .entry_bytes = sizeof(SavedEntry) + machine.line_bytes},
      {.name = "registers", .entries = hardware_slots(machine), .entry_bytes = sizeof(Register)}};
}

Place TransactionCache::record_place(size_t slot, uint64_t record, size_t line_bytes) {
  return {Space::own, slot * kLogBytes + record * line_bytes};
}

/// The line in which the record's description is.
Place TransactionCache::description_place(size_t slot, uint64_t record, size_t line_bytes) {
  const uint64_t offset = record * sizeof(SavedRecord);
  return {Space::own, slot * kLogBytes + kDescriptions + offset / line_bytes * line_bytes};
}

/// Brings an entry's bytes into the TC.
void TransactionCache::save(const Entry& entry, Time now) {
  std::vector<std::byte> bytes(sizeof(SavedEntry) + entry.bytes.size());
  const SavedEntry saved{1, entry.line.at.offset, entry.tx, entry.slot, entry.number};
  std::memcpy(bytes.data(), &saved, sizeof(saved));
  std::memcpy(bytes.data() + sizeof(saved), entry.bytes.data(), entry.bytes.size());
  context().change(kEntries, entry.place, bytes.data(), now);
}

void TransactionCache::set_register(size_t slot, Time now) {
  context().change(kRegisters, slot, reinterpret_cast<const std::byte*>(&registers_[slot]), now);
}

/// The stores of transactions are in TCs. Caches that survive write all other dirty lines back.
void TransactionCache::power_failure(PowerFailure& power) const {
  std::set<uint64_t> held;
  const StructureInfo info = structures(power.machine())[kEntries];
  for (size_t i = 0; i < info.entries; ++i) {
    const auto saved = read_as<SavedEntry>(power.entry(kEntries, i));
    if (saved.used != 0) {
      held.insert(saved.offset);
    }
  }
  power.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
    if (cached.dirty && (cached.flags & kHeld) == 0 && !held.contains(cached.line.at.offset)) {
      power.write(cached.line.at, {bytes, power.line_bytes()});
    }
  });
}

/// Finds the committed entries in TCs and logs, and counts the transactions. A thread's log counts
/// as its last one.
void TransactionCache::find_committed(std::vector<Committed>& found, DesignRecovery& recovery,
                                      Time& now) {
  const size_t line = context().line_bytes();
  std::set<uint64_t> committed;
  std::set<uint64_t> active;
  const std::vector<StructureInfo> infos = structures(context().machine());
  for (size_t slot = 0; slot < infos[kRegisters].entries; ++slot) {
    registers_[slot] = read_as<Register>(context().entry(kRegisters, slot));
    const Register& own = registers_[slot];
    if (own.log_begin != own.log_end) {
      committed.insert(own.committed);
    }
    std::vector<std::byte> descriptions(line);
    for (uint64_t record = own.log_begin; record < own.log_end; ++record) {
      const size_t index = record % (line / sizeof(SavedRecord));
      if (record == own.log_begin || index == 0) {
        now = context().read(description_place(slot, record, line), descriptions.data(),
                             ReadCause::recovery, now);
      }
      std::vector<std::byte> bytes(line);
      now =
          context().read(record_place(slot, record, line), bytes.data(), ReadCause::recovery, now);
      const auto saved = read_as<SavedRecord>(
          std::span<const std::byte>(descriptions).subspan(index * sizeof(SavedRecord)));
      found.push_back({saved.number, saved.offset, slot, true, record, std::move(bytes)});
    }
  }
  now += capacity_ * read_time_;  // all TCs at the same time
  for (size_t i = 0; i < infos[kEntries].entries; ++i) {
    const std::span<const std::byte> entry = context().entry(kEntries, i);
    const auto saved = read_as<SavedEntry>(entry);
    if (saved.used == 0) {
      continue;
    }
    if (saved.tx > registers_[saved.slot].committed) {
      active.insert(saved.tx);
      continue;
    }
    committed.insert(saved.tx);
    const std::byte* bytes = entry.data() + sizeof(SavedEntry);
    found.push_back({saved.number, saved.offset, saved.slot, false, i, {bytes, bytes + line}});
  }
  // A store may have interrupted a spill. Then the record has older bytes than the entry.
  std::sort(found.begin(), found.end(), [](const Committed& a, const Committed& b) {
    return a.number != b.number ? a.number < b.number : a.logged && !b.logged;
  });
  recovery.transactions = committed.size();
  recovery.discarded = active.size();
}

/// Writes everything home before it gives anything up. It gives up older entries first: after
/// another power failure, an old entry must not come home over a newer one that is gone.
Time TransactionCache::recover(DesignRecovery& recovery, Time now) {
  std::vector<Committed> found;
  find_committed(found, recovery, now);
  for (const Committed& entry : found) {
    const Place home{Space::home, entry.offset};
    now = std::max(now, context().write(home, entry.bytes.data(), Cause::recovery, now).accepted);
    ++recovery.lines_written;
  }
  const StructureInfo info = structures(context().machine())[kEntries];
  const std::vector<std::byte> unused(info.entry_bytes);
  for (const Committed& entry : found) {
    if (entry.logged) {
      registers_[entry.slot].log_begin = entry.place + 1;
      set_register(entry.slot, now);
    } else {
      context().change(kEntries, entry.place, unused.data(), now);
    }
  }
  for (size_t i = 0; i < info.entries; ++i) {  // the active ones
    if (read_as<SavedEntry>(context().entry(kEntries, i)).used != 0) {
      context().change(kEntries, i, unused.data(), now);
    }
  }
  for (size_t slot = 0; slot < registers_.size(); ++slot) {  // numbers begin anew
    registers_[slot] = {};
    set_register(slot, now);
  }
  recovery.text = std::to_string(recovery.transactions) + " transactions written home from TCs (" +
                  std::to_string(recovery.lines_written) + " lines), " +
                  std::to_string(recovery.discarded) + " discarded";
  return now;
}

}  // namespace holdfast
