// SPDX-License-Identifier: Apache-2.0
//
// The part of Hercules for options, power failure and recovery.
//
// The own region: the array TxLen, four bytes for each transaction number; the records of the log,
// a line each; their addresses, eight bytes each; the extension of the eWPQ, eight bytes for each
// entry; the emergency area. That begins with a line that has the number of its entries. An entry
// is a line with address and transaction, and the content.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "holdfast/hardware/hercules/hercules.h"
#include "holdfast/hardware/parts/hardware_slots.h"

namespace holdfast {
namespace {

constexpr OptionInfo kEwpq = {"ewpq", "512",
                              "entries of the extended write-pending queue, 1 to 1048576"};
constexpr OptionInfo kSearch = {"search_cycles", "10",
                                "cycles of a search of the eWPQ, 0 to 1000000"};
constexpr OptionInfo kReset = {"reset_cycles", "10",
                               "cycles to clear all tags at commit, 0 to 1000000"};
constexpr OptionInfo kTag = {"tag_percent", "30",
                             "more latency of a hit of a tagged line, in percent, 0 to 1000"};
constexpr OptionInfo kL2 = {"l2_percent", "50",
                            "percent of L2's ways that tagged lines may have, 1 to 100"};
constexpr OptionInfo kLlc = {
    "llc_percent", "25", "percent of the last level's ways that tagged lines may have, 1 to 100"};
constexpr OptionInfo kSmallL1 = {"small_l1", "1",
                                 "1: L1 gives up a sixteenth of its size for tags"};
constexpr OptionInfo kMigrate = {"migrate", "3000000",
                                 "instructions between two migrations, 1 to 1099511627776"};
constexpr OptionInfo kCollect = {
    "collect", "1048576",
    "records of the log from which on its oldest are collected, 32 to 1048576"};
constexpr OptionInfo kNumbers = {
    "numbers", "2097151", "numbers of transactions before they are used again, 1 to 2097151"};
constexpr OptionInfo kSpread = {
    "spread", "1",
    "lines of the array TxLen that consecutive transactions use in turn, a power of two, 1 to "
    "1024"};
constexpr OptionInfo kAbortTouched = {"abort_touched", "0",
                                      "1: a transaction aborts if another core touches its lines"};
constexpr OptionInfo kIsolate = {
    "isolate", "0",
    "1: also if another core stores to a line that it has loaded; then engine hw needs no locks"};
constexpr OptionInfo kPrinted = {
    "printed", "no",
    "no, or what the paper prints and loses data with: reload (a line from the log arrives clean), "
    "wrap (numbers are used again whatever the log has)"};
constexpr OptionInfo kOptions[] = {kEwpq,   kSearch,       kReset,   kTag,     kL2,
                                   kLlc,    kSmallL1,      kMigrate, kCollect, kNumbers,
                                   kSpread, kAbortTouched, kIsolate, kPrinted};

Result<std::unique_ptr<HardwareDesign>> make_hercules(const Options& options) {
  HerculesOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, int64_t low, int64_t high) {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? static_cast<uint64_t>(*number) : 0;
  };
  o.ewpq_entries = read(kEwpq, 1, 1 << 20);
  o.search_cycles = static_cast<double>(read(kSearch, 0, 1'000'000));
  o.reset_cycles = static_cast<double>(read(kReset, 0, 1'000'000));
  o.tag_percent = static_cast<int>(read(kTag, 0, 1000));
  o.l2_percent = static_cast<int>(read(kL2, 1, 100));
  o.llc_percent = static_cast<int>(read(kLlc, 1, 100));
  o.small_l1 = read(kSmallL1, 0, 1) != 0;
  o.migrate_instructions = read(kMigrate, 1, int64_t{1} << 40);
  o.collect_entries = read(kCollect, 32, 1 << 20);
  o.numbers = read(kNumbers, 1, (1 << 21) - 1);
  o.spread = read(kSpread, 1, 1024);
  o.abort_touched = read(kAbortTouched, 0, 1) != 0;
  o.isolate = read(kIsolate, 0, 1) != 0;
  const auto printed = options.find(kPrinted.name);
  if (printed != options.end()) {
    o.printed_reload = printed->second == "reload";
    o.printed_wrap = printed->second == "wrap";
    if (!o.printed_reload && !o.printed_wrap && printed->second != "no") {
      return Status(Code::invalid_argument,
                    "option printed must be no, reload or wrap, not '" + printed->second + "'");
    }
  }
  if (status.ok() && !std::has_single_bit(o.spread)) {
    return Status(Code::invalid_argument, "option spread must be a power of two");
  }
  if (!status.ok()) {
    return status;
  }
  return std::unique_ptr<HardwareDesign>(std::make_unique<Hercules>(o));
}

constexpr uint64_t kZone = uint64_t{1} << 30;  ///< room for each part of the own region
constexpr uint64_t kRecords = 1 * kZone;
constexpr uint64_t kHeaders = 2 * kZone;
constexpr uint64_t kExtensionZone = 3 * kZone;
constexpr uint64_t kEmergency = 4 * kZone;

uint64_t word_at(std::span<const std::byte> bytes, size_t index) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

DesignInfo hercules_info() {
  return {.name = "hercules",
          .title = "transactions in a cache hierarchy that survives a power failure",
          .source = "Hercules (ACM TECS 2023)",
          .survives =
              "the caches with their tags, the eWPQ and its log: every committed "
              "transaction",
          .durable = true,
          .domain = Domain::eadr,
          .options = kOptions,
          .make = make_hercules};
}

DesignWishes Hercules::wishes() const {
  return {.victims = true,
          .tick_instructions = options_.migrate_instructions,
          .versions = true,
          .hits = true,
          .touches = aborts_touched(),
          .dooms = aborts_touched(),
          .isolates = options_.isolate,
          .flags_move_up = true,
          .cached_own_bytes = (Packed::kMask + 1) * sizeof(uint32_t)};
}

void Hercules::adapt(MachineDescription& machine) const {
  if (options_.small_l1) {
    // 30 of 32 KB, with fewer sets of as many ways.
    const size_t way = machine.line_bytes * static_cast<size_t>(machine.l1.ways);
    machine.l1.bytes = std::max(way, machine.l1.bytes / 16 * 15 / way * way);
  }
}

std::vector<StructureInfo> Hercules::structures(const MachineDescription& machine) const {
  return {{.name = "ewpq", .entries = options_.ewpq_entries, .entry_bytes = sizeof(uint64_t)},
          {.name = "threads", .entries = hardware_slots(machine), .entry_bytes = sizeof(uint64_t)},
          {.name = "extension", .entries = 1, .entry_bytes = sizeof(uint64_t)}};
}

uint64_t Hercules::Packed::of(uint64_t tx, uint64_t home_line, uint64_t record, bool open) {
  return (tx & kMask) | (home_line & kMask) << kBits | (record & kMask) << (2 * kBits) |
         (open ? uint64_t{1} << (3 * kBits) : 0);
}

Place Hercules::record_place(uint64_t record) const {
  return {Space::own, kRecords + record * context().line_bytes()};
}
Place Hercules::header_place(uint64_t record) const {
  const size_t line = context().line_bytes();
  return {Space::own, kHeaders + record * sizeof(uint64_t) / line * line};
}
Place Hercules::extension_place(size_t entry) const {
  const size_t line = context().line_bytes();
  return {Space::own, kExtensionZone + entry * sizeof(uint64_t) / line * line};
}
Place Hercules::emergency_place(uint64_t entry, size_t line_bytes, bool header) {
  return {Space::own, kEmergency + (1 + 2 * entry + (header ? 0 : 1)) * line_bytes};
}

void Hercules::power_failure(PowerFailure& power) const {
  uint64_t entries = 0;
  const size_t line = power.line_bytes();
  power.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
    if (!cached.dirty) {
      return;
    }
    if (cached.flags == 0) {
      power.write(cached.line.at, {bytes, line});
      return;
    }
    std::vector<std::byte> header(line);
    const uint64_t tx = word_at(power.entry(kThreads, cached.flags - size_t{1}), 0);
    std::memcpy(header.data(), &cached.line.at.offset, sizeof(uint64_t));
    std::memcpy(header.data() + sizeof(uint64_t), &tx, sizeof(tx));
    power.write(emergency_place(entries, line, true), header);
    power.write(emergency_place(entries, line, false), {bytes, line});
    ++entries;
  });
  // A finished recovery has left an empty area. If the power fails before that, the area has the
  // lines of the failure before.
  if (entries != 0) {
    std::vector<std::byte> count(line);
    std::memcpy(count.data(), &entries, sizeof(entries));
    power.write({Space::own, kEmergency}, count);
  }
}

/// The offset of the transaction's element of TxLen. The numbers are divided into groups that fill
/// `spread` lines, and go round the lines of their group.
uint64_t Hercules::element_of(uint64_t tx) const {
  const uint64_t each = context().line_bytes() / sizeof(uint32_t);
  const uint64_t in_group = tx % (each * options_.spread);
  const uint64_t first = tx - in_group;
  return (first + in_group % options_.spread * each + in_group / options_.spread) *
         sizeof(uint32_t);
}

bool Hercules::has_committed(uint64_t tx, Time& now) {
  const size_t line = context().line_bytes();
  std::vector<std::byte> bytes(line);
  const uint64_t offset = element_of(tx);
  now = context().read({Space::own, offset / line * line}, bytes.data(), ReadCause::recovery, now);
  uint32_t length;
  std::memcpy(&length, bytes.data() + offset % line, sizeof(length));
  return length != 0;
}

/// Finds the committed lines in the log and in the emergency area.
Time Hercules::find_remains(std::vector<Found>& committed, DesignRecovery& recovery, Time now) {
  const size_t line = context().line_bytes();
  std::set<uint64_t> whole;
  std::set<uint64_t> dropped;
  std::vector<std::byte> bytes(line);
  const auto judge = [&](uint64_t tx, bool open, uint64_t home, Place at) {
    if (!open || has_committed(tx, now)) {
      whole.insert(tx);
      committed.push_back({home, at});
    } else {
      dropped.insert(tx);
    }
  };
  const auto judge_entry = [&](uint64_t word) {
    if (word != 0) {
      const uint64_t record = Packed::record(word);
      now = context().read(header_place(record), bytes.data(), ReadCause::recovery, now);
      const uint64_t home = word_at(bytes, record % (line / sizeof(uint64_t)));
      judge(Packed::tx(word), Packed::open(word), home, record_place(record));
    }
  };
  for (size_t i = 0; i < options_.ewpq_entries; ++i) {
    judge_entry(word_at(context().entry(kQueue, i), 0));
  }
  const size_t each = line / sizeof(uint64_t);
  std::vector<std::byte> extended(line);  // apart from `bytes`, which judging changes
  for (size_t i = 0; i < extension_; ++i) {
    if (i % each == 0) {
      now = context().read(extension_place(i), extended.data(), ReadCause::recovery, now);
    }
    judge_entry(word_at(extended, i % each));
  }
  now = context().read({Space::own, kEmergency}, bytes.data(), ReadCause::recovery, now);
  const uint64_t entries = word_at(bytes, 0);
  for (uint64_t i = 0; i < entries; ++i) {
    now = context().read(emergency_place(i, line, true), bytes.data(), ReadCause::recovery, now);
    judge(word_at(bytes, 1), true, word_at(bytes, 0), emergency_place(i, line, false));
  }
  recovery.transactions = whole.size();
  recovery.discarded = dropped.size();
  return now;
}

/// Everything comes home before anything is given up, so that recovery can begin again. A line is
/// in one place only, so the order does not matter.
Time Hercules::recover(DesignRecovery& recovery, Time now) {
  const size_t line = context().line_bytes();
  extension_ = word_at(context().entry(kExtension, 0), 0);
  std::vector<Found> committed;
  now = find_remains(committed, recovery, now);
  std::vector<std::byte> bytes(line);
  for (const Found& found : committed) {
    now = context().read(found.at, bytes.data(), ReadCause::recovery, now);
    now = std::max(
        now,
        context().write({Space::home, found.home}, bytes.data(), Cause::recovery, now).accepted);
    ++recovery.lines_written;
  }
  const std::vector<std::byte> none(line);
  now = std::max(
      now, context().write({Space::own, kEmergency}, none.data(), Cause::recovery, now).accepted);
  for (size_t i = 0; i < extension_; i += line / sizeof(uint64_t)) {
    now = std::max(now,
                   context().write(extension_place(i), none.data(), Cause::recovery, now).accepted);
  }
  for (size_t i = 0; i < options_.ewpq_entries; ++i) {
    if (word_at(context().entry(kQueue, i), 0) != 0) {
      context().change(kQueue, i, none.data(), now);
    }
  }
  set_extension(0, now);
  recovery.text = std::to_string(recovery.transactions) + " transactions recovered (" +
                  std::to_string(recovery.lines_written) + " lines), " +
                  std::to_string(recovery.discarded) + " discarded";
  return now;
}

}  // namespace holdfast
