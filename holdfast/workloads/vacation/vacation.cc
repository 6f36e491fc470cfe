// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/vacation/vacation.h"

#include <algorithm>
#include <array>

#include "holdfast/workloads/parts/parameter_help.h"
#include "holdfast/workloads/vacation/action.h"

namespace holdfast::vacation {
namespace {

constexpr std::array kContention = {"low", "high"};

}  // namespace

const WorkloadInfo& vacation_info() {
  static const WorkloadInfo info{
      "vacation",
      "travel reservations over four red-black trees, after STAMP",
      {{"relations", "16384", "cars, rooms, flights and customers at the start, of each", "4"},
       {"contention", "low", "low (queries=2, range=90, users=98) or high (4, 60, 90)", "high"},
       {"queries", "0", "a transaction has 1 to this many queries; 0: as contention says"},
       {"range", "0", "per cent of the ids that are used; 0: as contention says"},
       {"users", "-1", "per cent of transactions that reserve; -1: as contention says", "50"},
       {"ack", "0", kAckHelp},
       kPartitionsParameter,
       kCopiesParameter},
      {"make_reservation", "delete_customer", "update_tables"},
      false,
      {"contention", "queries", "range", "users", "ack"}};
  return info;
}

Mix::Mix(const Parameters& parameters) {
  const bool high = parameters.choice("contention", kContention) == 1;
  const int64_t given_queries = parameters.number("queries", 0, int64_t{kMostQueries});
  const double given_range = parameters.real("range", 0, 100);
  const double given_users = parameters.real("users", -1, 100);
  queries = given_queries != 0 ? static_cast<uint64_t>(given_queries) : high ? 4 : 2;
  range = (given_range > 0 ? given_range : high ? 60 : 90) / 100;
  users = (given_users >= 0 ? given_users : high ? 90 : 98) / 100;
}

int64_t draw_price(Random& random) {
  constexpr int64_t kStep = 10;
  return kLeastPrice + kStep * random.between(0, (kMostPrice - kLeastPrice) / kStep);
}

void Action::draw(const Mix& mix, uint64_t relations, Random& random) {
  const auto ids = std::max(
      uint64_t{1}, static_cast<uint64_t>(mix.range * static_cast<double>(relations) + 0.5));
  kind = random.chance(mix.users) ? kReserve
         : random.below(2) == 0   ? kDeleteCustomer
                                  : kUpdateTables;
  customer = 1 + random.below(ids);
  queries.resize(1 + random.below(mix.queries));
  for (Query& query : queries) {
    query.kind = random.below(kKinds);
    query.id = 1 + random.below(ids);
    query.add = random.below(2) == 0;
    query.price = draw_price(random);
  }
}

}  // namespace holdfast::vacation
