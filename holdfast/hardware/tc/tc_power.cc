// SPDX-License-Identifier: Apache-2.0
//
// The part of TransactionCache for options, power failure and recovery.
//
// Format of the surviving state:
//
//     number of entries (8), bytes per line (8)
//     for each entry: offset on the medium (8), transaction (8), number (8), committed (8), line
#include <algorithm>
#include <cstring>
#include <set>

#include "holdfast/hardware/tc/transaction_cache.h"

namespace holdfast {
namespace {

// Hercules (ACM TECS 2023), table 2: side-path TC, 4 KB, FIFO, 40/50 cycles read/write.
constexpr OptionInfo kBytes = {"bytes", "4096", "size of one core's TC"};
constexpr OptionInfo kRead = {"read_cycles", "40",
                              "cycles to read an entry; also to probe all TCs"};
constexpr OptionInfo kWrite = {"write_cycles", "50", "cycles to write an entry"};
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

struct Saved {
  uint64_t offset;
  uint64_t tx;
  uint64_t number;
  uint64_t committed;
  const std::byte* bytes;
};
constexpr size_t kSavedWords = 4;

void append(std::vector<std::byte>& to, const void* from, size_t n) {
  const auto* bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + n);
}

/// Reads the entries of a surviving state, in the order of their numbers.
std::vector<Saved> read_state(std::span<const std::byte> state, size_t& line_bytes) {
  const std::byte* at = state.data();
  const auto next = [&] {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    at += sizeof(word);
    return word;
  };
  const uint64_t count = next();
  line_bytes = next();
  std::vector<Saved> entries;
  for (uint64_t i = 0; i < count; ++i) {
    Saved saved{};
    saved.offset = next();
    saved.tx = next();
    saved.number = next();
    saved.committed = next();
    saved.bytes = at;
    at += line_bytes;
    entries.push_back(saved);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Saved& a, const Saved& b) { return a.number < b.number; });
  return entries;
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

void TransactionCache::power_failure(SurvivingState& surviving) const {
  if (context().caches_survive()) {
    // The stores of transactions are in TCs. The caches write all other dirty lines back.
    context().for_each_cached([&](const CachedLine& cached) {
      const DesignLine at = cached.at;
      if (cached.dirty && (cached.flags & kHeld) == 0 && !present_.contains(at.line)) {
        const std::byte* bytes = context().newest(at.line);
        surviving.lines.push_back({at.offset, {bytes, bytes + context().line_bytes()}});
      }
    });
  }
  uint64_t count = 0;
  for (const Core& core : cores_) {
    count += core.fifo.size();
  }
  const uint64_t head[] = {count, context().line_bytes()};
  append(surviving.state, head, sizeof(head));
  for (const Core& core : cores_) {
    for (const Entry& entry : core.fifo) {
      const uint64_t words[kSavedWords] = {entry.at.offset, entry.tx, entry.number,
                                           entry.committed ? uint64_t{1} : 0};
      append(surviving.state, words, sizeof(words));
      append(surviving.state, entry.bytes.data(), entry.bytes.size());
    }
  }
}

DesignRecovery TransactionCache::recover(std::span<const std::byte> state,
                                         RecoveryMedium& medium) const {
  DesignRecovery recovery;
  size_t line_bytes = 0;
  std::set<uint64_t> committed;
  std::set<uint64_t> active;
  for (const Saved& entry : read_state(state, line_bytes)) {
    (entry.committed != 0 ? committed : active).insert(entry.tx);
    if (entry.committed != 0) {
      medium.write(entry.offset, {entry.bytes, line_bytes});
      ++recovery.lines_written;
    }
  }
  recovery.transactions = committed.size();
  recovery.discarded = active.size();
  recovery.text = std::to_string(recovery.transactions) + " transactions written home from TCs (" +
                  std::to_string(recovery.lines_written) + " lines), " +
                  std::to_string(recovery.discarded) + " discarded";
  return recovery;
}

}  // namespace holdfast
