// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tatp/tatp_model.h"

#include <stdexcept>
#include <string>

namespace holdfast::tatp {
namespace {

/// The state's part about a subscriber. Throws std::out_of_range if there is none.
uint64_t* part_of(ModelState& state, uint64_t subscriber) {
  for (size_t at = 0; at + Model::kWords <= state.size(); at += Model::kWords) {
    if (state[at] == subscriber) {
      return &state[at];
    }
  }
  throw std::out_of_range("tatp has no subscriber " + std::to_string(subscriber));
}

}  // namespace

Response subscriber_answer(const Subscriber& row) {
  PlaceDigest digest;
  for (const uint64_t word :
       {row.number, row.flags, row.bytes[0], row.bytes[1], row.msc_location, row.vlr_location}) {
    digest.add(word);
  }
  return {digest.value(), 1};
}

Response access_answer(const AccessInfo& row) {
  PlaceDigest digest;
  digest.add(row.there);
  digest.add(row.data4);
  return row.there == 0 ? Response{} : Response{digest.value(), 1};
}

Response Model::apply(const Request& request, ModelState& state) const {
  const uint64_t a = request.argument[1];
  const uint64_t b = request.argument[2];
  uint64_t* const part = part_of(state, request.argument[0]);
  const auto facility = [&](uint64_t type) -> uint64_t& { return part[kFacility + type - 1]; };
  const auto forwarding = [&](uint64_t type, uint64_t start) -> uint64_t& {
    return part[kForwarding + (type - 1) * kStartTimes + start / kHours];
  };
  switch (request.kind) {
    case kGetSubscriberData: {
      const uint64_t* const row = part + kSubscriber;
      return subscriber_answer({row[0], row[1], {row[2], row[3]}, row[4], row[5]});
    }
    case kGetNewDestination: {
      Destinations found(b);
      for (uint64_t start = 0; Facility(facility(a)).active() && start < kStartTimes; ++start) {
        found.see(start * kHours, forwarding(a, start * kHours));
      }
      return found.answer();
    }
    case kGetAccessData:
      return access_answer({part[kAccess + 2 * (a - 1)], part[kAccess + 2 * (a - 1) + 1]});
    case kUpdateSubscriberData:
      if (!Facility(facility(a)).there()) {
        return {};
      }
      part[kFlags] = (part[kFlags] & ~uint64_t{1}) | b >> 8;
      facility(a) = Facility(facility(a)).with_data_a(b & 0xff).row();
      return {1, 0};
    case kUpdateLocation:
      part[kLocation] = a;
      return {1, 0};
    case kInsertCallForwarding: {
      uint64_t& row = forwarding(a >> 8, a & 0xff);
      if (!Facility(facility(a >> 8)).there() || row != 0) {
        return {};
      }
      row = b;
      return {1, 0};
    }
    case kDeleteCallForwarding: {
      uint64_t& row = forwarding(a >> 8, a & 0xff);
      const bool there = row != 0;
      row = 0;
      return {there ? 1U : 0U, 0};
    }
    default:
      throw std::out_of_range("tatp has no operation " + std::to_string(request.kind));
  }
}

bool Model::may_change(const Request& request, const Response& response) const {
  return request.kind >= kUpdateSubscriberData && response[0] != 0;
}

std::map<uint64_t, ModelState> Model::split(const ModelState& state) const {
  std::map<uint64_t, ModelState> parts;
  for (size_t at = 0; at + kWords <= state.size(); at += kWords) {
    const auto first = state.begin() + static_cast<ptrdiff_t>(at);
    parts[*first] = ModelState(first, first + kWords);
  }
  return parts;
}

std::string Model::describe(const Request& request) const {
  return std::string(kOperations.at(static_cast<size_t>(request.kind))) + "(" +
         std::to_string(request.argument[0]) + ", " + std::to_string(request.argument[1]) + ", " +
         std::to_string(request.argument[2]) + ")";
}

std::string Model::describe(const Request& request, const Response& response) const {
  if (request.kind < kUpdateSubscriberData) {
    return std::to_string(response[1]) + " rows, digest " + std::to_string(response[0]);
  }
  return response[0] == 0 ? "changed nothing" : "done";
}

}  // namespace holdfast::tatp
