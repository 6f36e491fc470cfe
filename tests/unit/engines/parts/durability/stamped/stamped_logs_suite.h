// SPDX-License-Identifier: Apache-2.0
//
// Does a torn block stay dropped? A suite that each engine with stamped logs instantiates in its
// own folder.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/unit/engines/parts/isolation/stm/stm_recovery_suite.h"

namespace holdfast::history_test {

/// A torn block that recovery has dropped does not come back when the block that is being written
/// over it is torn in turn, with just the line on the medium that both have in common.
template <class E>
void expect_a_torn_block_stays_dropped(const std::vector<Mutation>& mutations,
                                       uint64_t comes_back) {
  SimImage whole;
  {
    SimMachine machine(sim_options(1));
    EngineFixture<E> heap(machine, shape<E>(false));
    heap.format().check();
    heap.recover().check();
    heap.engine().update([&] {
      for (size_t i = 1; i <= 8; ++i) {
        heap.set(2 * i, i);
      }
    });
    whole = machine.earliest_image();
  }
  const size_t area = E::kDescription.area_bytes(shape<E>(false).options, 3).value();
  // The lines that differ from an empty area, all but the header and the first of the block.
  std::vector<size_t> lines;
  for (size_t line = 2 * kPageBytes; line < area; line += kLineBytes) {
    if (std::any_of(whole.begin() + static_cast<std::ptrdiff_t>(line),
                    whole.begin() + static_cast<std::ptrdiff_t>(line + kLineBytes),
                    [](std::byte b) { return b != std::byte{0}; })) {
      lines.push_back(line);
    }
  }
  ASSERT_GE(lines.size(), 2u);
  const size_t cut = lines.back();
  const auto at = [&](SimImage& image) { return image.begin() + static_cast<std::ptrdiff_t>(cut); };
  SimImage torn = whole;
  std::fill_n(at(torn), kLineBytes, std::byte{0});
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(area), torn.end(), std::byte{0});
  SimImage recovered;
  {
    SimOptions options = sim_options(1);
    options.mutations = mutations;
    SimMachine machine(options, torn);
    EngineFixture<E> heap(machine, shape<E>(false));
    heap.recover().check();
    EXPECT_EQ(heap.report().transactions, 0u);
    EXPECT_EQ(heap.read(2), 0u);
    recovered = machine.earliest_image();
  }
  std::copy_n(at(whole), kLineBytes, at(recovered));
  SimMachine machine(sim_options(1), recovered);
  EngineFixture<E> heap(machine, shape<E>(false));
  heap.recover().check();
  EXPECT_EQ(heap.report().transactions, comes_back);
}

template <class E>
class StampedLogsSuite : public testing::Test {};
TYPED_TEST_SUITE_P(StampedLogsSuite);

TYPED_TEST_P(StampedLogsSuite, ATornBlockStaysDropped) {
  expect_a_torn_block_stays_dropped<TypeParam>({}, 0);
}

REGISTER_TYPED_TEST_SUITE_P(StampedLogsSuite, ATornBlockStaysDropped);

}  // namespace holdfast::history_test
