// SPDX-License-Identifier: Apache-2.0
// Does engine hw repeat a transaction that the hardware design has aborted, and end in a clear
// error if that is of no use?
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>

#include "holdfast/engines/hw/hw.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "tests/careless.h"
#include "tests/unit/engines/engine_fixture.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::hw_abort_test {
namespace {

using Engine = Hardware<SimMachine>;

/// The cause for which a design aborts a transaction, or none.
struct Plan {
  std::function<AbortCause(uint64_t tx)> at_store = [](uint64_t) { return AbortCause::none; };
  std::function<AbortCause(uint64_t tx)> at_commit = [](uint64_t) { return AbortCause::none; };
  size_t lines = 1000;  ///< that a transaction can store to
};

/// A design that aborts transactions as the plan says, and those with lines that another thread
/// touches.
class Dooming final : public HardwareDesign {
 public:
  explicit Dooming(const Plan& plan) : plan_(plan) {}

  DesignWishes wishes() const override { return {.touches = true, .dooms = true}; }
  Time first_store(const DesignStore& store, Time now) override {
    std::vector<uint32_t>& lines = lines_[store.tx.slot];
    const AbortCause cause =
        lines.size() == plan_.lines ? AbortCause::capacity : plan_.at_store(store.tx.id);
    if (cause != AbortCause::none) {
      context().doom(store.tx.slot, cause, now);
      return now;
    }
    lines.push_back(store.line.line);
    context().set_flags(store.line.line, 1);
    return now;
  }
  Time commit(const DesignTransaction& tx, Time now) override {
    const AbortCause cause = plan_.at_commit(tx.id);
    if (cause != AbortCause::none) {
      context().doom(tx.slot, cause, now);
      return now;
    }
    forget(tx);
    return now;
  }
  Time abort(const DesignTransaction& tx, Time now) override {
    const Time done = HardwareDesign::abort(tx, now);
    forget(tx);
    return done;
  }
  void touched(const Touch& touch, Time now) override {
    for (const auto& [slot, lines] : lines_) {
      if (slot != touch.slot && std::count(lines.begin(), lines.end(), touch.line.line) != 0) {
        context().doom(slot, AbortCause::conflict, now);
        return;
      }
    }
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  void forget(const DesignTransaction& tx) {
    for (const uint32_t line : lines_[tx.slot]) {
      context().set_flags(line, 0);
    }
    lines_[tx.slot].clear();
  }

  const Plan& plan_;
  std::map<int, std::vector<uint32_t>> lines_;  ///< by slot
};

/// A heap of bare words on a machine with that design.
class Aborts : public testing::Test {
 protected:
  void start(const Options& engine_options = {}) {
    SimOptions o = options(roomy(), "");
    o.make_design = [this] { return std::make_unique<Dooming>(plan_); };
    machine_ = std::make_unique<SimMachine>(o);
    heap_ = std::make_unique<EngineFixture<Engine>>(
        *machine_, EngineFixtureShape{.options = engine_options, .bytes = kPageBytes});
    heap_->format().check();
  }
  void run(const std::function<void()>& f) {
    machine_->run_threads(1, [&](int) { f(); });
  }
  uint64_t aborted(AbortCause cause) const {
    return heap_->engine().statistics().aborts[static_cast<size_t>(cause)];
  }
  /// The status with which an update of `lines` lines ends.
  Status update(size_t lines, uint64_t value) {
    try {
      heap_->engine().update([&] {
        ++bodies_;
        for (size_t line = 0; line < lines; ++line) {
          heap_->set(8 * line, value);
        }
      });
    } catch (const Error& error) {
      return error.status();
    }
    return {};
  }

  Plan plan_;
  std::unique_ptr<SimMachine> machine_;
  std::unique_ptr<EngineFixture<Engine>> heap_;
  uint64_t bodies_ = 0;
};

using HwAborts = Aborts;

TEST_F(HwAborts, ConflictsAreRepeatedAsOftenAsNeeded) {
  plan_.at_store = [](uint64_t tx) { return tx <= 150 ? AbortCause::conflict : AbortCause::none; };
  start();
  run([&] { update(2, 7).check(); });
  EXPECT_EQ(bodies_, 151u);
  EXPECT_EQ(aborted(AbortCause::conflict), 150u);
  EXPECT_EQ(heap_->engine().statistics().update_commits, 1u);
  EXPECT_EQ(heap_->engine().statistics().bytes_stored, 16u);
  EXPECT_EQ(heap_->read(8), 7u);
}

TEST_F(HwAborts, AnAbortAtTheCommitIsRepeatedToo) {
  plan_.at_commit = [](uint64_t tx) { return tx <= 3 ? AbortCause::other : AbortCause::none; };
  start();
  run([&] {
    update(2, 7).check();
    update(2, 8).check();
  });
  EXPECT_EQ(bodies_, 5u);
  EXPECT_EQ(aborted(AbortCause::other), 3u);
  EXPECT_EQ(machine_->design_counters().transactions, 2u);
  EXPECT_EQ(machine_->design_counters().doomed, 3u);
  EXPECT_EQ(heap_->read(8), 8u);
}

TEST_F(HwAborts, ATransactionThatIsTooLargeIsAClearError) {
  plan_.lines = 4;
  start({{"retries", "5"}});
  Status status;
  run([&] {
    update(4, 1).check();
    status = update(5, 2);
    update(3, 3).check();  // the lock is free, and no transaction is open
  });
  EXPECT_EQ(status.code(), Code::too_large);
  EXPECT_NE(status.message().find("so large a transaction"), std::string::npos) << status.message();
  EXPECT_EQ(bodies_, 1u + 6u + 1u);
  EXPECT_EQ(aborted(AbortCause::capacity), 6u);
  EXPECT_EQ(heap_->engine().statistics().update_commits, 2u);
  EXPECT_EQ(heap_->read(0), 3u);
  EXPECT_EQ(heap_->read(8 * 3), 1u);
  EXPECT_EQ(heap_->read(8 * 4), 0u);
}

// The first attempt is the design's, the second one logs in software.
TEST_F(HwAborts, WithAFallbackATransactionThatIsTooLargeIsLoggedInSoftware) {
  plan_.lines = 4;
  start({{"fallback", "4096"}});
  uint64_t design_transactions = 0;
  run([&] {
    update(4, 1).check();
    design_transactions = machine_->design_counters().transactions;
    update(6, 2).check();
    EXPECT_EQ(machine_->design_counters().transactions, design_transactions);
    const size_t data = heap_->regions().area_bytes / kLineBytes;
    const SimImage image = machine_->earliest_image();
    for (size_t line = 0; line < 6; ++line) {
      EXPECT_EQ(DesignMachine::in_image(image, data + line), 2u) << "durable at return";
    }
    update(3, 3).check();
  });
  EXPECT_EQ(bodies_, 1u + 2u + 1u);
  EXPECT_EQ(aborted(AbortCause::capacity), 1u);
  EXPECT_EQ(heap_->engine().statistics().lock_fallbacks, 1u);
  EXPECT_EQ(heap_->engine().statistics().update_commits, 3u);
  EXPECT_EQ(heap_->read(8 * 2), 3u);
  EXPECT_EQ(heap_->read(8 * 5), 2u);
}

TEST_F(HwAborts, AFallbackThatFailsIsRolledBack) {
  plan_.lines = 4;
  start({{"fallback", "1024"}});
  run([&] {
    update(4, 1).check();
    EXPECT_THROW(heap_->engine().update([&] {
      for (size_t line = 0; line < 6; ++line) {
        heap_->set(8 * line, 9);
        heap_->set(8 * line, 10);
      }
      machine_->fence();
      throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    for (size_t line = 0; line < 6; ++line) {
      EXPECT_EQ(heap_->get(8 * line), line < 4 ? 1u : 0u) << line;
    }
    EXPECT_EQ(update(60, 2).code(), Code::too_large) << "60 lines are too many for the log";
    EXPECT_EQ(heap_->get(0), 1u);
    EXPECT_THROW(heap_->engine().update([&] {
      for (size_t line = 0; line < 60; ++line) {
        careless([&] { heap_->set(8 * line, 2); });
      }
    }),
                 Error);
    EXPECT_EQ(heap_->get(0), 1u) << "the body had swallowed the error";
    update(6, 3).check();
    EXPECT_EQ(heap_->get(8 * 5), 3u);
  });
  EXPECT_EQ(heap_->engine().statistics().lock_fallbacks, 4u);
}

TEST_F(HwAborts, ALackOfRoomThatEndsIsNoError) {
  plan_.at_store = [](uint64_t tx) { return tx <= 5 ? AbortCause::capacity : AbortCause::none; };
  start({{"retries", "5"}});
  run([&] { update(2, 1).check(); });
  EXPECT_EQ(bodies_, 6u);
}

TEST_F(HwAborts, AnotherCauseThatRemainsIsAClearError) {
  plan_.at_commit = [](uint64_t) { return AbortCause::explicit_abort; };
  start({{"retries", "0"}});
  Status status;
  run([&] { status = update(1, 1); });
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("'explicit'"), std::string::npos) << status.message();
  EXPECT_EQ(bodies_, 1u);
  EXPECT_EQ(heap_->read(0), 0u);
}

TEST_F(HwAborts, ABodyThatFailsBecauseItSwallowedTheAbortIsRepeated) {
  plan_.at_store = [](uint64_t tx) { return tx <= 2 ? AbortCause::conflict : AbortCause::none; };
  start();
  run([&] {
    heap_->engine().update([&] {
      ++bodies_;
      heap_->set(0, 5);
      try {
        machine_->fence();
        heap_->get(0);
      } catch (...) {
        throw std::runtime_error("made of the abort");
      }
    });
  });
  EXPECT_EQ(bodies_, 3u);
  EXPECT_EQ(heap_->engine().statistics().user_aborts, 0u);
  EXPECT_EQ(heap_->read(0), 5u);
}

TEST_F(HwAborts, TheBodysOwnExceptionPropagates) {
  plan_.at_store = [](uint64_t tx) { return tx == 2 ? AbortCause::conflict : AbortCause::none; };
  start();
  run([&] {
    update(1, 1).check();
    EXPECT_THROW(heap_->engine().update([&] {
      heap_->set(0, 2);
      machine_->fence();
      throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
  });
  EXPECT_EQ(aborted(AbortCause::conflict), 1u);
  EXPECT_EQ(heap_->engine().statistics().user_aborts, 1u);
  EXPECT_EQ(heap_->read(0), 1u);
}

TEST_F(HwAborts, AThreadThatTouchesALineWithoutTheLockAbortsItsTransaction) {
  start();
  machine_->run_threads(2, [&](int worker) {
    for (uint64_t i = 1; i <= 50; ++i) {
      if (worker == 0) {
        update(4, i).check();
      } else {
        SimMachine::load(heap_->word(8));
        machine_->work(100);
      }
    }
  });
  EXPECT_GT(aborted(AbortCause::conflict), 0u);
  EXPECT_EQ(bodies_, 50u + aborted(AbortCause::conflict));
  for (size_t line = 0; line < 4; ++line) {
    EXPECT_EQ(heap_->read(8 * line), 50u);
  }
}

TEST_F(HwAborts, ThreadsCountRightWhateverTheDesignAborts) {
  plan_.at_store = [](uint64_t tx) {
    return tx % 3 == 0 ? AbortCause::conflict : AbortCause::none;
  };
  plan_.at_commit = [](uint64_t tx) { return tx % 5 == 0 ? AbortCause::other : AbortCause::none; };
  start();
  machine_->run_threads(3, [&](int) {
    for (int i = 0; i < 30; ++i) {
      heap_->engine().update([&] {
        heap_->set(0, heap_->get(0) + 1);
        heap_->set(8, heap_->get(8) + 1);
      });
    }
  });
  EXPECT_GT(aborted(AbortCause::conflict), 0u);
  EXPECT_GT(aborted(AbortCause::other), 0u);
  EXPECT_EQ(heap_->read(0), 90u);
  EXPECT_EQ(heap_->read(8), 90u);
}

TEST_F(HwAborts, NestedTransactionsAreRepeatedWithTheOuterOne) {
  plan_.at_store = [](uint64_t tx) {
    return tx % 2 == 0 ? AbortCause::conflict : AbortCause::none;
  };
  SimOptions o = options(roomy(), "");
  o.make_design = [this] { return std::make_unique<Dooming>(plan_); };
  SimMachine machine(o);
  using H = Heap<AnyEngine<SimMachine>>;
  CreateOptions create;
  create.engine = "hw";
  create.bytes = 64 << 10;
  auto heap = H::create(machine, create).value();
  auto* count = heap->root<H::Field<int64_t>>("count").value();
  int inner = 0;
  machine.run_threads(1, [&](int) {
    for (int i = 0; i < 4; ++i) {
      heap->update([&] {
            *count += 1;
            heap->update([&] {
                  ++inner;
                  *count += 10;
                  machine.fence();
                })
                .check();
          })
          .check();
    }
  });
  EXPECT_EQ(heap->read([&] { EXPECT_EQ(*count, 44); }).code(), Code::ok);
  EXPECT_GT(inner, 4);
}

TEST(HwOptions, RetriesAreANumber) {
  EXPECT_EQ(Engine::area_bytes({{"retries", "many"}}, 1).status().code(), Code::invalid_argument);
  EXPECT_EQ(Engine::area_bytes({{"wait", "2"}}, 1).status().code(), Code::invalid_argument);
  EXPECT_TRUE(Engine::area_bytes({{"retries", "0"}}, 1).ok());
  EXPECT_EQ(Engine::area_bytes({{"fallback", "1023"}}, 1).status().code(), Code::invalid_argument);
  EXPECT_EQ(Engine::area_bytes({{"fallback", "4096"}, {"lock", "hardware"}}, 1).status().code(),
            Code::invalid_argument);
  EXPECT_GE(Engine::area_bytes({{"fallback", "4096"}}, 1).value(), 4096u);
}

}  // namespace
}  // namespace holdfast::design_test::hw_abort_test
