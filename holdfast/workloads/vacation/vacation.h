// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "holdfast/workloads/parts/small_workload.h"
#include "holdfast/workloads/vacation/action.h"
#include "holdfast/workloads/vacation/travel.h"
#include "holdfast/workloads/vacation/travel_check.h"

namespace holdfast {
namespace vacation {

template <class H>
struct Root {
  static constexpr const char* kTypeName = "holdfast.workload.Vacation";
  static constexpr uint32_t kTypeVersion = 1;

  Root(int workers, uint64_t count) : ledger(workers), relations(count) {}
  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    ledger.visit_blocks(visit);
    tables.visit_blocks(visit);
  }

  Ledger<H> ledger;
  typename H::template Field<uint64_t> relations;
  Tables<H> tables;
};

/// The travel reservation system of STAMP (Cao Minh et al., IISWC 2008), which cc-HTM measures in
/// figures 8 and 9. Written anew; the transactions are those of the paper:
///
///   make_reservation   queries free seats and prices of random resources, and reserves the most
///                      expensive one of each kind for a random customer, who is added if unknown
///   delete_customer    cancels a random customer's reservations and removes the customer
///   update_tables      adds 100 seats to random resources, at a new price, or removes 100
///
/// Parameters:
///
///   relations    cars, rooms, flights and customers of new tables, of each kind; an existing heap
///                keeps its own number. STAMP's runs have 16384 (simulators) or 1048576.
///   contention   low: STAMP's options -n2 -q90 -u98. high: -n4 -q60 -u90
///   queries, range, users   STAMP's n, q and u, instead of those of `contention`
///   ack          1: each transaction also counts in its worker's durable ledger
///
/// Unlike STAMP's, a list of reservations is not sorted, and a customer has the bill as a number.
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class VacationRunner : public SmallWorkload<H, Root<H>> {
 public:
  static const WorkloadInfo& static_info() { return vacation_info(); }

  VacationRunner(H& heap, const Parameters& parameters)
      : SmallWorkload<H, Root<H>>(heap, parameters),
        relations_(static_cast<uint64_t>(parameters.number("relations", 1, int64_t{1} << 28))),
        mix_(parameters) {}

  const WorkloadInfo& info() const override { return static_info(); }

  Status set_up(int workers, uint64_t seed) override {
    Status status = this->create_root(workers, relations_);
    Random random(seed);
    for (size_t kind = 0; kind < kKinds && status.ok(); ++kind) {
      const auto ids = shuffled_ids(mix64(seed + kind));
      // Drawn beforehand, because a batch may run again.
      std::vector<std::array<int64_t, 2>> drawn(ids.size());
      for (auto& [seats, price] : drawn) {
        seats = kSeatStep * random.between(1, 5);
        price = draw_price(random);
      }
      status = this->in_batches(ids.size(), [&](uint64_t i) {
        this->root_->tables.add_seats(kind, id_of(ids[i]), drawn[i][0], drawn[i][1]);
      });
    }
    if (!status.ok()) {
      return status;
    }
    const auto ids = shuffled_ids(mix64(seed + kKinds));
    return this->in_batches(ids.size(),
                            [&](uint64_t i) { this->root_->tables.add_customer(id_of(ids[i])); });
  }

  OperationResult operation(int worker, Random& random) override {
    this->require(worker);
    Action& action = scratch_[static_cast<size_t>(worker)].action;
    action.draw(mix_, relations_, random);
    return this->updating(action.kind, worker, [&]() -> uint64_t {
      switch (action.kind) {
        case Action::kReserve:
          return make_reservation(action);
        case Action::kDeleteCustomer:
          return static_cast<uint64_t>(this->root_->tables.delete_customer(action.customer));
        default:
          return update_tables(action);
      }
    });
  }

 protected:
  struct alignas(kLineBytes) Scratch {
    Action action;
  };

  static uint64_t id_of(int64_t drawn) { return static_cast<uint64_t>(drawn) + 1; }

  std::vector<int64_t> shuffled_ids(uint64_t seed) const {
    const auto n = static_cast<int64_t>(relations_);
    return sample_keys(n, n, seed);
  }

  /// Returns the number of reservations made.
  uint64_t make_reservation(const Action& action) {
    auto& tables = this->root_->tables;
    std::array<int64_t, kKinds> price;
    std::array<uint64_t, kKinds> id = {};
    price.fill(-1);
    for (const Action::Query& query : action.queries) {
      if (tables.free_seats(query.kind, query.id) < 0) {
        continue;
      }
      if (const int64_t here = tables.price(query.kind, query.id); here > price[query.kind]) {
        price[query.kind] = here;
        id[query.kind] = query.id;
      }
    }
    bool customer = false;
    uint64_t made = 0;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (price[kind] < 0) {
        continue;
      }
      if (!customer) {
        tables.add_customer(action.customer);
        customer = true;
      }
      made += tables.reserve(action.customer, kind, id[kind]) ? 1 : 0;
    }
    return made;
  }

  /// Returns the number of resources changed.
  uint64_t update_tables(const Action& action) {
    auto& tables = this->root_->tables;
    uint64_t changed = 0;
    for (const Action::Query& query : action.queries) {
      if (query.add) {
        tables.add_seats(query.kind, query.id, kSeatStep, query.price);
        changed += 1;
      } else {
        changed += tables.remove_seats(query.kind, query.id, kSeatStep) ? 1 : 0;
      }
    }
    return changed;
  }

  Status bound() override {
    scratch_ = std::vector<Scratch>(static_cast<size_t>(this->workers()));
    return this->heap_.read([&] { relations_ = this->root_->relations; });
  }

  uint64_t relations_;
  Mix mix_;
  std::vector<Scratch> scratch_;
};

/// The runner with its judge (travel_check.h).
template <class H>
class Vacation final : public SmallJudge<VacationRunner<H>> {
 public:
  using SmallJudge<VacationRunner<H>>::SmallJudge;

  Status check() override {
    return this->in_read(
        [&]() -> Status { return TravelCheck<H>(this->root_->tables, this->relations_).run(); });
  }
};

}  // namespace vacation

/// The registry's row.
using VacationWorkload =
    WorkloadRow<vacation::vacation_info, vacation::VacationRunner, vacation::Vacation>;

}  // namespace holdfast
