// SPDX-License-Identifier: Apache-2.0
//
// The part of Picl for options, the layout of the log, and recovery. Nothing is left to do when the
// power fails: caches and undo buffers are lost.
//
// The own region: a line with the number of the newest persisted epoch, then the log. A slot of the
// log has a block: lines of headers, then lines of old bytes. The headers are words of 64 bits: the
// slot's number from 1, the running epoch and the number of entries, and a word for each entry. The
// epochs of an entry are ages, counted back from the running one.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "holdfast/hardware/parts/hardware_slots.h"
#include "holdfast/hardware/picl/picl.h"

namespace holdfast {
namespace {

constexpr uint64_t kMostGap = 12;  ///< four bits tell so many epochs apart, and a few more

// The defaults are those of PiCL (MICRO 2018).
constexpr OptionInfo kEpoch = {"epoch_instructions", "30000000",
                               "instructions of all threads in an epoch, 1 to 1099511627776"};
constexpr OptionInfo kGap = {"gap", "3",
                             "epochs from the end of one to the scan that persists it, 1 to 12"};
constexpr OptionInfo kEntries = {"entries", "32", "lines that an undo buffer holds, 1 to 1024"};
constexpr OptionInfo kBuffers = {"buffers", "2",
                                 "1 to 2; 2: a second buffer takes lines while one is written"};
constexpr OptionInfo kFilter = {"filter_bits", "4096",
                                "bits of the filter of a buffer's lines, 1 to 1048576"};
constexpr OptionInfo kPrinted = {
    "printed", "none",
    "a published sentence taken at its word, which loses data: anywhere, burst, tags"};
constexpr OptionInfo kOptions[] = {kEpoch, kGap, kEntries, kBuffers, kFilter, kPrinted};

Result<std::unique_ptr<HardwareDesign>> make_picl(const Options& options) {
  constexpr const char* kNames[] = {"none", "anywhere", "burst", "tags"};
  PiclOptions o;
  Status status;
  const auto read = [&](const OptionInfo& info, uint64_t low, uint64_t high) {
    auto number = option_number(options, info, low, high);
    status = status.ok() ? number.status() : status;
    return number.ok() ? *number : 0;
  };
  o.epoch_instructions = read(kEpoch, 1, uint64_t{1} << 40);
  o.gap = read(kGap, 1, kMostGap);
  o.entries = read(kEntries, 1, 1024);
  o.buffers = read(kBuffers, 1, 2);
  o.filter_bits = read(kFilter, 1, 1 << 20);
  Result<size_t> printed = option_choice(options, kPrinted, kNames);
  status = status.ok() ? printed.status() : status;
  if (!status.ok()) {
    return status;
  }
  o.printed = static_cast<PiclOptions::Printed>(*printed);
  return std::unique_ptr<HardwareDesign>(std::make_unique<Picl>(o));
}

/// The operating system gives the original's log more memory when it needs some. Here the log has
/// all that a run can need.
constexpr uint64_t kLogBytes = uint64_t{1} << 40;

uint64_t word_at(const std::byte* bytes, size_t index) {
  uint64_t word;
  std::memcpy(&word, bytes + index * sizeof(word), sizeof(word));
  return word;
}

constexpr size_t kFirstWords = 2;  // of a block's headers, before those of its entries
constexpr int kAgeBits = 8;

}  // namespace

DesignInfo picl_info() {
  return {.name = "picl",
          .title = "checkpoints of the memory by epochs, and a log of old lines",
          .source = "PiCL (MICRO 2018), as in Hercules (ACM TECS 2023), figure 8",
          .survives =
              "the log of old lines and the number of an epoch: everything up to the end of that "
              "epoch, which is at most `gap` + 1 epochs before the running one",
          .durable = false,
          .domain = Domain::pmem,
          .options = kOptions,
          .make = make_picl};
}

DesignWishes Picl::wishes() const {
  return {.every_store = true, .tick_instructions = options_.epoch_instructions};
}

void Picl::attach(DesignContext& context) {
  HardwareDesign::attach(context);
  if (context.caches_survive()) {
    throw Error(Status(Code::invalid_argument,
                       "hardware design picl is made for caches that do not survive: domain pmem"));
  }
  constexpr double kPollCycles = 32;  // no latency of the hardware: how often a wait looks
  poll_ = std::max<Time>(1, context.cycles(kPollCycles));
  stored_.resize(hardware_slots(context.machine()));
  end_at_ = options_.epoch_instructions;
  filter_ = flushing_ = Filter(options_.filter_bits);
  const size_t line = context.line_bytes();
  log_.attach(context, line, kLogBytes, (header_lines(options_.entries) + options_.entries) * line);
}

// ---- blocks of the log

size_t Picl::header_lines(size_t entries) const {
  const size_t line = context().line_bytes();
  return ((kFirstWords + entries) * sizeof(uint64_t) + line - 1) / line;
}

/// The headers of a block with the content of the buffer.
std::vector<std::byte> Picl::header_of(uint64_t slot) const {
  const size_t line = context().line_bytes();
  std::vector<uint64_t> words = {slot + 1, running_ << 16 | buffer_.size()};
  for (const Entry& entry : buffer_) {
    words.push_back((entry.home / line) << (2 * kAgeBits) | (running_ - entry.till) << kAgeBits |
                    (running_ - entry.from));
  }
  std::vector<std::byte> bytes(header_lines(buffer_.size()) * line);
  std::memcpy(bytes.data(), words.data(), words.size() * sizeof(words[0]));
  return bytes;
}

/// An entry of the log.
struct Picl::Found {
  uint64_t home;
  uint64_t from;
  uint64_t till;
  Place bytes;
};

/// Finds all entries of the log, the oldest first.
Time Picl::find_entries(std::vector<Found>& found, Time now) {
  const size_t line = context().line_bytes();
  struct Headers {
    uint64_t slot;
    std::vector<std::byte> bytes;
  };
  std::vector<Headers> blocks;
  const auto valid = [&](uint64_t slot, const std::byte* bytes) {
    if (word_at(bytes, 0) != slot + 1) {
      return false;
    }
    blocks.push_back({slot, {bytes, bytes + line}});
    return true;
  };
  now = log_.scan(valid, now);
  std::vector<Place> rest;
  std::vector<Headers*> block_of;
  for (Headers& block : blocks) {
    const size_t entries = word_at(block.bytes.data(), 1) & 0xffff;
    for (size_t i = 1; i < header_lines(entries); ++i) {
      rest.push_back(log_.place(block.slot, i));
      block_of.push_back(&block);
    }
  }
  const auto add = [&](size_t i, const std::byte* bytes) {
    block_of[i]->bytes.insert(block_of[i]->bytes.end(), bytes, bytes + line);
  };
  now = read_lines(context(), rest, ReadCause::recovery, add, now);
  for (const Headers& block : blocks) {
    const uint64_t second = word_at(block.bytes.data(), 1);
    for (size_t i = 0; i < (second & 0xffff); ++i) {
      constexpr uint64_t kAge = (uint64_t{1} << kAgeBits) - 1;
      const uint64_t word = word_at(block.bytes.data(), kFirstWords + i);
      const uint64_t running = second >> 16;
      found.push_back({(word >> (2 * kAgeBits)) * line, running - (word & kAge),
                       running - (word >> kAgeBits & kAge),
                       log_.place(block.slot, header_lines(options_.entries) + i)});
    }
  }
  return now;
}

// ---- recovery

/// All lines are home before the log is given up, at one instant. So recovery can begin again.
Time Picl::recover(DesignRecovery& recovery, Time now) {
  std::vector<std::byte> bytes(context().line_bytes());
  now = context().read({Space::own, 0}, bytes.data(), ReadCause::recovery, now);
  persisted_ = word_at(bytes.data(), 0);
  running_ = persisted_ + 1;
  std::vector<Found> found;
  now = find_entries(found, now);
  std::map<uint64_t, Place> oldest;  // by the line's offset
  for (const Found& entry : found) {
    if (entry.from <= persisted_ && persisted_ < entry.till) {
      oldest.try_emplace(entry.home, entry.bytes);
    }
  }
  std::vector<Place> places;
  for (const auto& [home, place] : oldest) {
    places.push_back(place);
  }
  std::vector<std::byte> old;
  const auto keep = [&](size_t, const std::byte* line) {
    old.insert(old.end(), line, line + bytes.size());
  };
  now = read_lines(context(), places, ReadCause::recovery, keep, now);
  Time restored = now;
  for (const auto& [home, place] : oldest) {
    const std::byte* line = old.data() + recovery.lines_written * bytes.size();
    const Place to{Space::home, home};
    restored = std::max(restored, context().write(to, line, Cause::recovery, now).accepted);
    ++recovery.lines_written;
  }
  recovery.text = "back to the end of epoch " + std::to_string(persisted_) + ", " +
                  std::to_string(recovery.lines_written) + " lines restored";
  return log_.restart(restored);
}

}  // namespace holdfast
