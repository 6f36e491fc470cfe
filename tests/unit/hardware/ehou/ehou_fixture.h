// SPDX-License-Identifier: Apache-2.0
//
// Machines with the design ehou, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "holdfast/hardware/ehou/ehou.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test {

/// A cache of the table with two entries of one line each, so that almost every write of a
/// transaction overflows; and a filter that is often wrong.
inline const Options kOverflowing = {
    {"sets", "1"}, {"ways", "2"}, {"lines", "1"}, {"spares", "64"}, {"filter_bits", "16"}};
/// Four entries of four lines: an entry has mappings of several transactions.
inline const Options kShared = {
    {"sets", "2"}, {"ways", "2"}, {"lines", "4"}, {"spares", "64"}, {"filter_bits", "64"}};
/// Room for all mappings of a sweep.
inline const Options kRoomy = {{"sets", "8"}, {"ways", "4"}, {"lines", "8"}, {"spares", "64"}};

inline Options ehou_with(Options options, const Options& more) {
  for (const auto& [name, value] : more) {
    options[name] = value;
  }
  return options;
}

inline SimOptions ehou_on(const MachineDescription& machine, const Options& more = {}) {
  return options(machine, "ehou", more);
}

inline const Ehou& ehou_of(DesignMachine& m) {
  return dynamic_cast<const Ehou&>(*m->hardware_design());
}

/// Expects that each block of the device is the block of one line, or free, and none is both.
inline void expect_all_blocks_once(DesignMachine& m, const std::string& where) {
  const Ehou& design = ehou_of(m);
  const uint64_t lines = m->medium().bytes() / 64;
  std::vector<uint64_t> blocks = design.free_blocks();
  std::vector<uint64_t> all(blocks.size());
  std::iota(all.begin(), all.end(), Ehou::kSpareBlocks);
  for (uint64_t line = 0; line < lines; ++line) {
    blocks.push_back(design.block_of(line));
    all.push_back(line);
  }
  std::sort(blocks.begin(), blocks.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(blocks, all) << where;
}

}  // namespace holdfast::design_test
