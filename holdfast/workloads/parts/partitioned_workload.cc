// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/partitioned_workload.h"

#include <utility>

namespace holdfast {
namespace {

constexpr int kPartShift = 64 - 5;

OperationResult in_part(OperationResult result, size_t part) {
  if (result.acknowledgement[0] != 0) {
    result.acknowledgement[0] |= uint64_t{part} << kPartShift;
  }
  return result;
}

}  // namespace

PartitionedWorkload::PartitionedWorkload(Instances parts, Parts judged, bool own)
    : parts_(std::move(parts)), judges_(judged == Parts::whole), own_(own) {
  if (const SequentialModel* model = parts_.front()->model()) {
    model_ = std::make_unique<PartitionedModel>(*model, static_cast<int>(info().operations.size()));
  }
}

Status PartitionedWorkload::set_up(int workers, uint64_t seed) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (Status status = parts_[i]->set_up(workers, seed + i); !status.ok()) {
      return status;
    }
  }
  return {};
}

Status PartitionedWorkload::attach() {
  for (const auto& part : parts_) {
    if (Status status = part->attach(); !status.ok()) {
      return status;
    }
  }
  return {};
}

size_t PartitionedWorkload::choose(int worker, Random& random) const {
  return own_ ? static_cast<size_t>(worker) % parts_.size() : random.below(parts_.size());
}

OperationResult PartitionedWorkload::operation(int worker, Random& random) {
  const size_t part = choose(worker, random);
  return in_part(parts_[part]->operation(worker, random), part);
}

Request PartitionedWorkload::draw(int worker, Random& random) {
  const size_t part = choose(worker, random);
  const Request request = parts_[part]->draw(worker, random);
  return model_ == nullptr ? request : model_->in_part(request, part);
}

OperationResult PartitionedWorkload::perform(int worker, const Request& request) {
  if (model_ == nullptr) {
    return parts_.front()->perform(worker, request);  // which refuses
  }
  const size_t part = model_->part_of(request);
  return in_part(parts_.at(part)->perform(worker, model_->inner(request)), part);
}

Status PartitionedWorkload::verify(const OperationResult& acknowledged) {
  if (!judges_) {
    return WorkloadInstance::verify(acknowledged);
  }
  const uint64_t part = acknowledged.acknowledgement[0] >> kPartShift;
  if (part >= parts_.size()) {
    return {Code::corrupt, "an acknowledgement names partition " + std::to_string(part) +
                               ", the workload has " + std::to_string(parts_.size())};
  }
  OperationResult inner = acknowledged;
  inner.acknowledgement[0] ^= part << kPartShift;
  return parts_[part]->verify(inner);
}

Status PartitionedWorkload::check() {
  if (!judges_) {
    return WorkloadInstance::check();
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (const Status status = parts_[i]->check(); !status.ok()) {
      return {status.code(), "partition " + std::to_string(i) + ": " + status.message()};
    }
  }
  return {};
}

bool PartitionedWorkload::list_blocks(const std::function<void(const void*, size_t)>& visit) {
  if (!judges_) {
    return WorkloadInstance::list_blocks(visit);
  }
  bool all = true;
  for (const auto& part : parts_) {
    all = part->list_blocks(visit) && all;
  }
  return all;
}

Result<ModelState> PartitionedWorkload::observe() {
  if (!judges_ || model_ == nullptr) {
    return WorkloadInstance::observe();
  }
  ModelState all;
  for (size_t i = 0; i < parts_.size(); ++i) {
    auto part = parts_[i]->observe();
    if (!part.ok()) {
      return part.status();
    }
    PartitionedModel::append(all, i, part.value());
  }
  return all;
}

}  // namespace holdfast
