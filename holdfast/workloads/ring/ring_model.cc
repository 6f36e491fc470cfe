// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/ring/ring_model.h"

#include <stdexcept>

namespace holdfast {
namespace {

Response swap_behind(uint64_t a, ModelState& next) {
  const uint64_t b = next.at(a);
  const uint64_t c = next.at(b);
  const uint64_t d = next.at(c);
  next.at(a) = c;
  next.at(c) = b;
  next.at(b) = d;
  return RingModel::links(b, c, d);
}

Response move_behind(uint64_t a, uint64_t to, ModelState& next) {
  const uint64_t b = next.at(a);
  if (to == a || to == b) {
    return swap_behind(a, next);
  }
  const uint64_t rest = next.at(b);
  const uint64_t after = next.at(to);
  next.at(a) = rest;
  next.at(b) = after;
  next.at(to) = b;
  return RingModel::links(b, rest, after);
}

Response walk(const ModelState& next) {
  PlaceDigest digest;
  uint64_t node = 0;
  for (uint64_t steps = 1; steps <= next.size(); ++steps) {
    node = next.at(node);
    digest.add(node);
    if (node == 0) {
      return {steps, digest.value()};
    }
  }
  return {0, 0};
}

}  // namespace

Response RingModel::apply(const Request& request, ModelState& state) const {
  switch (request.kind) {
    case kSwap:
      return swap_behind(request.argument[0], state);
    case kMove:
      return move_behind(request.argument[0], request.argument[1], state);
    case kWalk:
      return walk(state);
    default:
      throw std::out_of_range("a ring has no operation " + std::to_string(request.kind));
  }
}

bool RingModel::may_change(const Request& request, const Response&) const {
  return request.kind != kWalk;
}

std::string RingModel::describe(const Request& request) const {
  switch (request.kind) {
    case kSwap:
      return "swap behind " + std::to_string(request.argument[0]);
    case kMove:
      return "move from behind " + std::to_string(request.argument[0]) + " to behind " +
             std::to_string(request.argument[1]);
    default:
      return "walk";
  }
}

std::string RingModel::describe(const Request& request, const Response& response) const {
  if (request.kind == kWalk) {
    return std::to_string(response[0]) + " steps, digest " + std::to_string(response[1]);
  }
  return "found links to " + std::to_string(response[0] >> 32) + ", " +
         std::to_string(response[0] & 0xffffffff) + " and " + std::to_string(response[1]);
}

std::string RingModel::describe(const ModelState& state) const {
  return "links " + list_text(state);
}

}  // namespace holdfast
