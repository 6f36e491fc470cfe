// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/workloads/vacation/travel.h"

namespace holdfast::vacation {

/// Checks the conservation laws of the tables, inside a transaction:
///
///   - the trees are whole (ParentRbTree::check), and ids are 1 to `relations`;
///   - of each resource used + free = total, no number is negative, the total is a positive
///     multiple of kSeatStep, and the price is in its range;
///   - of each customer the bill is the sum of the prices of the reservations, and no resource is
///     reserved twice;
///   - of each resource, `used` is the number of reservations in all customers' lists.
template <class H, bool kPromote = true>
class TravelCheck {
 public:
  TravelCheck(const Tables<H, kPromote>& tables, uint64_t relations)
      : tables_(tables), relations_(relations) {}

  Status run() {
    for (size_t kind = 0; kind < kKinds && status_.ok(); ++kind) {
      reserved_[kind].assign(relations_ + 1, 0);
      keep(tables_.resources[kind].check());
    }
    if (keep(tables_.customers.check())) {
      tables_.customers.for_each(
          [this](uint64_t id, const Customer<H>* customer) { return keep(check(id, *customer)); });
    }
    for (size_t kind = 0; kind < kKinds && status_.ok(); ++kind) {
      tables_.resources[kind].for_each([&](uint64_t id, const Resource<H>* resource) {
        return keep(check(kind, id, *resource));
      });
    }
    return status_;
  }

 private:
  static Status corrupt(const std::string& text) {
    return Status(Code::corrupt, "vacation: " + text);
  }
  static std::string name(size_t kind, uint64_t id) {
    static constexpr std::array<const char*, kKinds> kNames = {"car ", "room ", "flight "};
    return kNames[kind] + std::to_string(id);
  }

  /// Keeps the first error. Returns whether there is none.
  bool keep(Status status) {
    if (status_.ok()) {
      status_ = std::move(status);
    }
    return status_.ok();
  }

  bool known(uint64_t id) const { return id >= 1 && id <= relations_; }

  Status check(uint64_t id, const Customer<H>& customer) {
    const std::string who = "customer " + std::to_string(id);
    if (!known(id)) {
      return corrupt(who + " has no valid number");
    }
    int64_t sum = 0;
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (const Reservation<H>* r = customer.first; r != nullptr; r = r->next) {
      const uint64_t kind = r->kind;
      const uint64_t of = r->id;
      if (kind >= kKinds || !known(of)) {
        return corrupt(who + " has a reservation of no valid resource");
      }
      if (!seen.insert({kind, of}).second) {  // a list in a circle ends here too
        return corrupt(who + " has two reservations of " + name(kind, of));
      }
      if (!tables_.resources[kind].contains(of)) {
        return corrupt(who + " has a reservation of " + name(kind, of) + ", which is not there");
      }
      reserved_[kind][of] += 1;
      sum += r->price;
    }
    const int64_t bill = customer.bill;
    return bill == sum ? Status()
                       : corrupt("the bill of " + who + " is " + std::to_string(bill) +
                                 ", its reservations cost " + std::to_string(sum));
  }

  Status check(size_t kind, uint64_t id, const Resource<H>& resource) {
    if (!known(id)) {
      return corrupt(name(kind, id) + " has no valid number");
    }
    const int64_t used = resource.used;
    const int64_t free = resource.free;
    const int64_t total = resource.total;
    const int64_t price = resource.price;
    if (used < 0 || free < 0 || used + free != total || total <= 0 || total % kSeatStep != 0) {
      return corrupt(name(kind, id) + " has " + std::to_string(used) + " used and " +
                     std::to_string(free) + " free of " + std::to_string(total) + " seats");
    }
    if (price < kLeastPrice || price > kMostPrice) {
      return corrupt(name(kind, id) + " costs " + std::to_string(price));
    }
    if (used != reserved_[kind][id]) {
      return corrupt(name(kind, id) + " has " + std::to_string(used) + " used seats and " +
                     std::to_string(reserved_[kind][id]) + " reservations");
    }
    return {};
  }

  const Tables<H, kPromote>& tables_;
  uint64_t relations_;
  std::array<std::vector<int64_t>, kKinds> reserved_;
  Status status_;
};

}  // namespace holdfast::vacation
