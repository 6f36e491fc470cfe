// SPDX-License-Identifier: Apache-2.0
// Is a design caught that keeps its promises only because it is simulated?
#include <map>
#include <type_traits>

#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::cheats_test {
namespace {

// ---- what does not compile

template <class T>
concept ChangesContentWithoutAWrite = requires(T& t, Place at, const std::byte* bytes) {
  t.put(at, bytes);
} || requires(T& t, uint32_t line) { t.newest(line); };
static_assert(!ChangesContentWithoutAWrite<DesignContext>);

/// At power failure there are no newest bytes by line, and no way to the machine that runs.
template <class T>
concept SeesTheNewest = requires(const T& t, uint32_t line) {
  t.newest(line);
} || requires(T& t, Place at, std::byte* to) { t.read(at, to, ReadCause{}, Time{}); };
static_assert(!SeesTheNewest<PowerFailure>);
static_assert(SeesTheNewest<DesignContext>, "the concept finds what there is");
static_assert(!std::is_base_of_v<DesignContext, PowerFailure> &&
              !std::is_base_of_v<PowerFailure, DesignContext>);
/// The hook is const, so it changes no member of the second object either.
static_assert(std::is_same_v<decltype(&HardwareDesign::power_failure),
                             void (HardwareDesign::*)(PowerFailure&) const>);

// ---- what is caught

/// Says that transactions are durable.
class CommitsWithoutWriting : public HardwareDesign {
 public:
  Time recover(DesignRecovery&, Time now) override { return now; }
};

TEST(DesignCheats, ACommitWithoutWritingIsFound) {
  EXPECT_GT(wrong_images(options_for<CommitsWithoutWriting>(tiny(), Domain::pmem)), 0u);
  EXPECT_GT(wrong_images(options_for<CommitsWithoutWriting>(tiny(), Domain::eadr)), 0u)
      << "half a transaction";
}

/// Keeps what leaves the caches in a member, and supplies it again if asked to.
class WritesWithoutTraffic final : public CommitsWithoutWriting {
 public:
  explicit WritesWithoutTraffic(bool supplies) : supplies_(supplies) {}
  MemoryWrite memory_write(const LineMove& move, Time now) override {
    kept_[move.line.line].assign(move.bytes, move.bytes + context().line_bytes());
    return {.write = false, .done = now};
  }
  DesignFill fill(DesignLine line, int, Time now) override {
    const auto kept = kept_.find(line.line);
    if (!supplies_ || kept == kept_.end()) {
      return {.start = now};
    }
    return {.supplied = true, .done = now, .bytes = kept->second.data()};
  }

 private:
  bool supplies_;
  std::map<uint32_t, std::vector<std::byte>> kept_;
};

TEST(DesignCheats, AWriteThatNeverHappensIsFoundByTheNextFill) {
  DesignMachine m(options_for<WritesWithoutTraffic>(tiny(), Domain::pmem, false));
  try {
    m.run([&] {
      m.transaction(0, 60, 1);
      for (size_t line = 0; line < 60; ++line) {
        m.get(line);
      }
    });
    FAIL() << "nothing was missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::corrupt);
  }
}

TEST(DesignCheats, AWriteToAMemberOfTheDesignIsFoundByAPowerFailure) {
  const SimOptions o = options_for<WritesWithoutTraffic>(tiny(), Domain::pmem, true);
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 60, 1);
      for (size_t line = 0; line < 60; ++line) {
        EXPECT_EQ(m.get(line), 1u);
      }
    });
    EXPECT_EQ(m->statistics().medium_writes, 0u);
    image = m->earliest_image();
  }
  const DesignMachine m(o, image);
  EXPECT_EQ(m.get(0), 0u);
}

/// Counts in a test's variable what it can see when the power fails.
class LooksForTheNewest final : public CommitsWithoutWriting {
 public:
  explicit LooksForTheNewest(int* seen) : seen_(seen) {}
  void power_failure(PowerFailure& power) const override {
    power.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
      ++*seen_;
      power.write(cached.line.at, {bytes, power.line_bytes()});
    });
  }

 private:
  int* seen_;
};

TEST(DesignCheats, APowerFailureSeesCachesOnlyWhereTheySurvive) {
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    int seen = 0;
    DesignMachine m(options_for<LooksForTheNewest>(roomy(), domain, &seen));
    m.run([&] {
      m.transaction(0, 3, 1);
      m->fence();
    });
    const SimImage image = m->earliest_image();
    EXPECT_EQ(seen, domain == Domain::eadr ? 3 : 0);
    EXPECT_EQ(DesignMachine::in_image(image, 2), domain == Domain::eadr ? 1u : 0u);
  }
}

/// Keeps committed lines in members, and says at power failure and in recovery that it has them.
class KeepsDataInMembers final : public CommitsWithoutWriting {
 public:
  Time first_store(const DesignStore& store, Time now) override {
    lines_.push_back(store.line);
    context().set_flags(store.line.line, 1);
    return now;
  }
  Time commit(const DesignTransaction&, Time now) override {
    committed_ = lines_;
    return now;
  }
  void power_failure(PowerFailure& power) const override {
    const std::vector<std::byte> bytes(power.line_bytes(), std::byte{1});
    for (const DesignLine& line : committed_) {
      power.write(line.at, bytes);
    }
  }
  Time recover(DesignRecovery& recovery, Time now) override {
    recovery.transactions = committed_.size();
    return now;
  }

 private:
  std::vector<DesignLine> lines_;
  std::vector<DesignLine> committed_;
};

TEST(DesignCheats, MembersOfADesignDoNotSurvive) {
  const SimOptions o = options_for<KeepsDataInMembers>(roomy(), Domain::pmem);
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] {
      m.transaction(0, 3, 1);
      m->fence();
    });
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 0u) << "the second object has seen nothing";
  }
  DesignMachine m(o, image);
  EXPECT_EQ(m->design_recovery().transactions, 0u) << "neither has the new one";
}

/// Has a structure of three entries, of which two change together, and lets a test use the context.
class Small final : public CommitsWithoutWriting {
 public:
  DesignWishes wishes() const override { return {.cached_own_bytes = 100}; }
  std::vector<StructureInfo> structures(const MachineDescription&) const override {
    return {{.name = "small", .entries = 3, .entry_bytes = 4, .together = 2, .source = "a test"}};
  }
  using HardwareDesign::context;
};

TEST(DesignCheats, HardwareHasTheSizesThatItDeclares) {
  DesignMachine m(options_for<Small>(roomy(), Domain::pmem));
  DesignContext& context = static_cast<Small*>(m->hardware_design())->context();
  const std::byte bytes[64] = {std::byte{7}};
  const EntryChange changes[] = {{0, bytes}, {1, bytes}, {2, bytes}};
  std::byte read[64] = {};
  const std::span all(read);
  const std::span<const std::byte> line(bytes);
  context.change(0, std::span(changes).first(2), 0);
  EXPECT_EQ(context.entry(0, 1)[0], std::byte{7});
  EXPECT_THROW(context.change(0, changes, 0), Error) << "more at once than declared";
  EXPECT_EQ(context.entry(0, 2)[0], std::byte{0}) << "nothing has changed";
  EXPECT_THROW(context.change(0, 3, bytes, 0), Error) << "a fourth entry";
  EXPECT_THROW(static_cast<void>(context.entry(0, 3)), Error);
  EXPECT_THROW(context.change(1, 0, bytes, 0), Error) << "a second structure";
  EXPECT_THROW(static_cast<void>(context.entry(1, 0)), Error);
  EXPECT_THROW(context.write({Space::home, 8}, bytes, Cause::data, 0), Error) << "half a line";
  EXPECT_THROW(context.write({Space::home, DesignMachine::kBytes}, bytes, Cause::data, 0), Error);
  EXPECT_THROW(context.store_own(0, 64, line.first(40), 0), Error) << "104 bytes of 100";
  EXPECT_THROW(context.store_own(0, 60, line.first(8), 0), Error) << "two lines";
  EXPECT_THROW(context.load_own(0, 64, all.first(40), 0), Error);
  EXPECT_THROW(context.load_own(0, 60, all.first(8), 0), Error);
  EXPECT_THROW(context.doom(2, AbortCause::conflict, 0), Error) << "without the wish";
  EXPECT_EQ(context.store_own(0, 92, line.first(8), 0), 72'000u)
      << "10 for the last level, 62 for memory";
  EXPECT_EQ(context.load_own(0, 92, all.first(8), 0), 1'000u) << "a hit of L1";
  EXPECT_EQ(read[0], std::byte{7});
  int remaining = 0;
  context.for_each_remaining([&](const CachedLine&, const std::byte*) { ++remaining; });
  EXPECT_EQ(remaining, 0) << "only a recovery finds what an earlier machine has left";
}

/// Has no room for the fourth line of a transaction.
class RunsOutOfRoom final : public CommitsWithoutWriting {
 public:
  Time begin(const DesignTransaction& /*tx*/, Time now) override {
    lines_ = 0;
    return now;
  }
  Time first_store(const DesignStore& /*store*/, Time now) override {
    if (lines_++ == 3) {
      throw Error(Status(Code::out_of_space, "no more than three lines"));
    }
    return now;
  }

 private:
  int lines_ = 0;
};

// Its store is still in the buffer when the thread ends, and is not asked about again.
TEST(DesignCheats, ADesignThatGivesUpEndsTheMachine) {
  for (const size_t lines : {4u, 40u}) {
    DesignMachine m(options_for<RunsOutOfRoom>(roomy(), Domain::pmem));
    m.run([&] {
      m->tx_start();
      for (size_t line = 0; line < 3; ++line) {
        m.set(line, 1);
      }
      m->tx_commit();
      m->fence();
    });
    const auto run = [&] {
      m.run([&] {
        m.transaction(0, lines, 1);
        m->fence();
      });
    };
    EXPECT_THROW(run(), Error);
    EXPECT_TRUE(m->failed());
    EXPECT_EQ(m->failure().code(), Code::out_of_space);
  }
}

}  // namespace
}  // namespace holdfast::design_test::cheats_test
