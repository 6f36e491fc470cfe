// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/sim/ordinary_thread.h"

#include <numeric>

#include "holdfast/runner/sim/volatile_heap.h"
#include "holdfast/structures/parent_rb_tree.h"
#include "holdfast/structures/sorted_bplus_tree.h"

namespace holdfast {
namespace {

template <class Structure>
class TreeOf final : public OrdinaryThread::Tree {
 public:
  template <class... A>
  explicit TreeOf(A... arguments) : tree_(VolatileHeap::make<Structure>(arguments...)) {}
  void insert(uint64_t key, uint64_t value) override { tree_->insert(key, value); }

 private:
  Structure* tree_;
};

std::unique_ptr<OrdinaryThread::Tree> make_tree(const std::string& structure) {
  constexpr uint64_t kNodeBytes = 4096;
  if (structure == kBesideStructures[0]) {
    return std::make_unique<TreeOf<SortedBPlusTree<VolatileHeap>>>(kNodeBytes);
  }
  return std::make_unique<TreeOf<ParentRbTree<VolatileHeap, uint64_t, uint64_t>>>();
}

double share(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

BesideRun::MissRates BesideRun::miss_rates() const {
  const auto found_beyond = [&](sim::Level level) {
    const auto next = static_cast<ptrdiff_t>(level) + 1;
    return std::accumulate(counters.load_from.begin() + next, counters.load_from.end(),
                           uint64_t{0}) +
           std::accumulate(counters.own_from.begin() + next, counters.own_from.end(), uint64_t{0});
  };
  const uint64_t beyond_l1 = found_beyond(sim::Level::l1);
  const uint64_t beyond_l2 = found_beyond(sim::Level::l2);
  const uint64_t beyond_llc = found_beyond(sim::Level::llc);
  return {share(beyond_l1, counters.memory_operations()), share(beyond_l2, beyond_l1),
          share(beyond_llc, beyond_l2)};
}

OrdinaryThread::OrdinaryThread(SimMachine& machine, const BesidePlan& plan, uint64_t seed)
    : machine_(machine), random_(mix64(seed)) {
  const auto entered = VolatileHeap::enter(machine_);
  tree_ = make_tree(plan.structure);
  for (uint64_t i = 0; i < plan.size; ++i) {
    const uint64_t key = random_.next();
    tree_->insert(key, i);
  }
}

BesideRun OrdinaryThread::run(const int& workers) {
  BesideRun result;
  const int slot = machine_.self();
  const SimCounters before = machine_.statistics(slot);
  const auto entered = VolatileHeap::enter(machine_);
  while (workers > 0) {
    tree_->insert(random_.next(), result.inserts);
    result.inserts += 1;
  }
  result.counters = machine_.statistics(slot) - before;
  return result;
}

}  // namespace holdfast
