// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "holdfast/check/linearizability/operation_model.h"
#include "holdfast/workloads/tatp/population.h"

namespace holdfast::tatp {

/// The transactions of TATP: indices into WorkloadInfo::operations. The first argument is the
/// subscriber, the others stand in parentheses.
enum Kind : int {
  kGetSubscriberData,
  kGetNewDestination,     ///< (type, start time << 8 | end time)
  kGetAccessData,         ///< (type)
  kUpdateSubscriberData,  ///< (type, bit << 8 | data_a)
  kUpdateLocation,        ///< (location)
  kInsertCallForwarding,  ///< (type << 8 | start time, row)
  kDeleteCallForwarding,  ///< (type << 8 | start time)
  kKinds
};

inline constexpr std::array<const char*, kKinds> kOperations = {
    "get_subscriber_data",    "get_new_destination", "get_access_data",
    "update_subscriber_data", "update_location",     "insert_call_forwarding",
    "delete_call_forwarding"};

/// The answer to kGetSubscriberData.
Response subscriber_answer(const Subscriber& row);
/// The answer to kGetAccessData.
Response access_answer(const AccessInfo& row);

/// The numbers that kGetNewDestination finds, one after the other.
class Destinations {
 public:
  explicit Destinations(uint64_t times) : start_(times >> 8), end_(times & 0xff) {}

  /// `row`: the forwarding that begins at this time, or 0.
  void see(uint64_t start_time, uint64_t row) {
    if (row != 0 && start_time <= start_ && end_ < Forwarding::of(row).end_time) {
      digest_.add(Forwarding::of(row).number);
      found_ += 1;
    }
  }
  Response answer() const { return {digest_.value(), found_}; }

 private:
  uint64_t start_;
  uint64_t end_;
  PlaceDigest digest_;
  uint64_t found_ = 0;
};

/// The sequential model of `tatp`. The state has for each subscriber: the subscriber, the words of
/// the row, and the rows of the other tables, 0 where there is none.
///
/// Queries answer a digest of the row and 1, or a digest of the numbers found and their number.
/// Updates answer 1 if they changed the database. Absent rows make queries answer 0, and updates
/// change nothing.
class Model final : public SequentialModel {
 public:
  /// The places of the rows in a subscriber's state.
  enum Place : size_t {
    kSubscriber = 1,
    kFlags = kSubscriber + 1,
    kLocation = kSubscriber + 5,
    kAccess = kSubscriber + 6,
    kFacility = kAccess + 2 * kTypes,
    kForwarding = kFacility + kTypes,
    kWords = kForwarding + kTypes * kStartTimes
  };

  Response apply(const Request& request, ModelState& state) const override;
  bool may_change(const Request& request, const Response& response) const override;
  bool independent_keys() const override { return true; }
  std::map<uint64_t, ModelState> split(const ModelState& state) const override;
  std::string describe(const Request& request) const override;
  std::string describe(const Request& request, const Response& response) const override;
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

}  // namespace holdfast::tatp
