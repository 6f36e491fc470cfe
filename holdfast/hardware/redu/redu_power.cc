// SPDX-License-Identifier: Apache-2.0
//
// The part of Redu for options and recovery. Nothing is left to do when the power fails: all that
// recovery needs lies in the log.
#include <string>

#include "holdfast/hardware/redu/redu.h"

namespace holdfast {
namespace {

constexpr OptionInfo kEntries = {
    "entries", "lines",
    "'lines': an entry of the log has all bytes of a line; 'words': those of a word that was "
    "stored"};
constexpr OptionInfo kBuffer = {"buffer", "1024",
                                "bytes of one core's log buffer, 128 bytes to 1 MiB"};
constexpr OptionInfo kRegion = {"region", "134217728",
                                "bytes of the log in persistent memory, 4 KiB to 1 TiB"};
constexpr OptionInfo kDram = {"dram", "67108864", "bytes of the DRAM cache, 64 bytes to 1 TiB"};
constexpr OptionInfo kWays = {"ways", "16", "lines of a set of the DRAM cache, 1 to 1024"};
constexpr OptionInfo kDramCycles = {
    "dram_cycles", "100",
    "cycles of an access to the DRAM cache, on a machine without DRAM, 1 to 1000000"};
constexpr OptionInfo kPredict = {"predict", "0",
                                 "1: a miss asks the DRAM cache only for lines that are there"};
constexpr OptionInfo kFlush = {
    "flush", "eager",
    "'eager': committed lines go home at once; 'lazy': when the log gets short or a set is full"};
constexpr OptionInfo kFlushLines = {"flush_lines", "8", "lines on their way home, 1 to 4096"};
constexpr OptionInfo kOverflow = {
    "overflow", "1",
    "0: a transaction that fills a set of the DRAM cache, or the log, is aborted; commits then "
    "wait"};
constexpr OptionInfo kPrinted = {
    "printed", "nothing",
    "'together', 'overwrite' or 'release': what the text says, read by the letter, which loses "
    "data"};
constexpr OptionInfo kOptions[] = {kEntries, kBuffer, kRegion,     kDram,     kWays,   kDramCycles,
                                   kPredict, kFlush,  kFlushLines, kOverflow, kPrinted};

Result<std::unique_ptr<HardwareDesign>> make_redu(const Options& options) {
  ReduOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) -> uint64_t {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  const auto choose = [&](const OptionInfo& info, std::span<const char* const> values) -> size_t {
    auto index = option_choice(options, info, values);
    status = status.ok() ? index.status() : status;
    return index.ok() ? *index : 0;
  };
  static constexpr const char* kEntryWords[] = {"lines", "words"};
  o.lines = choose(kEntries, kEntryWords) == 0;
  o.buffer_bytes = read(kBuffer, 128, 1 << 20);
  o.region_bytes = read(kRegion, 4096, uint64_t{1} << 40);
  o.dram_bytes = read(kDram, 64, uint64_t{1} << 40);
  o.ways = read(kWays, 1, 1024);
  o.dram_cycles = static_cast<double>(read(kDramCycles, 1, 1'000'000));
  o.predict = read(kPredict, 0, 1) != 0;
  static constexpr const char* kFlushes[] = {"eager", "lazy"};
  o.lazy = choose(kFlush, kFlushes) == 1;
  o.flush_lines = read(kFlushLines, 1, 4096);
  o.overflow = read(kOverflow, 0, 1) != 0;
  static constexpr const char* kPrinteds[] = {"nothing", "together", "overwrite", "release"};
  o.printed = static_cast<ReduOptions::Printed>(choose(kPrinted, kPrinteds));
  if (!status.ok()) {
    return status;
  }
  return std::unique_ptr<HardwareDesign>(std::make_unique<Redu>(o));
}

}  // namespace

DesignInfo redu_info() {
  return {.name = "redu",
          .title = "a redo log in hardware, and a DRAM cache that holds uncommitted lines back",
          .source = "ReDU (MICRO 2018), as EHOU compares it",
          .survives = "the redo log in PM: every committed transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_redu};
}

Time Redu::recover(DesignRecovery& recovery, Time now) {
  const auto most = static_cast<size_t>(context().machine().medium.write_queue);
  return replay(context(), log_, most, recovery, now);
}

}  // namespace holdfast
