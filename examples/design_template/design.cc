// SPDX-License-Identifier: Apache-2.0
//
// A template for a hardware design out of the tree: an undo log in the design's own region.
//
// Store     A transaction's first store to a line waits until a record with the line's old bytes is
//           in the thread's log, and until the thread's register counts the record.
// Commit    The lines are written back. When memory has accepted them, the register becomes 0: this
//           is the instant of the commit.
// Abort     The old bytes are stored again and written back; then the register becomes 0.
// Too large The design aborts a transaction that stores to more than `lines` lines.
// Recovery  Writes the old bytes home, the latest record first; then the register becomes 0.
//
// Transactions that run at the same time must not store to the same line.
#include <algorithm>
#include <cstring>

#include "holdfast/machine/sim/design/own_design.h"

namespace {

using namespace holdfast;

constexpr OptionInfo kLines = {"lines", "4096", "lines that one transaction can store to"};
constexpr uint64_t kLogBytes = uint64_t{1} << 30;  // of address space, for each thread

class UndoLog final : public HardwareDesign {
 public:
  explicit UndoLog(size_t lines) : most_lines_(lines) {}

  DesignWishes wishes() const override { return {.dooms = true}; }

  /// One register for each hardware thread: how many records of its log are valid.
  std::vector<StructureInfo> structures(const MachineDescription& machine) const override {
    constexpr int kMainAndBackground = 2;
    const auto threads = static_cast<size_t>(machine.hardware_threads() + kMainAndBackground);
    return {{.name = "registers", .entries = threads, .entry_bytes = sizeof(uint64_t)}};
  }

  std::span<const char* const> transitions() const override {
    static constexpr const char* kNames[] = {"a record became valid", "a transaction committed",
                                             "a transaction was rolled back"};
    return kNames;
  }

  void attach(DesignContext& context) override {
    HardwareDesign::attach(context);
    logs_.resize(structures(context.machine())[0].entries);
  }

  /// Called again for the same store, until it returns `now`.
  Time first_store(const DesignStore& store, Time now) override {
    Log& log = of(store.tx);
    if (log.lines.size() == most_lines_) {
      context().doom(store.tx.slot, AbortCause::capacity, now);  // calls abort()
      return now;
    }
    if (log.accepted == 0) {
      log.accepted = write_record(store, log.lines.size(), now);
    }
    if (log.accepted > now) {
      return log.accepted;
    }
    log.accepted = 0;
    log.lines.push_back(store.line.line);
    set_register(store.tx.slot, log.lines.size(), now);
    context().passed(0);
    return now;
  }

  Time commit(const DesignTransaction& tx, Time now) override {
    Log& log = of(tx);
    if (log.accepted == 0) {  // the first call for this commit
      log.accepted = write_back(log, now);
    }
    if (log.accepted > now) {
      return log.accepted;
    }
    if (!log.lines.empty()) {
      set_register(tx.slot, 0, now);
      context().passed(1);
    }
    log = {};
    return now;
  }

  Time abort(const DesignTransaction& tx, Time now) override {
    Log& log = of(tx);
    // The latest store's record may be on its way. Its line is as it was.
    const Time restored = HardwareDesign::abort(tx, std::max(now, log.accepted));
    const Time done = write_back(log, restored);
    if (!log.lines.empty()) {
      set_register(tx.slot, 0, done);
      context().passed(2);
    }
    log = {};
    return done;
  }

  Time recover(DesignRecovery& recovery, Time now) override {
    const size_t line = context().line_bytes();
    std::vector<std::byte> header(line);
    std::vector<std::byte> before(line);
    for (size_t slot = 0; slot < logs_.size(); ++slot) {
      uint64_t records;
      std::memcpy(&records, context().entry(0, slot).data(), sizeof(records));
      recovery.discarded += records != 0 ? 1 : 0;
      for (uint64_t record = records; record-- > 0; ++recovery.lines_written) {
        now = context().read(place(slot, record, true), header.data(), ReadCause::recovery, now);
        now = context().read(place(slot, record, false), before.data(), ReadCause::recovery, now);
        Place home;
        std::memcpy(&home.offset, header.data(), sizeof(home.offset));
        now = context().write(home, before.data(), Cause::recovery, now).accepted;
      }
      if (records != 0) {
        set_register(static_cast<int>(slot), 0, now);
      }
    }
    recovery.text = std::to_string(recovery.discarded) + " transactions rolled back (" +
                    std::to_string(recovery.lines_written) + " lines)";
    return now;
  }

  std::vector<std::pair<const char*, uint64_t>> counters() const override {
    return {{"records", records_}};
  }

 private:
  /// The log of one thread's open transaction.
  struct Log {
    std::vector<uint32_t> lines;
    Time accepted = 0;  ///< when memory accepts what the oldest store or the commit waits for
  };

  Log& of(const DesignTransaction& tx) { return logs_[static_cast<size_t>(tx.slot)]; }

  /// A record has two lines: one with the home's offset, and one with the old bytes.
  Place place(size_t slot, uint64_t record, bool header) const {
    return {Space::own,
            slot * kLogBytes + (2 * record + (header ? 0 : 1)) * context().line_bytes()};
  }

  Time write_record(const DesignStore& store, uint64_t record, Time now) {
    const auto slot = static_cast<size_t>(store.tx.slot);
    std::vector<std::byte> header(context().line_bytes());
    std::memcpy(header.data(), &store.line.at.offset, sizeof(store.line.at.offset));
    ++records_;
    return std::max(
        context().write(place(slot, record, true), header.data(), Cause::log, now).accepted,
        context().write(place(slot, record, false), store.before, Cause::log, now).accepted);
  }

  /// Returns the time at which memory has accepted all lines of the transaction.
  Time write_back(const Log& log, Time now) {
    Time accepted = now;
    for (const uint32_t line : log.lines) {
      accepted = std::max(accepted, context().write_back(line, now));
    }
    return accepted;
  }

  void set_register(int slot, uint64_t records, Time now) {
    context().change(0, static_cast<size_t>(slot), reinterpret_cast<const std::byte*>(&records),
                     now);
  }

  size_t most_lines_;
  std::vector<Log> logs_;  ///< by slot
  uint64_t records_ = 0;
};

const DesignInfo& undo_log_info() {
  static const DesignInfo info = {
      .name = "undo-log",
      .title = "undo log in the design's own region",
      .source = "examples/design_template",
      .survives = "the log of unfinished transactions: every committed transaction",
      .durable = true,
      .options = std::span(&kLines, 1),
      .make = [](const Options& options) -> Result<std::unique_ptr<HardwareDesign>> {
        const auto lines = option_number(options, kLines, 1, 1 << 20);
        if (!lines.ok()) {
          return lines.status();
        }
        return std::unique_ptr<HardwareDesign>(std::make_unique<UndoLog>(lines.value()));
      }};
  return info;
}

}  // namespace

HOLDFAST_DESIGN(undo_log_info);
