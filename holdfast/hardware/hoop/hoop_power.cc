// SPDX-License-Identifier: Apache-2.0
//
// The part of Hoop for options and recovery. Nothing is left to do when the power fails: all that
// recovery needs lies in the log.
#include <string>

#include "holdfast/hardware/hoop/hoop.h"

namespace holdfast {
namespace {

constexpr OptionInfo kBuffer = {"buffer", "1024",
                                "bytes of one core's OOP buffer, 128 bytes to 1 MiB"};
constexpr OptionInfo kTable = {"table", "2097152",
                               "bytes of the table, 16 for each entry, 16 bytes to 1 GiB"};
constexpr OptionInfo kRegion = {"region", "134217728",
                                "bytes of the log in persistent memory, 4 KiB to 1 TiB"};
constexpr OptionInfo kTableCycles = {"table_cycles", "10",
                                     "cycles of a search of the table, 0 to 1000000"};
constexpr OptionInfo kCollectUs = {
    "collect_us", "10000",
    "microseconds from the end of a collection to the next, 1 to 1000000000"};
constexpr OptionInfo kCollectLines = {"collect_lines", "64",
                                      "lines that a collection has on their way, 1 to 4096"};
constexpr OptionInfo kCollectBlocks = {"collect_blocks", "1",
                                       "0: stores and commits do not wait for a collection"};
constexpr OptionInfo kOverflow = {
    "overflow", "1", "0: a transaction that fills the table is aborted; commits then wait"};
constexpr OptionInfo kPrinted = {
    "printed", "nothing",
    "'together', 'bit' or 'release': what the text says, read by the letter, which loses data"};
constexpr OptionInfo kOptions[] = {kBuffer,        kTable,     kRegion,
                                   kTableCycles,   kCollectUs, kCollectLines,
                                   kCollectBlocks, kOverflow,  kPrinted};

Result<HoopOptions::Printed> read_printed(const Options& options) {
  const auto given = options.find(kPrinted.name);
  const std::string text = given == options.end() ? kPrinted.fallback : given->second;
  using Printed = HoopOptions::Printed;
  constexpr std::pair<const char*, Printed> kNames[] = {{"nothing", Printed::nothing},
                                                        {"together", Printed::together},
                                                        {"bit", Printed::bit},
                                                        {"release", Printed::release}};
  for (const auto& [name, printed] : kNames) {
    if (text == name) {
      return printed;
    }
  }
  return wrong_value("option printed", text, "'nothing', 'together', 'bit' or 'release'");
}

Result<std::unique_ptr<HardwareDesign>> make_hoop(const Options& options) {
  HoopOptions o;
  auto printed = read_printed(options);
  Status status = printed.status();
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) -> uint64_t {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.buffer_bytes = read(kBuffer, 128, 1 << 20);
  o.table_bytes = read(kTable, 16, 1 << 30);
  o.region_bytes = read(kRegion, 4096, uint64_t{1} << 40);
  o.table_cycles = static_cast<double>(read(kTableCycles, 0, 1'000'000));
  o.collect_us = read(kCollectUs, 1, 1'000'000'000);
  o.collect_lines = read(kCollectLines, 1, 4096);
  o.collect_blocks = read(kCollectBlocks, 0, 1) != 0;
  o.overflow = read(kOverflow, 0, 1) != 0;
  if (!status.ok()) {
    return status;
  }
  o.printed = *printed;
  return std::unique_ptr<HardwareDesign>(std::make_unique<Hoop>(o));
}

}  // namespace

DesignInfo hoop_info() {
  return {.name = "hoop",
          .title = "out-of-place writes of words by the memory controller",
          .source = "HOOP (ISCA 2020), as Hercules (ACM TECS 2023) compares it",
          .survives = "the log of the memory controller in PM: every committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_hoop};
}

Time Hoop::recover(DesignRecovery& recovery, Time now) {
  now = replay(context(), log_, options_.collect_lines, recovery, now);
  plan_collection(now);
  return now;
}

}  // namespace holdfast
