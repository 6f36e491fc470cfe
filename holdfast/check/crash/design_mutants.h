// SPDX-License-Identifier: Apache-2.0
//
// Mutants of a hardware design: the simulated machine loses or delays one of the design's changes
// of surviving state (machine/sim/description/design_fault.h). The judge must notice. A design
// whose mutants survive keeps its promise by means that the power does not take away, or the search
// is too small for it.
//
// A mutant runs the schedules of the search. A run is that of the sound design up to the change, so
// only later crash points count. Images recover without the planted bug, so what an image recovers
// to is known for all mutants as soon as one has shown it.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/machine/sim/description/design_fault.h"

namespace holdfast::check {

/// The mutants of a search. DesignFault::number counts from the start of the clients.
struct DesignMutants {
  uint64_t planted = 0;
  uint64_t caught = 0;  ///< a judge has found a violation, or the run has lost stores
  /// In all schedules the judge is shown nothing new: the clients do the same, and the sound design
  /// shows each image, too, when they have come as far.
  uint64_t equivalent = 0;
  /// Some images differ. But the clients do the same, and the design recovers from each image the
  /// medium that the sound design recovers when they have come as far: no program can tell.
  uint64_t masked = 0;
  std::vector<DesignFault> survivors;  ///< all others

  uint64_t counted() const { return planted - equivalent - masked; }
};

/// The mutants of a run with so many changes: for each kind of change and of fault all, or `most`
/// drawn by `seed`.
std::vector<DesignFault> draw_mutants(const DesignChangeCounts& changes, uint64_t most,
                                      uint64_t seed);

}  // namespace holdfast::check
