// SPDX-License-Identifier: Apache-2.0
//
// PiCL: checkpoints of the whole memory, by a log of old lines beside the last level (Nguyen and
// Wentzlaff: "PiCL: A Software-Transparent, Persistent Cache Log for Nonvolatile Main Memory",
// MICRO 2018; Hercules, ACM TECS 2023, compares it in figure 8).
//
// Idea       Time is cut into epochs. A line in a cache has a tag: the epoch of its latest store.
//            Memory may be ahead of the newest persisted epoch, and the log has what undoes that.
//            No commit waits for memory, and no commit is durable by itself.
// Store      If the line's tag is not the running epoch, the line's bytes from before go to an undo
//            buffer, with the range of epochs in which they are right: from the line's tag, or the
//            newest persisted epoch if it has none, until the running one. The line gets a new tag.
// Buffer     A full buffer goes to the log in persistent memory (PM) in one burst, while a second
//            buffer takes entries. A line's new bytes reach PM only behind its entry: a filter of
//            the buffer's addresses is asked before each write of a line to its place.
// Epoch end  After a number of instructions, when no transaction is open: new ones wait until the
//            open ones have ended. Nothing else waits.
// Scan       A scan of the caches then persists an older epoch, `gap` epochs behind: it writes the
//            lines with that tag home, then the buffer to the log, then the epoch's number to PM.
//            The log's blocks of older ranges are free then.
// Abort      by software: it stores the old bytes.
// Recovery   reads the newest persisted epoch P. Each line whose log has entries that were right in
//            P gets the bytes of the oldest one.
//
// Differences: decisions of this implementation, where the text says nothing.
//   - Epochs end between transactions. In the original the processors' registers are a part of the
//     checkpoint, and an epoch ends anywhere.
//   - A block of the log is valid when its first line is there, which is written behind the others.
//   - A scan clears the tags of the lines of its epoch, so that four bits are enough for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "holdfast/hardware/parts/own_log.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo picl_info();

/// PiCL (MICRO 2018): epochs of 30 million instructions, a scan three epochs behind, an undo buffer
/// of 2 KB, which is a row of the memory's buffer, a filter of 4096 bits, tags of four bits.
struct PiclOptions {
  /// A published sentence to take at its word. All but `none` lose data at a power failure.
  enum class Printed : uint8_t {
    none,
    anywhere,  ///< an epoch ends whatever runs
    burst,     ///< the lines of a block are written at the same time
    tags,      ///< a scan makes lines clean and leaves them their tags
  };
  uint64_t epoch_instructions = 30'000'000;
  uint64_t gap = 3;
  size_t entries = 32;
  size_t buffers = 2;
  size_t filter_bits = 4096;
  Printed printed = Printed::none;
};

/// The design "picl". Hooks: see design.h.
class Picl : public HardwareDesign {
 public:
  explicit Picl(const PiclOptions& options) : options_(options) {}

  DesignWishes wishes() const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time begin(const DesignTransaction& tx, Time now) override;
  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;
  Time store(const DesignStore& store, Time now) override { return log(store, now); }
  MemoryWrite memory_write(const LineMove& move, Time now) override;

  void tick(Time now) override;
  Time settle(Time now) override;

  std::optional<uint64_t> epochs_behind() const override { return options_.gap; }
  void power_failure(PowerFailure& /*power*/) const override {}
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  enum Transition : size_t {
    kEnded,
    kFull,
    kEvictionFlushed,
    kScanned,
    kPersisted,
    kShortened,
    kAborted
  };

  /// Old bytes of a line, which are its content in the epochs [from, till).
  struct Entry {
    uint64_t home = 0;  ///< offset of the line
    uint64_t from = 0;
    uint64_t till = 0;
    std::vector<std::byte> bytes;
  };
  /// A Bloom filter with one hash function, of the lines in a buffer.
  class Filter {
   public:
    explicit Filter(size_t bits) : bits_(bits) {}
    void add(uint64_t home) { bits_[at(home)] = true; }
    bool has(uint64_t home) const { return bits_[at(home)]; }
    void clear() { bits_.assign(bits_.size(), false); }

   private:
    size_t at(uint64_t home) const;
    std::vector<bool> bits_;
  };
  /// A block of the log.
  struct Block {
    uint64_t slot = 0;
    uint64_t till = 0;  ///< no entry is of use once this epoch is persisted
  };
  /// The steps of a scan, in their order.
  enum class Step : uint8_t { none, lines, log, number };
  struct Scan {
    Step step = Step::none;
    uint64_t epoch = 0;           ///< that it persists
    std::vector<uint32_t> lines;  ///< with its tag
    size_t next = 0;              ///< the first of them that is not written
    Time ready = 0;               ///< the time of the step
  };

  static constexpr uint64_t kTags = 15;  ///< of four bits; 0 is no tag
  static uint8_t tag_of(uint64_t epoch) { return static_cast<uint8_t>(1 + epoch % kTags); }
  uint64_t epoch_of(uint8_t tag) const;

  Time log(const DesignStore& store, Time now);
  Time make_room(Time now);
  Time flush(Time now);
  void left(const DesignTransaction& tx, Time now);
  void try_end(Time now);
  void end_epoch(Time now);
  void begin_scan(uint64_t epoch, Time now);
  void find_lines();
  void scan(Time now);
  void finish_lines(Time now);
  Time scan_lines(Time now);
  void shorten_log(Time now);
  Time drain_scan(Time now);

  size_t header_lines(size_t entries) const;
  std::vector<std::byte> header_of(uint64_t slot) const;
  struct Found;
  Time find_entries(std::vector<Found>& found, Time now);

  PiclOptions options_;
  Time poll_ = 0;
  std::vector<std::vector<uint32_t>> stored_;  ///< by slot: the lines of the open transaction
  size_t open_ = 0;                            ///< open transactions
  uint64_t running_ = 1;                       ///< the number of the running epoch (SystemEID)
  uint64_t persisted_ = 0;  ///< the newest epoch that recovery finds (PersistedEID)
  bool ending_ = false;     ///< the running epoch ends as soon as it may
  uint64_t end_at_ = 0;     ///< the number of instructions at which it is due to end
  std::vector<Entry> buffer_;
  Filter filter_{1};    ///< of the buffer
  Filter flushing_{1};  ///< of the latest block, which PM may not have accepted
  Time durable_ = 0;    ///< the time from which on PM has the latest block
  Time home_ = 0;       ///< the time from which on PM has all lines that have left the caches
  OwnLog log_;
  std::deque<Block> blocks_;  ///< that are not free, by slot
  Scan scan_;
  bool scanning_ = false;  ///< a write-back is the scan's
  uint64_t waited_ = 0;
  uint64_t logged_ = 0;
  uint64_t flushes_ = 0;
  uint64_t hits_ = 0;
  uint64_t scanned_ = 0;
  uint64_t ended_ = 0;
};

}  // namespace holdfast
