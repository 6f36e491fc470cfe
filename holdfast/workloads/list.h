// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>

#include "holdfast/structures/linked_list.h"
#include "holdfast/workloads/small_workload.h"

namespace holdfast {

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

/// Lookups, inserts and erases in a sorted list: long read sets, small write sets.
template <class H>
class List final : public KeyedWorkload<H, ListRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return list_info(); }

  List(H& heap, const Parameters& parameters)
      : KeyedWorkload<H, ListRoot<H>>(heap, parameters, 1000000) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    // Descending, so that every insert is at the front and set-up stays linear.
    std::vector<int64_t> keys = this->first_keys(seed);
    std::sort(keys.begin(), keys.end(), std::greater<>());
    return this->fill(workers, keys, [this](int64_t key) { this->root_->set.insert(key); });
  }

  OperationResult operation(int worker, Random& random) override {
    const bool update = this->update_.draw(random);
    const int64_t key = this->draw_key(random);
    auto& set = this->root_->set;
    if (!update) {
      return this->reading(0, worker, [&] { return uint64_t{set.contains(key)}; });
    }
    if (random.below(2) == 0) {
      return this->updating(1, worker, [&] { return uint64_t{set.insert(key)}; });
    }
    return this->updating(2, worker, [&] { return uint64_t{set.erase(key)}; });
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

}  // namespace holdfast
