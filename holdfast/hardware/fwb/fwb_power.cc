// SPDX-License-Identifier: Apache-2.0
//
// The part of Fwb for options, the machine, and recovery.
#include <algorithm>
#include <cstring>

#include "holdfast/hardware/fwb/fwb.h"
#include "holdfast/hardware/parts/hardware_slots.h"
#include "holdfast/hardware/parts/home_lines.h"

namespace holdfast {
namespace {

// The original's sizes, from a summary: a buffer of 15 or 16 entries, a log of 4 MB, a scan about
// every 3 million cycles.
constexpr OptionInfo kBuffer = {"buffer", "16", "records of a core's log buffer, 1 to 65536"};
constexpr OptionInfo kLog = {"log", "4194304",
                             "bytes of the log in persistent memory, 4 KiB to 1 TiB"};
constexpr OptionInfo kScanCycles = {
    "scan_cycles", "3000000",
    "cycles from the end of a scan of the caches to the next, 1 to 1000000000000"};
constexpr OptionInfo kScanLines = {"scan_lines", "64",
                                   "lines that a scan has on their way, 1 to 4096"};
constexpr OptionInfo kPrinted = {
    "printed", "none",
    "a published sentence taken at its word, which loses data: order, wrap, abort"};
constexpr OptionInfo kOptions[] = {kBuffer, kLog, kScanCycles, kScanLines, kPrinted};
constexpr const char* kPrintedNames[] = {"none", "order", "wrap", "abort"};

Result<std::unique_ptr<HardwareDesign>> make_fwb(const Options& options) {
  FwbOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) -> uint64_t {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.buffer = read(kBuffer, 1, 1 << 16);
  o.log = read(kLog, 4096, uint64_t{1} << 40);
  o.scan_cycles = static_cast<double>(read(kScanCycles, 1, 1'000'000'000'000));
  o.scan_lines = read(kScanLines, 1, 4096);
  auto printed = option_choice(options, kPrinted, kPrintedNames);
  status = status.ok() ? printed.status() : status;
  if (!status.ok()) {
    return status;
  }
  o.printed = static_cast<FwbOptions::Printed>(*printed);
  return std::unique_ptr<HardwareDesign>(std::make_unique<Fwb>(o));
}

}  // namespace

DesignInfo fwb_info() {
  return {.name = "fwb",
          .title = "a log of undo and redo records, and scans that write dirty lines back",
          .source = "Steal but No Force (HPCA 2018), as Hercules (ACM TECS 2023) compares it",
          .survives = "the log of undo and redo records: every committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_fwb};
}

void Fwb::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design fwb is made for caches that do not survive a power "
                       "failure: domain pmem"));
  }
  log_.attach(context, 0, options_.log, context.line_bytes());
  threads_.resize(hardware_slots(context.machine()));
  if (log_.slots() < 2 * reserve()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design fwb needs a log of " +
                           std::to_string((2 * reserve() + 1) * context.line_bytes()) +
                           " bytes or more on machine " + context.machine().name));
  }
  buffers_.resize(static_cast<size_t>(context.cores()));
  open_.bytes.resize(context.line_bytes());
}

/// Reads the log up to its first gap: a line that is missing, or not as full as it was made before
/// the next one. Nothing behind the gap was relied on when the power failed.
Time Fwb::read_log(std::vector<Record>& records, Time now) {
  bool whole = true;
  std::vector<std::byte> stream;
  const auto add = [&](uint64_t slot, const std::byte* bytes) {
    Head head;
    std::memcpy(&head, bytes, sizeof(head));
    if (head.number != slot + 1) {
      whole = false;
      return false;
    }
    if (whole) {
      const size_t from = slot == log_.tail() ? head.first : 0;  // the record before is not needed
      const size_t to = std::min<size_t>(head.used, payload());
      stream.insert(stream.end(), bytes + sizeof(head) + std::min(from, to),
                    bytes + sizeof(head) + to);
    }
    whole = whole && head.used == payload();
    return true;
  };
  now = log_.scan(add, now);
  records.resize(stream.size() / sizeof(Record));
  if (!records.empty()) {
    std::memcpy(records.data(), stream.data(), records.size() * sizeof(Record));
  }
  return now;
}

/// The words that recovery writes home: new ones of committed transactions, in their order, then
/// the old ones of those that have no end.
Fwb::Words Fwb::words_of(const std::vector<Record>& records, DesignRecovery& recovery) const {
  const size_t line = context().line_bytes();
  Words words;
  struct Pending {
    Record record;
    bool redo = true;
  };
  std::vector<std::vector<Pending>> open(threads_.size());
  for (const Record& record : records) {
    std::vector<Pending>& own = open[record.slot % open.size()];
    switch (static_cast<Kind>(record.kind)) {
      case Kind::word:
        own.push_back({record});
        break;
      case Kind::commit:
        for (const Pending& pending : own) {
          if (pending.redo) {
            words[pending.record.home_bytes] = pending.record.redo;
          }
        }
        own.clear();
        ++recovery.transactions;
        break;
      case Kind::abort:
        own.clear();
        break;
      case Kind::outside: {
        const uint64_t begin = record.home_bytes;
        words.erase(words.lower_bound(begin), words.lower_bound(begin + line));
        for (std::vector<Pending>& all : open) {
          for (Pending& pending : all) {
            pending.redo &= pending.record.home_bytes / line != begin / line;
          }
        }
        break;
      }
    }
  }
  for (const std::vector<Pending>& own : open) {
    recovery.discarded += own.empty() ? 0 : 1;
    for (auto pending = own.rbegin(); pending != own.rend(); ++pending) {
      words[pending->record.home_bytes] = pending->record.undo;
    }
  }
  return words;
}

/// Everything is home before the log is given up, so that recovery can begin again.
Time Fwb::recover(DesignRecovery& recovery, Time now) {
  std::vector<Record> records;
  now = read_log(records, now);
  HomeLines lines(context());
  for (const auto& [home, value] : words_of(records, recovery)) {
    lines.put(home, std::as_bytes(std::span(&value, 1)));
  }
  now = lines.write(now);
  if (log_.head() != log_.tail()) {
    now = log_.restart(now);
  }
  scan_begin_ = last_begin_ = log_.head();
  recovery.lines_written = lines.lines();
  recovery.text = std::to_string(recovery.transactions) + " transactions completed, " +
                  std::to_string(recovery.discarded) + " discarded, " +
                  std::to_string(recovery.lines_written) + " lines written home";
  return now;
}

}  // namespace holdfast
