// SPDX-License-Identifier: Apache-2.0
//
// SSP: shadow sub-paging (Ni, Zhao, Litz, Bittman, Miller: "SSP: Eliminating Redundant Writes in
// Failure-Atomic NVRAMs via Shadow Sub-Paging", MICRO 2019; as EHOU compares it).
//
// Idea       A page that transactions store to has two frames in persistent memory (PM): its home,
//            and a second frame. A bit for each line says which of them has the committed content.
//            A transaction's lines go to the other one. So a commit turns bits, and copies nothing.
// Store      The first store to a line tells the other cores that have the page in their TLBs that
//            the line moves.
// Caches     Lines that transactions store to have a flag: the thread. A dirty line with the flag
//            belongs to an open transaction, and is written to its other frame when it leaves the
//            last level. A miss reads the frame that has the newest content.
// Commit     All lines of the transaction are written to the other frames. When they are accepted,
//            a record with the new bits goes to a journal. When that is accepted, the transaction
//            is durable.
// Pages      The bits are in the TLBs, and for all pages of some TLB in the SSP cache, in the
//            memory controller. A page that has left all TLBs is consolidated: its lines are copied
//            to the frame that has more of them, and the journal gets its new bits.
// Too large  If a page of an open transaction leaves the core's TLBs, the transaction is aborted.
// Journal    When half of it is full, the bits of changed pages are written to a table in PM.
// Abort      The lines in caches are dropped. The bits are as before.
// Recovery   Reads the table, then the journal, and writes all lines of second frames home.
//
// Differences: decisions of this implementation (docs/reference/hardware/ssp.md has the reasons).
//   - The record waits for the lines. (`printed=together`: it does not.)
//   - A record has the bits of all pages of its transaction, in several lines if they are many.
//     Recovery applies all of them or none. (`printed=pages`: each line by itself.)
//   - The bits of a consolidated page change when its copies are accepted. (`printed=release`: when
//     they are sent.)
//   - The second frame lies in the design's own region, and the home stays the page's address. So a
//     page whose second frame has most of its lines keeps that frame, and is an entry of the table.
//   - Bits in the journal come with a mask, because transactions may share pages.
//   - The fallback to a log in software is engine hw's, with its option `fallback`. Without it the
//     engine ends the update with an error.
#pragma once

#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "holdfast/hardware/ssp/page_journal.h"
#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

DesignInfo ssp_info();

struct SspOptions {
  /// Where the text, read by the letter, loses data.
  enum class Printed : uint8_t { nothing, together, pages, release };

  uint64_t frames = 16'384;
  uint64_t journal_bytes = 1 << 20;
  double cache_cycles = 10;  ///< to fetch an entry of the SSP cache
  size_t tlb_pages = 0;      ///< of a core's TLB; 0: as the machine has
  Printed printed = Printed::nothing;
};

/// The design "ssp". Hooks: see design.h. Transactions that run at the same time must not store to
/// the same line, nor must stores outside transactions reach their lines. They may share pages.
class Ssp final : public HardwareDesign {
 public:
  explicit Ssp(const SspOptions& options) : options_(options) {}

  DesignWishes wishes() const override { return {.dooms = true, .tlbs = true}; }
  void adapt(MachineDescription& machine) const override;
  std::span<const char* const> transitions() const override;
  void attach(DesignContext& context) override;

  Time begin(const DesignTransaction& tx, Time now) override;
  Time commit(const DesignTransaction& tx, Time now) override;
  Time abort(const DesignTransaction& tx, Time now) override;
  Time first_store(const DesignStore& store, Time now) override;

  uint8_t outside_store(DesignLine line, uint8_t flags) override;
  DesignFill fill(DesignLine line, int core, Time now) override;
  Leaving leaving(const LineMove& move, Time now) override;
  MemoryWrite memory_write(const LineMove& move, Time now) override;
  Time tlb_filled(const TlbPage& page, Time now) override;
  void tlb_evicted(const TlbPage& page, Time now) override;

  void tick(Time now) override;
  Time settle(Time now) override;
  Time recover(DesignRecovery& recovery, Time now) override;
  std::vector<std::pair<const char*, uint64_t>> counters() const override;

 private:
  static constexpr uint64_t kPage = kPageBytes;
  static constexpr uint32_t kNoFrame = PageJournal::kNoFrame;
  static constexpr Time kNever = ~Time{0};
  static constexpr size_t kReservedSlots = 1;  ///< of the journal, for consolidations
  enum Transition : size_t {
    kWrittenEarly,
    kCameBack,
    kBroadcast,
    kAborted,
    kTooLarge,
    kConsolidatedHome,
    kConsolidatedAway,
    kFramesFull,
    kOutside,
    kCheckpoint,
    kNewLap
  };

  /// An entry of the SSP cache, or of the table: a page that is in some TLB, or whose second frame
  /// has lines.
  struct Page {
    uint32_t frame = kNoFrame;
    uint64_t bits = 0;     ///< by line: 1: the second frame has the committed content
    int references = 0;    ///< TLBs that have the page
    int transactions = 0;  ///< open ones that have stored to it
    bool busy = false;     ///< it is being consolidated
  };
  struct Stored {
    DesignLine line;
    std::vector<std::byte> before;
  };
  struct Thread {
    bool open = false;
    int core = 0;
    std::vector<Stored> lines;           ///< that the transaction has stored to
    std::map<uint64_t, uint64_t> pages;  ///< by page: its lines of these, a bit each
    uint32_t moving = 0;                 ///< the line that other cores are being told of
    Time told = 0;                       ///< the time at which they know; 0: no line is moving
    bool flushed = false;                ///< the lines have been sent
    Time accepted = 0;                   ///< of the lines
    PageJournal::Record record;          ///< if it has been begun
  };
  /// A page whose consolidation is not durable.
  struct Consolidation {
    uint64_t page;
    uint64_t bits;  ///< the page's bits when it is
    Time due;       ///< of its next step: the copies are accepted, then the record
    PageJournal::Record record;
  };

  static uint8_t flag_of(int slot) { return static_cast<uint8_t>(slot + 1); }
  Thread& of(const DesignTransaction& tx) { return threads_[static_cast<size_t>(tx.slot)]; }
  static uint64_t page_of(Place home) { return home.offset / kPage; }
  uint64_t bit_of(Place home) const { return uint64_t{1} << home.offset % kPage / line_bytes_; }
  uint64_t all_lines() const { return ~uint64_t{0} >> (64 - lines()); }
  /// The place of a line in one of the page's frames.
  Place place(uint64_t page, const Page& entry, size_t line, bool second) const;
  size_t lines() const { return kPage / line_bytes_; }
  Place newest_place(Place home, const Page& entry, bool uncommitted) const;

  // ssp.cc
  Time take_frame(int slot, Page& entry, Time now);
  Time tell_others(Thread& thread, uint32_t line, const Page& entry, Time now);
  void drop_lines(int slot, Time now);
  void end(Thread& thread, Time now);

  // ssp_pages.cc
  void unused(uint64_t page, Time now);
  void consolidate(uint64_t page, bool to_home, Time now);
  bool goes_on(Consolidation& consolidation, Time now);
  void consolidate_unused(Time now);
  Time next_due(Time now) const;
  uint64_t oldest_slot() const;
  Time journal_room(size_t slots, Time now);
  Time step(Time now);

  SspOptions options_;
  size_t line_bytes_ = 0;
  Time transfer_time_ = 0;
  Time cache_time_ = 0;
  PageJournal journal_;
  std::vector<Thread> threads_;             ///< by slot
  std::map<uint64_t, Page> pages_;          ///< by page of the home
  std::unordered_map<uint64_t, int> open_;  ///< by home of a line: the slot of its transaction
  std::vector<uint32_t> free_frames_;
  std::deque<uint64_t> unused_;  ///< pages to consolidate; some may be in use again
  std::vector<Consolidation> consolidations_;
  std::vector<std::byte> filled_;  ///< the bytes of the latest fill
  uint64_t remapped_ = 0;
  uint64_t broadcasts_ = 0;
  uint64_t consolidated_ = 0;
  uint64_t copied_ = 0;
  uint64_t too_large_ = 0;
  uint64_t outside_ = 0;
};

}  // namespace holdfast
