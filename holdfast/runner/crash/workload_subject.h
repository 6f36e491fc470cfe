// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/check/crash/subject.h"
#include "holdfast/check/linearizability/linearizability.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// A workload with a sequential model as the crash explorer's subject. It runs random operations
/// and judges their answers and the recovered structure (check/linearizability/linearizability.h).
class WorkloadSubject final : public check::Subject {
 public:
  /// Throws Error(unsupported) for a workload without a model.
  WorkloadSubject(const WorkloadInfo& info, Parameters parameters, int threads, int operations);

  int threads() const override { return threads_; }
  Status set_up(SimHeap& heap) override;
  Status attach(SimHeap& heap) override;
  void start(uint64_t seed, const Words& initial, bool continues) override;
  void client(int thread, SimHeap& heap) override;
  uint64_t clock() const override { return clock_; }
  Result<Words> observe(SimHeap&) override { return workload_->observe(); }
  void visit_blocks(const std::function<void(const void*, size_t)>& visit) override;
  std::optional<check::Fault> judge_run(const check::Guarantees& promised) override;
  std::optional<check::Fault> judge_crash(const check::Guarantees& promised, uint64_t until,
                                          const Words& recovered) override;
  uint64_t lost_max() const override { return lost_max_; }
  /// Draws the operations from the seed.
  std::string program() const override { return {}; }
  std::string story(uint64_t until) const override;

 private:
  std::vector<check::Operation> operations_until(uint64_t until, uint64_t floor = 0) const;
  check::Linearization judge(uint64_t until, const Words* recovered, uint64_t floor,
                             const check::LinearizabilityOptions& options) const;

  const WorkloadInfo& info_;
  Parameters parameters_;
  int threads_;
  int operations_per_thread_;
  std::unique_ptr<WorkloadInstance> workload_;
  Words initial_;
  uint64_t clock_ = 0;
  uint64_t lost_max_ = 0;
  std::vector<std::vector<Request>> requests_;             ///< by thread
  std::vector<std::vector<check::Operation>> operations_;  ///< begun, by thread
  Status refused_;
};

}  // namespace holdfast
