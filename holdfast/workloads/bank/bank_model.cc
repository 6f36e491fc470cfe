// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/bank/bank_model.h"

#include <algorithm>
#include <stdexcept>

namespace holdfast {

Response BankModel::apply(const Request& request, ModelState& state) const {
  if (request.kind == kAudit) {
    uint64_t total = 0;
    PlaceDigest digest;
    for (const uint64_t balance : state) {
      total += balance;
      digest.add(balance);
    }
    return {total, digest.value()};
  }
  if (request.kind != kTransfer) {
    throw std::out_of_range("a bank has no operation " + std::to_string(request.kind));
  }
  uint64_t& from = state.at(request.argument[0]);
  uint64_t& to = state.at(request.argument[1]);
  const Response before = {from, to};
  // Signed, as the balances are, in case one has been driven below zero.
  const auto amount = static_cast<uint64_t>(
      std::min(static_cast<int64_t>(from), static_cast<int64_t>(request.argument[2])));
  from -= amount;
  to += amount;
  return before;
}

bool BankModel::may_change(const Request& request, const Response& response) const {
  return request.kind == kTransfer && response[0] != 0;
}

std::string BankModel::describe(const Request& request) const {
  if (request.kind == kAudit) {
    return "audit";
  }
  return "transfer " + std::to_string(request.argument[2]) + " from " +
         std::to_string(request.argument[0]) + " to " + std::to_string(request.argument[1]);
}

std::string BankModel::describe(const Request& request, const Response& response) const {
  if (request.kind == kAudit) {
    return "total " + std::to_string(response[0]) + ", digest " + std::to_string(response[1]);
  }
  return "they had " + std::to_string(response[0]) + " and " + std::to_string(response[1]);
}

}  // namespace holdfast
