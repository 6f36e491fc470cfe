// SPDX-License-Identifier: Apache-2.0
//
// The part of Kiln for options, the machine, and recovery.
//
// Each hardware thread has a log in kZone bytes of the own region: the records, a line each, and
// behind them their addresses, eight bytes each.
#include <algorithm>
#include <cstring>
#include <set>

#include "holdfast/hardware/kiln/kiln.h"

namespace holdfast {
namespace {

using Printed = KilnOptions::Printed;

// Hercules (ACM TECS 2023), table 2: STT-RAM LLC, 64 MB (16 MB without Kiln), 40/50 cycles.
constexpr OptionInfo kBytes = {
    "bytes", "0", "size of the last level, 0 to 4 GiB; 0: four times that of the machine"};
constexpr OptionInfo kRead = {"read_cycles", "40",
                              "cycles to read a line of the last level, 0 to 1000000"};
constexpr OptionInfo kWrite = {"write_cycles", "50", "cycles to write one, 0 to 1000000"};
constexpr OptionInfo kBanks = {"banks", "8",
                               "banks of the last level, which write at the same time, 1 to 1024"};
constexpr OptionInfo kQueue = {"queue", "64",
                               "entries of a thread's request queue, 0 to 65536; 0: no limit"};
constexpr OptionInfo kReserve = {
    "reserve_percent", "12",
    "percent of them that are left for lines on their way to the log, 0 to 99"};
constexpr OptionInfo kSearch = {"search_cycles", "10",
                                "cycles to search the addresses of lines in the log, 0 to 1000000"};
constexpr OptionInfo kPrinted = {
    "printed", "none",
    "a published sentence taken at its word, which loses data: states, overwrite, home"};
constexpr OptionInfo kOptions[] = {kBytes, kRead,    kWrite,  kBanks,
                                   kQueue, kReserve, kSearch, kPrinted};

Result<Printed> read_printed(const Options& options) {
  static constexpr const char* kNames[] = {"none", "states", "overwrite", "home"};
  const auto given = options.find(kPrinted.name);
  const std::string text = given == options.end() ? kPrinted.fallback : given->second;
  const auto found = std::find(std::begin(kNames), std::end(kNames), text);
  if (found == std::end(kNames)) {
    return wrong_value("option printed", text, "none, states, overwrite or home");
  }
  return static_cast<Printed>(found - std::begin(kNames));
}

Result<std::unique_ptr<HardwareDesign>> make_kiln(const Options& options) {
  KilnOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.bytes = read(kBytes, 0, uint64_t{1} << 32);
  o.read_cycles = static_cast<double>(read(kRead, 0, 1'000'000));
  o.write_cycles = static_cast<double>(read(kWrite, 0, 1'000'000));
  o.banks = read(kBanks, 1, 1024);
  o.queue = read(kQueue, 0, 1 << 16);
  o.reserve_percent = read(kReserve, 0, 99);
  o.search_cycles = static_cast<double>(read(kSearch, 0, 1'000'000));
  Result<Printed> printed = read_printed(options);
  status = status.ok() ? printed.status() : status;
  if (!status.ok()) {
    return status;
  }
  o.printed = *printed;
  return std::unique_ptr<HardwareDesign>(std::make_unique<Kiln>(o));
}

/// The latency of the levels above the last one, which an access of the last level pays too.
double cycles_above(const MachineDescription& machine) {
  return machine.l2.bytes != 0 ? machine.l2.hit_cycles : machine.l1.hit_cycles;
}

constexpr uint64_t kZone = uint64_t{1} << 31;
constexpr uint64_t kHeaders = uint64_t{1} << 30;

}  // namespace

DesignInfo kiln_info() {
  return {.name = "kiln",
          .title = "transactions in a last-level cache of non-volatile memory",
          .source = "Kiln (MICRO 2013), as in Hercules (ACM TECS 2023), table 2",
          .survives =
              "the last level and the log of lines that it could not hold: every "
              "committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_kiln};
}

DesignWishes Kiln::wishes() const {
  return {.every_store = options_.queue != 0,
          .victims = true,
          .versions = true,
          .flags_move_up = true,
          .nonvolatile_llc = true};
}

void Kiln::adapt(MachineDescription& machine) const {
  constexpr size_t kDenser = 4;  // 64 MB take the place of 16
  CacheDescription& llc = machine.llc;
  const size_t bytes = options_.bytes != 0 ? options_.bytes : kDenser * llc.bytes;
  const size_t way = machine.line_bytes * static_cast<size_t>(llc.ways);
  llc.bytes = llc.bytes == 0 ? 0 : std::max(way, bytes / way * way);
  llc.hit_cycles = cycles_above(machine) + options_.read_cycles;
  llc.write_cycles = cycles_above(machine) + options_.write_cycles;
  llc.inclusive = false;
  llc.fills_on_miss = true;
}

std::vector<StructureInfo> Kiln::structures(const MachineDescription& machine) const {
  constexpr size_t kMainAndBackground = 2;
  const auto slots = static_cast<size_t>(machine.hardware_threads()) + kMainAndBackground;
  return {{.name = "threads", .entries = slots, .entry_bytes = sizeof(Register)}};
}

void Kiln::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  const MachineDescription& machine = context.machine();
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design kiln is made for caches of which only the last level "
                       "survives: domain pmem"));
  }
  if (machine.llc.bytes == 0 || machine.llc.cores < machine.cores * machine.sockets) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design kiln needs a machine with one last level for all cores, "
                       "and machine " +
                           machine.name + " has none or several"));
  }
  write_time_ = context.cycles(options_.write_cycles);
  search_time_ = context.cycles(options_.search_cycles);
  banks_.resize(options_.banks);
  threads_.resize(structures(machine)[kThreads].entries);
  for (Thread& thread : threads_) {
    thread.headers.resize(context.line_bytes());
  }
  filled_.resize(context.line_bytes());
}

Place Kiln::record_place(size_t slot, uint64_t record) const {
  return {Space::own, slot * kZone + record % kRecords * context().line_bytes()};
}

/// The line in which the record's address is.
Place Kiln::header_place(size_t slot, uint64_t record) const {
  const size_t line = context().line_bytes();
  const uint64_t offset = record % kRecords * sizeof(uint64_t);
  return {Space::own, slot * kZone + kHeaders + offset / line * line};
}

void Kiln::set_register(size_t slot, const Register& value, Time now) {
  context().change(kThreads, slot, reinterpret_cast<const std::byte*>(&value), now);
}

Kiln::Register Kiln::register_of(size_t slot) const {
  Register value;
  std::memcpy(&value, context().entry(kThreads, slot).data(), sizeof(value));
  return value;
}

/// Collects the committed lines of a thread's log. A later record of a line covers an earlier one.
Time Kiln::read_log(size_t slot, const Register& committed, Remains& remains, Time now) {
  std::vector<std::byte> headers(context().line_bytes());
  for (uint64_t record = committed.log_begin; record < committed.log_end; ++record) {
    const size_t in_headers = record % (headers.size() / sizeof(uint64_t));
    if (record == committed.log_begin || in_headers == 0) {
      now = context().read(header_place(slot, record), headers.data(), ReadCause::recovery, now);
    }
    uint64_t home;
    std::memcpy(&home, &headers[in_headers * sizeof(home)], sizeof(home));
    std::vector<std::byte>& bytes = remains[home];
    bytes.resize(context().line_bytes());
    now = context().read(record_place(slot, record), bytes.data(), ReadCause::recovery, now);
  }
  return now;
}

/// Writes everything home before the registers change, so that recovery can begin again. A line of
/// the last level is newer than its records in the log. The last level keeps its lines until this
/// returns: the registers then say that flagged ones are uncommitted.
Time Kiln::recover(DesignRecovery& recovery, Time now) {
  Remains remains;
  std::set<size_t> committed;
  std::set<size_t> discarded;
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    const Register own = register_of(slot);
    if (own.log_begin != own.log_end) {
      committed.insert(slot);
      now = read_log(slot, own, remains, now);
    }
  }
  const Time read_time = context().cycles(options_.read_cycles);
  context().for_each_remaining([&](const CachedLine& cached, const std::byte* bytes) {
    if (!cached.dirty) {
      return;
    }
    now += read_time;
    if (cached.flags != 0) {
      const size_t slot = slot_of(cached.flags);
      const bool open = register_of(slot).open != 0 || options_.printed == Printed::states;
      (open ? discarded : committed).insert(slot);
      if (open) {
        return;
      }
    }
    remains[cached.line.at.offset].assign(bytes, bytes + context().line_bytes());
  });
  Time home = now;
  for (const auto& [offset, bytes] : remains) {
    const Place to{Space::home, offset};
    home = std::max(home, context().write(to, bytes.data(), Cause::recovery, now).accepted);
    ++recovery.lines_written;
  }
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    set_register(slot, {1, 0, 0}, home);
  }
  recovery.transactions = committed.size();
  recovery.discarded = discarded.size();
  recovery.text = std::to_string(recovery.transactions) + " transactions completed, " +
                  std::to_string(recovery.discarded) + " discarded, " +
                  std::to_string(recovery.lines_written) + " lines written home";
  return home;
}

}  // namespace holdfast
