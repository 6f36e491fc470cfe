// SPDX-License-Identifier: Apache-2.0
//
// The part of EHOU for options, structures and recovery.
//
// The own region has the spare blocks, a log for each hardware thread in kZone bytes, and the table
// (kAddressTable).
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "holdfast/hardware/ehou/ehou.h"
#include "holdfast/hardware/parts/hardware_slots.h"

namespace holdfast {
namespace {

using Policy = EhouOptions::Policy;

constexpr OptionInfo kPolicy = {"policy", "lazy",
                                "when committed mappings go to the table: lazy, eager"};
constexpr OptionInfo kSets = {"sets", "0",
                              "sets of the table's cache, 0 to 1048576; 0: as the machine"};
constexpr OptionInfo kWays = {"ways", "0", "ways of a set, 0 to 1024; 0: as the machine"};
constexpr OptionInfo kLines = {"lines", "0",
                               "lines that an entry maps, 0 to 512; 0: as the machine"};
constexpr OptionInfo kSpareBlocks = {
    "spares", "0",
    "spare blocks, 0 to 16777216; 0: as many as the cache has mappings, 8192 to 262144"};
constexpr OptionInfo kFilter = {"filter_bits", "1024",
                                "bits of a thread's Bloom filter, 1 to 1048576"};
constexpr OptionInfo kPrinted = {"printed", "none",
                                 "a published sentence taken at its word, which loses data: "
                                 "noflush, states, noflow, early, clear, reclaim"};
constexpr OptionInfo kOptions[] = {kPolicy, kSets, kWays, kLines, kSpareBlocks, kFilter, kPrinted};

/// The index of an option's word in `names`.
template <size_t n>
Result<size_t> read_word(const OptionInfo& info, const char* const (&names)[n],
                         const Options& options, const char* right) {
  const auto given = options.find(info.name);
  const std::string text = given == options.end() ? info.fallback : given->second;
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) {
    return wrong_value(std::string("option ") + info.name, text, right);
  }
  return static_cast<size_t>(found - std::begin(names));
}

Result<std::unique_ptr<HardwareDesign>> make_ehou(const Options& options) {
  static constexpr const char* kPolicies[] = {"lazy", "eager"};
  static constexpr const char* kSentences[] = {"none",  "noflush", "states", "noflow",
                                               "early", "clear",   "reclaim"};
  EhouOptions o;
  Status status;
  const auto value = [&](auto result) {
    status = status.ok() ? result.status() : status;
    return result.ok() ? *result : 0;
  };
  const auto number = [&](const OptionInfo& info, uint64_t low, uint64_t high) {
    return value(option_number(options, info, low, high));
  };
  o.policy = static_cast<Policy>(value(read_word(kPolicy, kPolicies, options, "lazy or eager")));
  o.sets = number(kSets, 0, 1 << 20);
  o.ways = number(kWays, 0, 1024);
  o.lines = number(kLines, 0, 512);
  o.spares = number(kSpareBlocks, 0, 1 << 24);
  o.filter_bits = number(kFilter, 1, 1 << 20);
  o.printed = static_cast<EhouOptions::Printed>(value(read_word(
      kPrinted, kSentences, options, "none, noflush, states, noflow, early, clear or reclaim")));
  if (status.ok() && o.lines != 0 && !std::has_single_bit(o.lines)) {
    status = wrong_value("option lines", std::to_string(o.lines), "0 or a power of two");
  }
  if (!status.ok()) {
    return status;
  }
  return std::unique_ptr<HardwareDesign>(std::make_unique<Ehou>(o));
}

/// The table's cache of a machine without a table. Crash tests run on one. The latency is that of
/// EHOU, table I; the sizes are small, because each crash copies them.
constexpr AitDescription kSmallTable = {.sets = 64, .ways = 4, .lines = 8, .hit_cycles = 100};

constexpr uint64_t kLogs = uint64_t{1} << 46;  ///< behind the spare blocks
constexpr uint64_t kZone = uint64_t{1} << 32;  ///< a thread's log

template <class T>
T value_of(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

template <class T>
const std::byte* bytes_of(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}

size_t slots_of(const AitDescription& ait) {
  return ait.sets * static_cast<size_t>(ait.ways);
}

}  // namespace

DesignInfo ehou_info() {
  return {.name = "ehou",
          .title = "out-of-place updates by the address table of persistent memory",
          .source = "EHOU (Deng, Yue, Lu, Zhu)",
          .survives =
              "the cache of the address table, the list of spare blocks and the overflow logs: "
              "every committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_ehou};
}

void Ehou::adapt(MachineDescription& machine) const {
  AitDescription& ait = machine.ait;
  ait = ait.sets == 0 ? kSmallTable : ait;
  ait.sets = options_.sets != 0 ? options_.sets : ait.sets;
  ait.ways = options_.ways != 0 ? static_cast<int>(options_.ways) : ait.ways;
  ait.lines = options_.lines != 0 ? static_cast<int>(options_.lines) : ait.lines;
}

std::vector<StructureInfo> Ehou::structures(const MachineDescription& machine) const {
  constexpr size_t kFewest = 8192;
  constexpr size_t kMost = 262'144;
  const auto lines = static_cast<size_t>(machine.ait.lines);
  const size_t slots = slots_of(machine.ait);
  const size_t spares =
      options_.spares != 0 ? options_.spares : std::clamp(slots * lines, kFewest, kMost);
  const size_t threads = hardware_slots(machine);
  return {{.name = "table cache", .entries = slots, .entry_bytes = (1 + lines) * sizeof(uint64_t)},
          {.name = "spare blocks", .entries = spares, .entry_bytes = sizeof(Spare)},
          {.name = "threads", .entries = threads, .entry_bytes = sizeof(Register)},
          {.name = "log buffers", .entries = threads, .entry_bytes = machine.line_bytes}};
}

void Ehou::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  const MachineDescription& machine = context.machine();
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design ehou is made for caches that do not survive: domain pmem"));
  }
  constexpr double kPicoseconds = 1000;
  line_bytes_ = context.line_bytes();
  lines_ = static_cast<uint64_t>(machine.ait.lines);
  mappings_ = line_bytes_ / kMappingBytes;
  records_ = line_bytes_ / sizeof(Record);
  round_trip_ = static_cast<Time>(machine.medium.path_ns * kPicoseconds);
  const std::vector<StructureInfo> all = structures(machine);
  threads_.resize(all[kThreads].entries);
  for (Thread& thread : threads_) {
    thread.filter.resize(options_.filter_bits);
  }
  for (size_t i = 0; i < all[kSpares].entries; ++i) {
    free_.push_back(i);
  }
}

// ---- structures and places

Ehou::Entry Ehou::entry_in(size_t slot) const {
  const std::span<const std::byte> bytes = context().entry(kCache, slot);
  Entry entry(bytes.size() / sizeof(uint64_t));
  std::memcpy(entry.data(), bytes.data(), bytes.size());
  return entry;
}

uint64_t Ehou::entry_in(size_t slot, size_t in_entry) const {
  return value_of<uint64_t>(
      context().entry(kCache, slot).subspan((1 + in_entry) * sizeof(uint64_t)));
}

void Ehou::set_entry(size_t slot, const Entry& entry, Time now) {
  context().change(kCache, slot, bytes_of(entry[0]), now);
}

Ehou::Register Ehou::register_of(size_t slot) const {
  return value_of<Register>(context().entry(kThreads, slot));
}

void Ehou::set_register(size_t slot, const Register& value, Time now) {
  context().change(kThreads, slot, bytes_of(value), now);
}

Ehou::Spare Ehou::spare_at(size_t index) const {
  return value_of<Spare>(context().entry(kSpares, index));
}

void Ehou::set_spare(size_t index, const Spare& value, Time now) {
  context().change(kSpares, index, bytes_of(value), now);
}

Place Ehou::place_of_block(uint64_t block) const {
  return block < kSpareBlocks ? Place{Space::home, block * line_bytes_}
                              : Place{Space::own, (block - kSpareBlocks) * line_bytes_};
}

/// The line of the table that has the line's mapping.
Place Ehou::table_place(uint64_t line) const {
  return {Space::own, kAddressTable + line / mappings_ * line_bytes_};
}

std::vector<uint64_t> Ehou::table_words(uint64_t line) const {
  std::vector<uint64_t> words(mappings_);
  context().latest(table_place(line), reinterpret_cast<std::byte*>(words.data()));
  return words;
}

Place Ehou::record_place(size_t slot, uint64_t record) const {
  return {Space::own, kLogs + slot * kZone + record / records_ * line_bytes_ % kZone};
}

/// The block of a line of the list that is free unless its thread commits. If it has committed, the
/// other one is.
std::vector<uint64_t> Ehou::free_blocks() const {
  std::vector<uint64_t> blocks;
  for (size_t i = 0; i < structures(context().machine())[kSpares].entries; ++i) {
    const Spare spare = spare_at(i);
    const bool committed = spare.owner != 0 && register_of(spare.owner - 1).open == 0;
    const uint64_t free =
        committed && options_.printed != EhouOptions::Printed::reclaim ? spare.old : spare.fresh;
    blocks.push_back(free == 0 ? kSpareBlocks + i : free - 1);
  }
  return blocks;
}

// ---- power

/// Writes the committed mappings of the cache to the table, each by itself.
void Ehou::power_failure(PowerFailure& power) const {
  const std::vector<StructureInfo> all = structures(power.machine());
  const uint64_t lines = all[kCache].entry_bytes / sizeof(uint64_t) - 1;
  for (size_t slot = 0; slot < all[kCache].entries; ++slot) {
    const std::span<const std::byte> bytes = power.entry(kCache, slot);
    const auto number = value_of<uint64_t>(bytes);
    for (uint64_t i = 0; number != 0 && i < lines; ++i) {
      const auto word = value_of<uint64_t>(bytes.subspan((1 + i) * sizeof(uint64_t)));
      const uint64_t owner = owner_in(word);
      const bool committed =
          owner == 0 || (options_.printed != EhouOptions::Printed::states &&
                         value_of<Register>(power.entry(kThreads, owner - 1)).open == 0);
      if (word != 0 && committed) {
        const uint64_t mapping = block_in(word) + 1;
        const uint64_t line = (number - 1) * lines + i;
        power.write({Space::own, kAddressTable + line * kMappingBytes},
                    {bytes_of(mapping), sizeof(mapping)});
      }
    }
  }
}

/// Applies the committed records of a thread's log to the table. Returns the time of acceptance.
Time Ehou::read_log(size_t slot, const Register& committed, uint64_t& written, Time now) {
  std::map<uint64_t, std::vector<uint64_t>> table;  // by line of the table
  std::vector<std::byte> bytes(line_bytes_);
  for (uint64_t record = committed.log_begin; record < committed.log_end; ++record) {
    if (record / records_ == committed.log_end / records_) {
      const std::span<const std::byte> buffer = context().entry(kBuffers, slot);
      bytes.assign(buffer.begin(), buffer.end());
    } else if (record == committed.log_begin || record % records_ == 0) {
      now = context().read(record_place(slot, record), bytes.data(), ReadCause::recovery, now);
    }
    const auto [line, word] =
        value_of<Record>(std::span(bytes).subspan(record % records_ * sizeof(Record)));
    auto& words = table.try_emplace(line / mappings_, table_words(line)).first->second;
    words[line % mappings_] = word;
  }
  written += table.size();
  Time done = now;
  for (const auto& [table_line, words] : table) {
    done = std::max(done, context()
                              .write(table_place(table_line * mappings_), bytes_of(words[0]),
                                     Cause::recovery, now)
                              .accepted);
  }
  return done;
}

/// The table has the cache's committed mappings: power_failure() wrote them. So the cache can be
/// cleared when the logs are applied. The registers decide over list and logs, and change last.
Time Ehou::recover(DesignRecovery& recovery, Time now) {
  const std::vector<StructureInfo> all = structures(context().machine());
  Time done = now;
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    const Register own = register_of(slot);
    recovery.discarded += own.open;
    if (own.open == 0 && own.log_begin != own.log_end) {
      done = std::max(done, read_log(slot, own, recovery.lines_written, now));
      ++recovery.transactions;
    }
  }
  const Entry empty(1 + lines_, 0);
  for (size_t slot = 0; slot < all[kCache].entries; ++slot) {
    if (entry_in(slot)[0] != 0) {
      set_entry(slot, empty, done);
    }
  }
  const std::vector<uint64_t> free = free_blocks();
  for (size_t i = 0; i < free.size(); ++i) {
    if (spare_at(i).owner != 0) {
      set_spare(i, {.fresh = free[i] + 1}, done);
    }
  }
  for (size_t slot = 0; slot < threads_.size(); ++slot) {
    if (register_of(slot) != Register{}) {
      set_register(slot, {}, done);
    }
  }
  recovery.text = std::to_string(recovery.transactions) + " logs applied to the address table, " +
                  std::to_string(recovery.discarded) + " transactions discarded";
  return done;
}

}  // namespace holdfast
