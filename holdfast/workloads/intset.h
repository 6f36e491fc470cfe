// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/structures/rb_tree.h"
#include "holdfast/workloads/parts/keyed_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

const WorkloadInfo& intset_info();

template <class H>
struct IntSetRoot {
  static constexpr const char* kTypeName = "holdfast.workload.IntSet";
  static constexpr uint32_t kTypeVersion = 1;

  IntSetRoot(int workers, int64_t key_range) : ledger(workers), range(key_range) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    set.visit_blocks(visit);
  }

  Ledger<H> ledger;
  typename H::template Field<int64_t> range;
  RbTree<H, int64_t, uint64_t> set;
};

/// The classic benchmark of transactional memory: look-ups, inserts and erases of random keys. Each
/// key's value follows from the key, so that a torn node is detected.
template <class H>
class IntSetRunner : public KeyedWorkload<H, IntSetRoot<H>> {
 public:
  static const WorkloadInfo& static_info() { return intset_info(); }

  IntSetRunner(H& heap, const Parameters& parameters)
      : KeyedWorkload<H, IntSetRoot<H>>(heap, parameters, int64_t{1} << 30) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    return this->fill(workers, this->first_keys(seed),
                      [this](int64_t key) { this->root_->set.insert(key, value_of(key)); });
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, this->draw(worker, random));
  }

  const SequentialModel* model() const override { return &model_; }

  OperationResult perform(int worker, const Request& request) override {
    const auto key = static_cast<int64_t>(request.argument[0]);
    const uint64_t value = request.argument[1];
    auto& set = this->root_->set;
    switch (request.kind) {
      case KeyedModel::kLookUp:
        return this->reading(request.kind, worker, [&] {
          const auto found = set.find(key);
          return Response{found.value_or(0), found.has_value()};
        });
      case KeyedModel::kAdd:
        return this->updating(request.kind, worker,
                              [&] { return uint64_t{set.insert(key, value)}; });
      default:
        return this->updating(request.kind, worker, [&] { return uint64_t{set.erase(key)}; });
    }
  }

 protected:
  uint64_t value_to_add(int64_t key, uint64_t) const override { return value_of(key); }

  static uint64_t value_of(int64_t key) { return mix64(static_cast<uint64_t>(key)); }

  KeyedModel model_{KeyedModel::Present::kept};
};

/// The runner with its judge.
template <class H>
class IntSet final : public SmallJudge<IntSetRunner<H>> {
 public:
  using SmallJudge<IntSetRunner<H>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      this->root_->set.for_each([&](int64_t key, uint64_t value) {
        content.add(static_cast<uint64_t>(key), value);
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
      this->root_->set.for_each([&](int64_t key, uint64_t value) {
        right = key >= 0 && key < range && value == this->value_of(key);
        return right;
      });
      return right ? Status() : Status(Code::corrupt, "intset: a key or its value is wrong");
    });
  }
};

/// The registry's row.
using IntSetWorkload = WorkloadRow<intset_info, IntSetRunner, IntSet>;

}  // namespace holdfast
