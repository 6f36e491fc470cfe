// SPDX-License-Identifier: Apache-2.0
//
// A design with an undo log in its own region, for tests. The first store to a line writes its old
// bytes to the log. The commit writes the lines home, and then the transaction's number into a
// register. Recovery puts back the bytes of transactions whose number is missing there.
#pragma once

#include <cstring>
#include <vector>

#include "holdfast/machine/sim/design/design.h"

namespace holdfast::design_test {

enum class UndoBug : uint8_t {
  none,
  log_not_awaited,     ///< stores go on before the log is accepted
  header_first,        ///< a record is valid before its bytes are there
  commits_early,       ///< the register changes before the lines are home
  abort_forgets_home,  ///< an abort restores only the caches
  cancels_early,       ///< the log is taken back before the lines are home
};

class UndoLog final : public HardwareDesign {
 public:
  /// With `cancels`, a commit takes back the log writes that still wait in the controller's queue.
  explicit UndoLog(UndoBug bug = UndoBug::none, bool cancels = false)
      : bug_(bug), cancels_(cancels) {}

  std::vector<StructureInfo> structures(const MachineDescription& machine) const override {
    return {{.name = "register", .entries = slots(machine), .entry_bytes = sizeof(Register)}};
  }

  void attach(DesignContext& context) override {
    HardwareDesign::attach(context);
    threads_.resize(slots(context.machine()));
  }

  Time begin(const DesignTransaction& tx, Time now) override {
    threads_[index(tx)] = {};
    return now;
  }

  Time first_store(const DesignStore& store, Time now) override {
    Thread& t = threads_[index(store.tx)];
    const size_t steps = bug_ == UndoBug::log_not_awaited ? 0 : 2;
    if (t.step == 0) {
      t.ready = now;
    }
    while (t.step < 2 && now >= t.ready) {
      const bool header = (t.step == 1) != (bug_ == UndoBug::header_first);
      t.ready = write_log(t, store, header, now);
      ++t.step;
      if (steps == 0) {
        t.ready = now;
      }
    }
    if (now < t.ready) {
      return t.ready;
    }
    t.step = 0;
    t.lines.push_back(store.line.line);
    return now;
  }

  Time commit(const DesignTransaction& tx, Time now) override {
    Thread& t = threads_[index(tx)];
    if (t.step == 0) {
      t.ready = now;
      if (bug_ == UndoBug::cancels_early) {
        take_back(t, now);
      }
      for (const uint32_t line : t.lines) {
        t.ready = std::max(t.ready, context().write_back(line, now));
      }
      if (bug_ == UndoBug::commits_early) {
        end(tx, now);
      }
      t.step = 1;
    }
    if (now < t.ready) {
      return t.ready;
    }
    end(tx, now);
    take_back(t, now);
    return now;
  }

  /// The lines may have been written home, so the old bytes go there before the log ends.
  Time abort(const DesignTransaction& tx, Time now) override {
    Time done = context().roll_back(tx, now);
    for (const uint32_t line : threads_[index(tx)].lines) {
      if (bug_ != UndoBug::abort_forgets_home) {
        done = std::max(done, context().write_back(line, done));
      }
    }
    end(tx, done);
    return done;
  }

  Time recover(DesignRecovery& recovery, Time now) override {
    const size_t line_bytes = context().line_bytes();
    const size_t n = slots(context().machine());
    std::vector<Register> registers(n);
    struct Undo {
      Place at;
      std::vector<std::byte> bytes;
    };
    std::vector<Undo> undo;
    for (size_t slot = 0; slot < n; ++slot) {
      std::memcpy(&registers[slot], context().entry(0, slot).data(), sizeof(Register));
      std::vector<std::byte> bytes(line_bytes);
      for (uint64_t record = 0;; ++record) {
        now = context().read(log(slot, record, true), bytes.data(), ReadCause::recovery, now);
        Header header;
        std::memcpy(&header, bytes.data(), sizeof(header));
        if (header.boot != registers[slot].boot || header.tx <= registers[slot].ended) {
          break;
        }
        recovery.discarded += record == 0 ? 1 : 0;
        now = context().read(log(slot, record, false), bytes.data(), ReadCause::recovery, now);
        undo.push_back({{Space::home, header.offset}, bytes});
      }
    }
    Time accepted = now;
    for (const Undo& one : undo) {
      const DesignWrite write = context().write(one.at, one.bytes.data(), Cause::recovery, now);
      accepted = std::max(accepted, write.accepted);
      ++recovery.lines_written;
    }
    for (size_t slot = 0; slot < n; ++slot) {  // numbers of transactions begin anew
      const Register next{registers[slot].boot + 1, 0};
      context().change(0, slot, reinterpret_cast<const std::byte*>(&next), accepted);
    }
    return accepted;
  }

  std::vector<std::pair<const char*, uint64_t>> counters() const override {
    return {{"taken back", taken_back_}, {"too late", too_late_}};
  }

  static size_t slots(const MachineDescription& machine) {
    constexpr size_t kMainAndBackground = 2;
    return static_cast<size_t>(machine.hardware_threads()) + kMainAndBackground;
  }

 private:
  struct Register {
    uint64_t boot = 0;   ///< how often recovery has run
    uint64_t ended = 0;  ///< the latest transaction that has ended
  };
  struct Header {
    uint64_t boot, tx, offset;
  };
  struct Thread {
    int step = 0;
    Time ready = 0;
    std::vector<uint32_t> lines;
    std::vector<Ticket> tickets;
  };

  static size_t index(const DesignTransaction& tx) { return static_cast<size_t>(tx.slot); }
  Place log(size_t slot, uint64_t record, bool header) const {
    return {Space::own, (slot << 20) + (2 * record + (header ? 1 : 0)) * context().line_bytes()};
  }

  Time write_log(Thread& t, const DesignStore& store, bool header, Time now) {
    std::vector<std::byte> bytes(store.before, store.before + context().line_bytes());
    const size_t slot = index(store.tx);
    if (header) {
      Register own;
      std::memcpy(&own, context().entry(0, slot).data(), sizeof(own));
      const Header content{own.boot, store.tx.id, store.line.at.offset};
      std::memcpy(bytes.data(), &content, sizeof(content));
    }
    const DesignWrite write =
        context().write(log(slot, t.lines.size(), header), bytes.data(), Cause::log, now, cancels_);
    if (cancels_) {
      t.tickets.push_back(write.ticket);
    }
    return write.accepted;
  }

  void end(const DesignTransaction& tx, Time now) {
    Register own;
    std::memcpy(&own, context().entry(0, index(tx)).data(), sizeof(own));
    own.ended = tx.id;
    context().change(0, index(tx), reinterpret_cast<const std::byte*>(&own), now);
  }

  void take_back(Thread& t, Time now) {
    for (const Ticket ticket : t.tickets) {
      ++(context().cancel(ticket, now) ? taken_back_ : too_late_);
    }
    t.tickets.clear();
  }

  UndoBug bug_;
  bool cancels_;
  std::vector<Thread> threads_;
  uint64_t taken_back_ = 0;
  uint64_t too_late_ = 0;
};

}  // namespace holdfast::design_test
