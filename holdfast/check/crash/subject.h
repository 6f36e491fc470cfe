// SPDX-License-Identifier: Apache-2.0
//
// The interface between the crash explorer and the program that it runs, crashes and judges.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"

namespace holdfast::check {

/// The guarantees to judge by.
struct Guarantees {
  Isolation isolation = Isolation::opaque;
  Promise durability;
  bool any_size = false;  ///< no update is too large (Description::any_size)
  /// With a lag: all that was answered when Subject::clock() had this value survives; 0: nothing.
  uint64_t floor = 0;
};

/// A violation of a guarantee.
struct Fault {
  std::string name;  ///< its name in the literature
  std::string text;  ///< a few lines
};

/// A small concurrent program with its judge.
///
/// The explorer calls set_up once, in a new heap. For each schedule it calls start, then client for
/// every thread, each in a simulated thread, and then the judges. For each recovered heap it calls
/// attach and observe.
class Subject {
 public:
  using Words = std::vector<uint64_t>;

  virtual ~Subject() = default;

  /// The number of client threads.
  virtual int threads() const = 0;
  /// Makes the subject's objects in a new heap.
  virtual Status set_up(SimHeap& heap) = 0;
  /// Finds the subject's objects in a heap.
  virtual Status attach(SimHeap& heap) = 0;
  /// Begins a run. `seed` decides everything in it that is random. `initial` is the result of
  /// observe() on the heap before the run. `continues`: the heap is a recovered one of the last run
  /// that continued none; what that run lost must not pass for the new run's work.
  virtual void start(uint64_t seed, const Words& initial, bool continues) = 0;
  /// Executes the operations of one client thread.
  virtual void client(int thread, SimHeap& heap) = 0;
  /// Returns a count that grows with every begin and every answer of an operation. It begins anew
  /// with each run, so that equal runs have equal counts.
  virtual uint64_t clock() const = 0;
  /// Returns the heap's content, in words with the same meaning on every heap of this run.
  virtual Result<Words> observe(SimHeap& heap) = 0;
  /// Calls visit(address, bytes) for each block that the subject owns.
  virtual void visit_blocks(const std::function<void(const void*, size_t)>& visit) = 0;

  /// Judges a run that has ended without a crash.
  virtual std::optional<Fault> judge_run(const Guarantees& promised) = 0;
  /// Judges a crash. The power failed when clock() was `until`; recovery has found `recovered`.
  virtual std::optional<Fault> judge_crash(const Guarantees& promised, uint64_t until,
                                           const Words& recovered) = 0;
  /// Returns the most acknowledged updates that a judged crash has lost, within the promise.
  virtual uint64_t lost_max() const = 0;
  /// Returns the number of updates that were rolled back because a log was too small for them.
  virtual uint64_t too_large() const { return 0; }
  /// Returns the run's program, for a command line; empty before the first start.
  virtual std::string program() const = 0;
  /// Returns the clients' operations up to `until`; empty before the first start.
  virtual std::string story(uint64_t until) const = 0;
};

}  // namespace holdfast::check
