// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <type_traits>

#include "holdfast/structures/bplus_tree.h"
#include "holdfast/structures/fixed_hash_map.h"
#include "holdfast/structures/hash_map.h"
#include "holdfast/structures/rb_tree.h"
#include "holdfast/workloads/parts/keyed_model.h"
#include "holdfast/workloads/parts/small_workload.h"

namespace holdfast {

/// The structures among which the parameter `structure` chooses.
inline constexpr std::array kMapStructures = {"hash", "fixed", "rbtree", "btree"};

const WorkloadInfo& map_info();

template <class H, class Structure>
struct MapRoot {
  /// The structure's name distinguishes the kinds of map.
  static constexpr const char* kTypeName = Structure::kTypeName;
  static constexpr uint32_t kTypeVersion = Structure::kTypeVersion;

  MapRoot(int workers, int64_t key_range, uint64_t)
    requires std::is_default_constructible_v<Structure>
      : ledger(workers), range(key_range) {}
  MapRoot(int workers, int64_t key_range, uint64_t buckets)
    requires std::is_constructible_v<Structure, uint64_t>
      : ledger(workers), range(key_range), map(buckets) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    map.visit_blocks(visit);
  }

  Ledger<H> ledger;
  typename H::template Field<int64_t> range;
  Structure map;
};

/// Look-ups, puts and erases of random keys. The upper half of a value is the key, the lower half
/// is random.
template <class H, class Structure>
class MapRunner : public KeyedWorkload<H, MapRoot<H, Structure>> {
 public:
  static const WorkloadInfo& static_info() { return map_info(); }

  MapRunner(H& heap, const Parameters& parameters)
      : KeyedWorkload<H, MapRoot<H, Structure>>(heap, parameters, int64_t{1} << 30),
        buckets_(parameters.number("buckets", 0, int64_t{1} << 30)) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    const auto insert = [&](int64_t key) {
      this->root_->map.insert(key, value_of(key, mix64(seed ^ static_cast<uint64_t>(key))));
    };
    return this->fill(workers, this->first_keys(seed), insert,
                      static_cast<uint64_t>(buckets_ == 0 ? this->keys_.size : buckets_));
  }

  OperationResult operation(int worker, Random& random) override {
    return perform(worker, this->draw(worker, random));
  }

  const SequentialModel* model() const override { return &model_; }

  OperationResult perform(int worker, const Request& request) override {
    const auto key = static_cast<int64_t>(request.argument[0]);
    const uint64_t value = request.argument[1];
    auto& map = this->root_->map;
    switch (request.kind) {
      case KeyedModel::kLookUp:
        return this->reading(request.kind, worker, [&] {
          const auto found = map.find(key);
          return Response{found.value_or(0), found.has_value()};
        });
      case KeyedModel::kAdd:
        return this->updating(request.kind, worker, [&] { return uint64_t{map.put(key, value)}; });
      default:
        return this->updating(request.kind, worker, [&] { return uint64_t{map.erase(key)}; });
    }
  }

 protected:
  uint64_t value_to_add(int64_t key, uint64_t random) const override {
    return value_of(key, random);
  }

  static uint64_t value_of(int64_t key, uint64_t random) {
    return static_cast<uint64_t>(key) << 32 | (random & 0xffffffff);
  }

  int64_t buckets_;
  KeyedModel model_{KeyedModel::Present::overwritten};
};

/// The runner with its judge.
template <class H, class Structure>
class Map final : public SmallJudge<MapRunner<H, Structure>> {
 public:
  using SmallJudge<MapRunner<H, Structure>>::SmallJudge;

  Result<ModelState> observe() override {
    return this->observing([&]() -> Result<ModelState> {
      KeyedContent content;
      this->root_->map.for_each([&](int64_t key, uint64_t value) {
        content.add(static_cast<uint64_t>(key), value);
        return true;
      });
      return content.state();
    });
  }

  Status check() override {
    return this->in_read([&]() -> Status {
      if (Status status = this->root_->map.check(); !status.ok()) {
        return status;
      }
      bool right = true;
      const int64_t range = this->root_->range;
      this->root_->map.for_each([&](int64_t key, uint64_t value) {
        right = key >= 0 && key < range && value >> 32 == static_cast<uint64_t>(key);
        return right;
      });
      return right ? Status() : Status(Code::corrupt, "map: a key or its value is wrong");
    });
  }
};

template <Parts kParts, class H, class Structure>
std::unique_ptr<WorkloadInstance> make_map_over(H& heap, const Parameters& parameters) {
  using Workload =
      std::conditional_t<kParts == Parts::whole, Map<H, Structure>, MapRunner<H, Structure>>;
  return std::make_unique<Workload>(heap, parameters);
}

/// The map over the structure that the parameter `structure` names.
template <Parts kParts, class H>
std::unique_ptr<WorkloadInstance> make_map(H& heap, const Parameters& parameters) {
  using Instance = std::unique_ptr<WorkloadInstance>;
  using Maker = Instance (*)(H&, const Parameters&);
  // In the order of kMapStructures.
  constexpr std::array<Maker, kMapStructures.size()> kMakers = {
      &make_map_over<kParts, H, HashMap<H, int64_t, uint64_t>>,
      &make_map_over<kParts, H, FixedHashMap<H, int64_t, uint64_t>>,
      &make_map_over<kParts, H, RbTree<H, int64_t, uint64_t>>,
      &make_map_over<kParts, H, BPlusTree<H, int64_t, uint64_t>>};
  return kMakers[parameters.choice("structure", kMapStructures)](heap, parameters);
}

/// The registry's row.
struct MapWorkload {
  static const WorkloadInfo& info() { return map_info(); }
  template <Parts kParts, class H>
  static std::unique_ptr<WorkloadInstance> make(H& heap, const Parameters& parameters) {
    return make_map<kParts>(heap, parameters);
  }
};

}  // namespace holdfast
