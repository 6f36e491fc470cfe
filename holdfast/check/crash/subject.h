// SPDX-License-Identifier: Apache-2.0
//
// What the crash explorer runs, crashes, recovers and has judged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"

namespace holdfast::check {

/// Something that must not have happened.
struct Fault {
  std::string name;  ///< as the literature calls it
  std::string text;  ///< a few lines
};

/// A small concurrent program with its judge. The explorer calls set_up once, in a new heap; then,
/// for each schedule, start, client for every thread (each in a simulated thread), and the judges;
/// and observe on each recovered heap, attached with attach.
class Subject {
 public:
  using Words = std::vector<uint64_t>;

  virtual ~Subject() = default;

  virtual int threads() const = 0;
  virtual Status set_up(SimHeap& heap) = 0;
  virtual Status attach(SimHeap& heap) = 0;
  /// A run begins. `seed` decides what the clients do, if anything is left to chance. `initial`:
  /// what observe() says of the heap they start on, which runs before left behind.
  virtual void start(uint64_t seed, const Words& initial) = 0;
  virtual void client(int thread, SimHeap& heap) = 0;
  /// A count that grows with every begin and every answer.
  virtual uint64_t clock() const = 0;
  /// What the heap holds, in words that mean the same on every heap of this run.
  virtual Result<Words> observe(SimHeap& heap) = 0;
  virtual void visit_blocks(const std::function<void(const void*, size_t)>& visit) = 0;

  /// The run is over and nothing crashed.
  virtual std::optional<Fault> judge_run(const Description& promised) = 0;
  /// The power failed when clock() was `until`, and this was found after recovery.
  virtual std::optional<Fault> judge_crash(const Description& promised, uint64_t until,
                                           const Words& recovered) = 0;
  /// The program of the run, for a command line, and what its clients did up to `until`; empty
  /// before the first start.
  virtual std::string program() const = 0;
  virtual std::string story(uint64_t until) const = 0;
};

}  // namespace holdfast::check
