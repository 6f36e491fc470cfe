// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>

#include "holdfast/structures/linked_list.h"
#include "holdfast/workloads/parts/keyed_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& list_info();

template <class H>
struct ListRoot {
  static constexpr const char* kTypeName = "holdfast.workload.List";
  static constexpr uint32_t kTypeVersion = 1;

  ListRoot(int workers, int64_t key_range) : ledger(workers), range(key_range) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    set.visit_blocks(visit);
  }

  Ledger<H> ledger;
  typename H::template Field<int64_t> range;
  LinkedList<H, int64_t> set;
};

/// Look-ups, inserts and erases in a sorted list: long read sets, small write sets.
template <class H>
class ListRunner : public KeyedWorkload<H, ListRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return list_info(); }

  ListRunner(H& heap, const Parameters& parameters)
      : KeyedWorkload<H, ListRoot<H>>(heap, parameters, 1000000) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    // Keys descend, so that every insert is at the front and set-up takes linear time.
    std::vector<int64_t> keys = this->first_keys(seed);
    std::sort(keys.begin(), keys.end(), std::greater<>());
    return this->fill(workers, keys, [this](int64_t key) { this->root_->set.insert(key); });
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, this->draw(worker, random));
  }

  const SequentialModel* model() const override { return &model_; }

  OperationResult perform(int worker, const Request& request) override {
    const auto key = static_cast<int64_t>(request.argument[0]);
    auto& set = this->root_->set;
    switch (request.kind) {
      case KeyedModel::kLookUp:
        return this->reading(request.kind, worker, [&] {
          const uint64_t found = set.contains(key);
          return Response{found, found};
        });
      case KeyedModel::kAdd:
        return this->updating(request.kind, worker, [&] { return uint64_t{set.insert(key)}; });
      default:
        return this->updating(request.kind, worker, [&] { return uint64_t{set.erase(key)}; });
    }
  }

 protected:
  uint64_t value_to_add(int64_t, uint64_t) const override { return 1; }

  KeyedModel model_{KeyedModel::Present::kept};
};

/// The runner with its judge.
template <class H>
class List final : public SmallJudge<ListRunner<H>> {
 public:
  using SmallJudge<ListRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      this->root_->set.for_each([&](int64_t key) {
        content.add(static_cast<uint64_t>(key), 1);
        return true;
      });
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      if (Status status = this->root_->set.check(); !status.ok()) {
        return status;
      }
      bool right = true;
      const int64_t range = this->root_->range;
      this->root_->set.for_each([&](int64_t key) {
        right = key >= 0 && key < range;
        return right;
      });
      return right ? Status() : Status(Code::corrupt, "list: a key is out of range");
    });
  }
};

/// The registry's row.
using ListWorkload = WorkloadRow<list_info, ListRunner, List>;

}  // namespace holdfast
