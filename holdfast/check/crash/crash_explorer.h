// SPDX-License-Identifier: Apache-2.0
//
// Cuts the power of the simulated machine before every persist event of many schedules of a small
// program, recovers every surviving image on a fresh machine, and asks the subject's judge.
//
// One run per schedule is enough: at each persist event the explorer notes what the medium may
// hold (image_set.h). Afterwards each image that was not seen before, in any schedule, is recovered
// once; what the heap then holds is judged against the history up to each moment at which that
// image was legal. For some images the power also fails during recovery, at each of its persist
// events, and what is recovered from that has to satisfy the same judge; for some, the program runs
// once more on the recovered heap. Before all that, the power fails when the heap has just been
// made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/check/crash/subject.h"
#include "holdfast/heap/heap_options.h"
#include "holdfast/machine/sim/threads/scheduler.h"
#include "holdfast/machine/sim/threads/timeline.h"

namespace holdfast::check {

struct CrashPlan {
  bool vary = true;    ///< the machine's switch and drain probabilities by seed
  SimOptions machine;  ///< its seed is replaced; schedule as it says
  CreateOptions heap;
  Description promised;   ///< the engine's own, or another one to judge by
  ScheduleBounds bounds;  ///< for Schedule::exhaustive
  uint64_t first_seed = 1;
  uint64_t schedules = 100;      ///< seeds; with Schedule::exhaustive: at most so many schedules
  uint64_t program_seed = 0;     ///< 0: the schedule's seed draws the program, too
  uint64_t points = 0;           ///< crash points per schedule, evenly spread; 0: all
  uint64_t only_point = kNever;  ///< just this one
  uint64_t images = 64;          ///< most per point
  uint64_t crash_recovery = 16;  ///< one image in so many is crashed in its recovery; 0: none
  uint64_t recovery_images = 4;  ///< most per crash point of a recovery
  uint64_t go_on = 16;           ///< one image in so many runs the program again; 0: none
  uint64_t most_violations = 1;  ///< then it stops
};

struct CrashCoverage {
  uint64_t schedules = 0;
  uint64_t points = 0;           ///< crash points looked at
  uint64_t events = 0;           ///< persist events there were
  double legal = 0;              ///< images that were legal, summed over points
  uint64_t explored = 0;         ///< of these, looked at
  uint64_t images = 0;           ///< different ones, each recovered once
  uint64_t recovery_points = 0;  ///< crash points in recoveries
  uint64_t continued = 0;        ///< recovered heaps on which the program ran again
  uint64_t judged = 0;           ///< pairs of a moment and a recovered state
};

struct Violation {
  Fault fault;
  std::string phase;  ///< creation, run, crash, recovery, continued
  uint64_t seed = 0;
  std::string schedule;     ///< of Schedule::exhaustive
  uint64_t point = kNever;  ///< persist event; kNever: no crash
  uint64_t image = 0;       ///< its hash
  std::string program;
  std::string story;
};

struct CrashReport {
  CrashCoverage coverage;
  std::vector<Violation> violations;
  uint64_t mutated = 0;              ///< operations and checks that plan.machine.mutations changed
  uint64_t mutated_in_creation = 0;  ///< the same, while the first heap was made
  /// With plan.machine.list_sites: by name.
  std::map<std::string, SiteUse> sites;
  /// Of these, the ones that the making of the first heap came to: how often.
  std::map<std::string, uint64_t> sites_of_creation;
};

/// Throws Error when the plan cannot be carried out (a heap too small for the subject, an option
/// the engine does not have).
class CrashExplorer {
 public:
  CrashExplorer(CrashPlan plan, Subject& subject);
  ~CrashExplorer();

  CrashReport explore(FunctionRef<void(double)> progress);

  /// Runs the schedule of a violation once more, up to the crash if there was one, and draws what
  /// the threads did. Not for Schedule::exhaustive, nor for a run that went on after a recovery.
  void draw(const Violation& violation, sim::Timeline& timeline);

 private:
  class Search;
  CrashPlan plan_;
  Subject& subject_;
};

}  // namespace holdfast::check
