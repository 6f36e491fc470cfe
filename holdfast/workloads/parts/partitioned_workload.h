// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "holdfast/workloads/parts/partitioned_model.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// A workload in several partitions of a heap: an instance of the workload for each of them, with a
/// root of its own. An operation takes place in one partition, and names it.
///
/// A request's kind tells the partition, too (PartitionedModel). The highest five bits of an
/// acknowledgement's first word are the number of the partition; instances leave them zero.
///
/// Thread safety: as WorkloadInstance.
class PartitionedWorkload final : public WorkloadInstance {
 public:
  using Instances = std::vector<std::unique_ptr<WorkloadInstance>>;

  /// `own`: worker i uses partition i modulo their number only. Otherwise each operation chooses
  /// one at random.
  PartitionedWorkload(Instances parts, Parts judged, bool own);

  const WorkloadInfo& info() const override { return parts_.front()->info(); }
  Status set_up(int workers, uint64_t seed) override;
  Status attach() override;
  OperationResult operation(int worker, Random& random) override;

  const SequentialModel* model() const override { return model_.get(); }
  Request draw(int worker, Random& random) override;
  OperationResult perform(int worker, const Request& request) override;

  Status verify(const OperationResult& acknowledged) override;
  Status check() override;
  bool list_blocks(const std::function<void(const void*, size_t)>& visit) override;
  Result<ModelState> observe() override;

 private:
  size_t choose(int worker, Random& random) const;

  Instances parts_;
  bool judges_;
  bool own_;
  std::unique_ptr<PartitionedModel> model_;  ///< null if the workload has none
};

}  // namespace holdfast
