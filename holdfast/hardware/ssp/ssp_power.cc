// SPDX-License-Identifier: Apache-2.0
//
// The part of Ssp for options, the machine, and recovery. Nothing is left to do when the power
// fails: table, journal and both frames of each page lie in persistent memory.
#include <algorithm>
#include <set>
#include <string>

#include "holdfast/hardware/ssp/ssp.h"

namespace holdfast {
namespace {

constexpr OptionInfo kFrames = {"frames", "16384", "second frames, of 4 KB each, 1 to 16777216"};
constexpr OptionInfo kJournal = {"journal", "1048576", "bytes of the journal, 1 KiB to 4 GiB"};
constexpr OptionInfo kCacheCycles = {
    "cache_cycles", "10", "cycles to fetch a page's bits after a miss of the TLBs, 0 to 1000000"};
constexpr OptionInfo kTlb = {
    "tlb", "0", "pages of a core's TLB, 0 to 1024; 0: as the machine's, or EHOU's if it has none"};
constexpr OptionInfo kPrinted = {
    "printed", "nothing",
    "'together', 'pages' or 'release': what the text says, read by the letter, which loses data"};
constexpr OptionInfo kOptions[] = {kFrames, kJournal, kCacheCycles, kTlb, kPrinted};

Result<std::unique_ptr<HardwareDesign>> make_ssp(const Options& options) {
  SspOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) -> uint64_t {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.frames = read(kFrames, 1, 1 << 24);
  o.journal_bytes = read(kJournal, 1024, uint64_t{1} << 32);
  o.cache_cycles = static_cast<double>(read(kCacheCycles, 0, 1'000'000));
  o.tlb_pages = read(kTlb, 0, 1024);
  static constexpr const char* kPrinteds[] = {"nothing", "together", "pages", "release"};
  auto printed = option_choice(options, kPrinted, kPrinteds);
  status = status.ok() ? printed.status() : status;
  if (!status.ok()) {
    return status;
  }
  o.printed = static_cast<SspOptions::Printed>(*printed);
  return std::unique_ptr<HardwareDesign>(std::make_unique<Ssp>(o));
}

}  // namespace

DesignInfo ssp_info() {
  return {.name = "ssp",
          .title = "shadow sub-paging: two frames for each page, and a bit for each line",
          .source = "SSP (MICRO 2019), as EHOU compares it",
          .survives =
              "both frames of each page, table and journal in PM: every committed "
              "transaction",
          .durable = true,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_ssp};
}

/// EHOU, table I: TLB L1 6 sets of 4 ways, L2 128 sets of 12 ways.
void Ssp::adapt(MachineDescription& machine) const {
  if (options_.tlb_pages != 0) {
    machine.tlb = {.l1_sets = 1,
                   .l1_ways = 1,
                   .l2_sets = 1,
                   .l2_ways = static_cast<int>(options_.tlb_pages),
                   .l2_cycles = machine.tlb.l2_cycles};
  } else if (machine.tlb.l1_sets == 0) {
    machine.tlb = {.l1_sets = 6, .l1_ways = 4, .l2_sets = 128, .l2_ways = 12, .l2_cycles = 8};
  }
}

/// All lines of second frames come home before table and journal are given up, so that recovery can
/// begin again.
Time Ssp::recover(DesignRecovery& recovery, Time now) {
  std::vector<PageJournal::Entry> entries;
  const bool torn = options_.printed == SspOptions::Printed::pages;
  now = journal_.read(torn, entries, recovery.transactions, recovery.discarded, now);
  Time home = now;
  std::vector<std::byte> bytes(line_bytes_);
  for (uint32_t frame = 0; frame < entries.size(); ++frame) {
    const PageJournal::Entry& entry = entries[frame];
    Page page;
    page.frame = frame;
    for (size_t line = 0; line < lines(); ++line) {
      if ((entry.bits >> line & 1) != 0) {
        now = context().read(place(entry.page, page, line, true), bytes.data(), ReadCause::recovery,
                             now);
        const Place to = place(entry.page, page, line, false);
        home = std::max(home, context().write(to, bytes.data(), Cause::recovery, now).accepted);
        ++recovery.lines_written;
      }
    }
  }
  now = journal_.clear(entries, std::max(now, home));
  recovery.text = std::to_string(recovery.transactions) + " records of the journal, " +
                  std::to_string(recovery.discarded) + " of them torn, " +
                  std::to_string(recovery.lines_written) + " lines written home";
  return now;
}

}  // namespace holdfast
