// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ycsb/ycsb_model.h"

#include <stdexcept>

namespace holdfast {

Response YcsbModel::apply(const Request& request, ModelState& state) const {
  const uint64_t key = request.argument[0];
  switch (request.kind) {
    case kRead:
      return keyed_.apply({KeyedModel::kLookUp, {key}}, state);
    case kUpdate:
    case kInsert:
      return keyed_.apply({KeyedModel::kAdd, request.argument}, state);
    case kScan: {
      PlaceDigest digest;
      uint64_t found = 0;
      for (size_t i = 0; i + 1 < state.size() && found < request.argument[1]; i += 2) {
        if (state[i] >= key) {
          digest.add(state[i]);
          digest.add(state[i + 1]);
          found += 1;
        }
      }
      return {digest.value(), found};
    }
    case kRmw: {
      const Response before = keyed_.apply({KeyedModel::kLookUp, {key}}, state);
      if (before[1] != 0) {
        keyed_.apply({KeyedModel::kAdd, request.argument}, state);
      }
      return before;
    }
    default:
      throw std::out_of_range("ycsb has no operation " + std::to_string(request.kind));
  }
}

bool YcsbModel::may_change(const Request& request, const Response& response) const {
  switch (request.kind) {
    case kRead:
    case kScan:
      return false;
    case kRmw:
      return response[1] != 0;
    default:
      return true;
  }
}

std::string YcsbModel::describe(const Request& request) const {
  const std::string key = std::to_string(request.argument[0]);
  const std::string other = std::to_string(request.argument[1]);
  switch (request.kind) {
    case kRead:
      return "read " + key;
    case kUpdate:
      return "update " + key + " = " + other;
    case kInsert:
      return "insert " + key + " = " + other;
    case kScan:
      return "scan " + other + " from " + key + " on";
    default:
      return "read " + key + " and write " + other;
  }
}

std::string YcsbModel::describe(const Request& request, const Response& response) const {
  switch (request.kind) {
    case kUpdate:
    case kInsert:
      return response[0] == 0 ? "was there already" : "is new";
    case kScan:
      return std::to_string(response[1]) + " entries, digest " + std::to_string(response[0]);
    default:
      return response[1] == 0 ? "absent" : "found " + std::to_string(response[0]);
  }
}

}  // namespace holdfast
