// SPDX-License-Identifier: Apache-2.0
//
// The crash explorer's subject for register programs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "holdfast/check/crash/subject.h"
#include "holdfast/check/history/finding.h"
#include "holdfast/check/registers/checked_registers.h"

namespace holdfast::check {

/// Runs register programs. Judges the values that they read, and the written values that survive.
class RegisterSubject final : public Subject {
 public:
  using Shape = RegisterShape;

  /// Runs `program`, or a random program for each seed if there is none.
  explicit RegisterSubject(const Shape& shape, std::optional<RegisterProgram> program = {});

  int threads() const override;
  Status set_up(SimHeap& heap) override;
  Status attach(SimHeap& heap) override { return registers_.attach(heap); }
  void start(uint64_t seed, const Words& initial, bool continues) override;
  void client(int thread, SimHeap& heap) override;
  uint64_t clock() const override { return recorder_->clock(); }
  Result<Words> observe(SimHeap& heap) override { return registers_.observe(heap); }
  void visit_blocks(const std::function<void(const void*, size_t)>& visit) override {
    registers_.visit_blocks(visit);
  }
  std::optional<Fault> judge_run(const Guarantees& promised) override;
  std::optional<Fault> judge_crash(const Guarantees& promised, uint64_t until,
                                   const Words& recovered) override;
  uint64_t lost_max() const override { return lost_max_; }
  uint64_t too_large() const override { return too_large_; }
  std::string program() const override { return running_.text(); }
  std::string story(uint64_t until) const override;

 private:
  Object objects() const;
  Object pieces() const;
  Fault fault_of(const Finding& finding, const History& history) const;
  Status prelude(SimHeap& heap, Object i);

  Shape shape_;
  std::optional<RegisterProgram> given_;
  CheckedRegisters<SimHeap> registers_;
  RegisterProgram running_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<uint32_t> crashed_last_;  ///< if this run continues another one: its last number
  Status refused_;                        ///< the first failure of an operation
  Status not_fit_;                        ///< the last refusal of a large update
  uint64_t too_large_ = 0;                ///< refusals of large updates
  uint64_t lost_max_ = 0;
  uint64_t known_until_ = 0;  ///< the end of history_
  std::optional<History> history_;
};

}  // namespace holdfast::check
