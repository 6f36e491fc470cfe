// SPDX-License-Identifier: Apache-2.0
// Does a recovery write each line once, with the bytes that it has put there?
#include "holdfast/hardware/parts/home_lines.h"

#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::home_lines_test {
namespace {

void put(HomeLines& lines, size_t line, size_t word, uint64_t value) {
  lines.put(64 * line + 8 * word, std::as_bytes(std::span(&value, 1)));
}

TEST(HomeLines, LaterBytesCoverEarlierOnesAndTheRestStays) {
  DesignMachine m(options_for<Open>(roomy(), Domain::pmem));
  DesignContext& context = static_cast<Open*>(m->hardware_design())->context();
  m.run([&] {
    m.set(0, 1, 0);
    m.set(0, 2, 1);
    m->pwb(m.word(0));
    m->psync();
    HomeLines lines(context);
    put(lines, 0, 0, 7);
    put(lines, 0, 0, 8);
    for (size_t word = 0; word < 8; ++word) {
      put(lines, 5, word, 10 + word);
    }
    EXPECT_EQ(lines.lines(), 2u);
    const DesignCounters before = m->design_counters();
    m->sleep_until(lines.write(m->now()));
    m->pfence();
    const DesignCounters since = m->design_counters() - before;
    EXPECT_EQ(since.reads, 1u) << "line 5 is known";
    EXPECT_EQ(since.by_cause[static_cast<size_t>(Cause::recovery)], 2u);
  });
  const SimImage image = m->earliest_image();
  EXPECT_EQ(DesignMachine::in_image(image, 0, 0), 8u);
  EXPECT_EQ(DesignMachine::in_image(image, 0, 1), 2u);
  EXPECT_EQ(DesignMachine::in_image(image, 5, 0), 10u);
  EXPECT_EQ(DesignMachine::in_image(image, 5, 7), 17u);
}

}  // namespace
}  // namespace holdfast::design_test::home_lines_test
