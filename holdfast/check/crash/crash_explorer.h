// SPDX-License-Identifier: Apache-2.0
//
// The crash explorer cuts the simulated machine's power before every persist event of many
// schedules of a small program. It recovers every surviving image on a fresh machine and asks the
// subject's judge.
//
// One run per schedule is enough. At each persist event the explorer records the contents that the
// medium may have (image_set.h). Afterwards it recovers each image once that it has not seen in any
// schedule. It judges the recovered heap against the history up to each moment at which the image
// was legal.
//
// With a hardware design a crash point has one image, which holds what the design keeps. The design
// recovers first (SimMachine::power_on), and the power also fails at the persist events of that.
//
// For some images the power also fails during recovery, at each of its persist events. The heap
// that is recovered from that crash must satisfy the same judge. For some images the program runs
// once more on the recovered heap. Before all this, the power fails just after the heap was
// created.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/check/crash/design_coverage.h"
#include "holdfast/check/crash/design_mutants.h"
#include "holdfast/check/crash/subject.h"
#include "holdfast/heap/file/heap_options.h"
#include "holdfast/machine/sim/threads/scheduler.h"
#include "holdfast/machine/sim/threads/timeline.h"

namespace holdfast::check {

/// The extent of an exploration.
struct CrashPlan {
  /// The seed varies the machine's switch and drain probabilities. With a hardware design all seeds
  /// but 1 disturb the machine (SimOptions::disturb).
  bool vary = true;
  SimOptions machine;  ///< the explorer replaces its seed; its schedule stays
  CreateOptions heap;
  Guarantees promised;
  ScheduleBounds bounds;  ///< for Schedule::exhaustive
  uint64_t first_seed = 1;
  uint64_t schedules = 100;   ///< number of seeds; Schedule::exhaustive: limit of schedules
  uint64_t program_seed = 0;  ///< 0: the schedule's seed draws the program, too
  uint64_t points = 0;        ///< crash points per schedule, evenly spread; 0: all
  uint64_t events = 0;  ///< persist events to expect of the first schedule; 0: it takes all points
  uint64_t only_point = kNever;  ///< the only crash point, unless kNever
  uint64_t images = 64;          ///< limit of images per crash point
  uint64_t crash_recovery = 16;  ///< one image in so many also crashes in recovery; 0: none
  uint64_t recovery_images = 4;  ///< limit of images per crash point of a recovery
  uint64_t go_on = 16;           ///< the program runs again on one image in so many; 0: none
  uint64_t most_violations = 1;  ///< the exploration stops after so many violations
  /// With a hardware design: most planted bugs for each kind of change and of fault; 0: none. They
  /// are tried if the sound design shows no violation.
  uint64_t mutants = 0;
};

/// The extent of a finished exploration.
struct CrashCoverage {
  uint64_t schedules = 0;
  uint64_t points = 0;           ///< crash points explored
  uint64_t events = 0;           ///< persist events in all runs
  double legal = 0;              ///< legal images, summed over crash points
  uint64_t explored = 0;         ///< legal images explored
  uint64_t images = 0;           ///< different images, each recovered once
  uint64_t recovery_points = 0;  ///< crash points in recoveries
  uint64_t continued = 0;        ///< recovered heaps on which the program ran again
  uint64_t judged = 0;           ///< pairs of a moment and a recovered state
  uint64_t too_large = 0;        ///< updates that a log was too small for
  uint64_t epochs = 0;           ///< most epochs of a hardware design that a run has ended
};

/// A fault, and how to reproduce it.
struct Violation {
  Fault fault;
  std::string phase;  ///< creation, run, crash, recovery, continued
  uint64_t seed = 0;
  std::string schedule;     ///< the schedule, with Schedule::exhaustive
  uint64_t point = kNever;  ///< the persist event of the crash; kNever: no crash
  uint64_t image = 0;       ///< the image's hash
  std::string program;
  std::string story;
};

/// The result of an exploration.
struct CrashReport {
  CrashCoverage coverage;
  std::vector<Violation> violations;
  uint64_t lost_max = 0;             ///< most acknowledged updates lost, within the promise
  uint64_t mutated = 0;              ///< operations and checks that plan.machine.mutations changed
  uint64_t mutated_in_creation = 0;  ///< like `mutated`, during the creation of the first heap
  /// The sites by name, with plan.machine.list_sites.
  std::map<std::string, SiteUse, std::less<>> sites;
  /// The rare paths that runs and recoveries have taken, by name, and how often.
  std::map<std::string, uint64_t, std::less<>> probes;
  /// How often the creation of the first heap has executed each site.
  std::map<std::string, uint64_t> sites_of_creation;
  DesignCoverage design;  ///< of the hardware design; without one it has no rows
  DesignMutants mutants;  ///< with plan.mutants
};

/// Explores the crashes of a subject.
///
/// Thread safety: one thread, and one live simulated machine per process.
///
/// Errors: throws Error if the plan cannot be carried out: the heap is too small for the subject,
/// or the engine does not have an option.
class CrashExplorer {
 public:
  CrashExplorer(CrashPlan plan, Subject& subject);
  ~CrashExplorer();

  CrashReport explore(FunctionRef<void(double)> progress);

  /// Runs the schedule of a violation again, up to its crash if there was one, and draws the
  /// threads' operations. It cannot draw a schedule of Schedule::exhaustive, nor a run on a
  /// recovered heap.
  void draw(const Violation& violation, sim::Timeline& timeline);

 private:
  class Search;
  CrashPlan plan_;
  Subject& subject_;
};

}  // namespace holdfast::check
