// SPDX-License-Identifier: Apache-2.0
// Does a write-back wait for writes of its line that are on their way already?
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::design_write_back_test {
namespace {

/// A design that writes the lines of a transaction back, and nothing else.
class WritesBack final : public HardwareDesign {
 public:
  DesignWishes wishes() const override { return {.commit_waits = true}; }
  Time first_store(const DesignStore& store, Time now) override {
    lines_.push_back(store.line.line);
    return now;
  }
  Time commit(const DesignTransaction&, Time now) override {
    for (const uint32_t line : std::exchange(lines_, {})) {  // in the first call for this commit
      done_ = std::max(done_, context().write_back(line, now));
    }
    return std::max(done_, now);
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  std::vector<uint32_t> lines_;
  Time done_ = 0;
};

constexpr size_t kLines = 2;

/// Stores to lines and makes them persistent. Disturbances make the caches write some of them back
/// before, and the controller accept that late. Returns how many of these lines an image lacks.
template <class Persist>
size_t lost(Persist&& persist) {
  size_t lost = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SimOptions o = options(roomy(), "");
    o.make_design = [] { return std::make_unique<WritesBack>(); };
    o.disturb = seed;
    DesignMachine m(o);
    m.run([&] {
      for (uint64_t value = 1; value <= 16; ++value) {
        m->tx_start();
        for (size_t line = 0; line < kLines; ++line) {
          m.set(line, value);
        }
        persist(m);
        const SimImage image = m->earliest_image();
        for (size_t line = 0; line < kLines; ++line) {
          lost += DesignMachine::in_image(image, line) != value ? 1 : 0;
        }
        m->tx_commit();
      }
    });
  }
  return lost;
}

TEST(SimDesignWriteBack, AProgramsWriteBackWaits) {
  EXPECT_GT(lost([](DesignMachine& m) { m->fence(); }), 0u);
  EXPECT_EQ(lost([](DesignMachine& m) {
              for (size_t line = 0; line < kLines; ++line) {
                m->pwb(m.word(line), Site{"test.line"});
              }
              m->psync(Site{"test.sync"});
            }),
            0u);
}

TEST(SimDesignWriteBack, ADesignsWriteBackWaits) {
  EXPECT_EQ(lost([](DesignMachine& m) {
              m->tx_commit();
              m->tx_start();
            }),
            0u);
}

}  // namespace
}  // namespace holdfast::design_test::design_write_back_test
