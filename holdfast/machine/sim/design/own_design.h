// SPDX-License-Identifier: Apache-2.0
//
// A hardware design of one's own, compiled out of the tree into a shared object. Its source ends
// with HOLDFAST_DESIGN(info); examples/design_template has one, and the command that compiles it.
//
// The shared object has its own copies of the few functions of this library that it calls, so it
// needs no symbol of the program that loads it. That program may be the Python module, whose
// symbols no other shared object finds. Both sides must agree on the layout of the types and on the
// order of the virtual functions. Two numbers check that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/machine/sim/design/design_info.h"

namespace holdfast {

/// The checksum of the declarations in design.h, design_context.h, design_types.h, design_info.h
/// and cache_array.h. tests/python/test_own_design.py says the right one.
inline constexpr uint32_t kDesignInterface = 0xc90af336;

/// A checksum of the sizes of the types that cross the border. It differs if another compiler, or
/// another standard library, lays them out differently.
constexpr uint32_t design_layout() {
  uint32_t sum = 0;
  for (const size_t size : {sizeof(HardwareDesign),
                            sizeof(DesignWishes),
                            sizeof(MachineDescription),
                            sizeof(DesignTransaction),
                            sizeof(DesignStore),
                            sizeof(LineMove),
                            sizeof(Leaving),
                            sizeof(MemoryWrite),
                            sizeof(DesignFill),
                            sizeof(VictimChoice),
                            sizeof(Touch),
                            sizeof(StructureInfo),
                            sizeof(EntryChange),
                            sizeof(TableSlot),
                            sizeof(TableMiss),
                            sizeof(TableMapping),
                            sizeof(DesignWrite),
                            sizeof(DesignRecovery),
                            sizeof(DesignInfo),
                            sizeof(OptionInfo),
                            sizeof(Options),
                            sizeof(Status),
                            sizeof(std::string),
                            sizeof(std::vector<StructureInfo>),
                            sizeof(sim::CacheArray::Way)}) {
    sum = sum * 31 + static_cast<uint32_t>(size);
  }
  return sum;
}

/// The one symbol of the shared object. The first two members stay at their places for ever.
struct OwnDesign {
  uint32_t interface = kDesignInterface;
  uint32_t layout = design_layout();
  const DesignInfo& (*info)() = nullptr;
};

}  // namespace holdfast

/// Exports a design. `get_info` is a function without parameters that returns a const DesignInfo&,
/// which is valid until the process ends.
#define HOLDFAST_DESIGN(get_info)                                                          \
  extern "C" [[gnu::visibility("default")]] const holdfast::OwnDesign holdfast_own_design; \
  const holdfast::OwnDesign holdfast_own_design = {.info = get_info}
