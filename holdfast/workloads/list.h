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
class List final : public SmallWorkload<H, ListRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return list_info(); }

  List(H& heap, const Parameters& parameters)
      : SmallWorkload<H, ListRoot<H>>(heap, parameters.number("ack", 0, 1) != 0),
        keys_(key_space(parameters, 1000000)),
        update_(parameters, "update") {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    Status status = this->create_root(workers, keys_.range);
    if (!status.ok()) {
      return status;
    }
    // Descending, so that every insert is at the front and set-up stays linear.
    std::vector<int64_t> keys = sample_keys(keys_.range, keys_.size, seed);
    std::sort(keys.begin(), keys.end(), std::greater<>());
    return this->in_batches(keys.size(), [&](uint64_t i) { this->root_->set.insert(keys[i]); });
  }

  OperationResult operation(int worker, Random& random) override {
    const bool update = update_.draw(random);
    const auto key = static_cast<int64_t>(random.below(static_cast<uint64_t>(keys_.range)));
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

 private:
  Status bound() override {
    auto range = this->heap_.read([&] { return this->root_->range.load(); });
    if (range.ok()) {
      keys_.range = range.value();
    }
    return range.status();
  }

  KeySpace keys_;
  Chance update_;
};

}  // namespace holdfast
