// SPDX-License-Identifier: Apache-2.0
//
// The data of TATP (Telecommunication Application Transaction Processing benchmark, description
// 1.0): rows, keys, the initial population and the random inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast::tatp {

inline constexpr uint64_t kTypes = 4;       ///< of access info, and of special facilities
inline constexpr uint64_t kStartTimes = 3;  ///< 0, 8 and 16 o'clock
inline constexpr uint64_t kHours = 8;       ///< between two of them
inline constexpr uint64_t kDigits = 1'000'000'000'000'000;  ///< 15 digits of a telephone number

/// The words of a row of Subscriber. The number of 15 digits is stored as a number.
struct Subscriber {
  uint64_t number = 0;  ///< sub_nbr: s_id with leading zeros
  uint64_t flags = 0;   ///< bit_1 is bit 0, bit_2 bit 1, ...; hex_1 is bits 16 to 19, ...
  std::array<uint64_t, 2> bytes{};  ///< byte2_1 to byte2_10
  uint64_t msc_location = 0;
  uint64_t vlr_location = 0;

  friend bool operator==(const Subscriber&, const Subscriber&) = default;
};

/// A row of Access_Info: two words. `there` is 0 if the subscriber has no such row.
struct AccessInfo {
  uint64_t there = 0;  ///< 1 | data1 << 8 | data2 << 16 | data3 << 24
  uint64_t data4 = 0;

  friend bool operator==(const AccessInfo&, const AccessInfo&) = default;
};

/// A row of Special_Facility in one word; 0 if the subscriber has no such row.
class Facility {
 public:
  explicit constexpr Facility(uint64_t row) : row_(row) {}
  constexpr Facility(bool active, uint64_t error_control, uint64_t data_a, uint64_t data_b)
      : row_(1 | (active ? 2U : 0U) | error_control << 8 | data_a << 16 | data_b << 24) {}

  uint64_t row() const { return row_; }
  bool there() const { return (row_ & 1) != 0; }
  bool active() const { return (row_ & 2) != 0; }
  Facility with_data_a(uint64_t data_a) const { return Facility(fixed_part() | data_a << 16); }
  /// The row without the column that transactions change.
  uint64_t fixed_part() const { return row_ & ~(uint64_t{0xff} << 16); }

 private:
  uint64_t row_;
};

/// A row of Call_Forwarding without its key, in one word.
struct Forwarding {
  uint64_t end_time;  ///< an hour, 1 to 24
  uint64_t number;    ///< below kDigits

  static Forwarding of(uint64_t row) { return {row & 31, row >> 5}; }
  uint64_t row() const { return number << 5 | end_time; }
};

/// The place of a subscriber's row of one type in its table; `type` is 1 to 4.
constexpr uint64_t place_of(uint64_t subscriber, uint64_t type) {
  return (subscriber - 1) * kTypes + (type - 1);
}
/// The key of a forwarding in its table.
constexpr uint64_t forwarding_key(uint64_t subscriber, uint64_t type, uint64_t start_time) {
  return place_of(subscriber, type) * kStartTimes + start_time / kHours;
}

/// All rows of a subscriber at the start.
struct Population {
  Subscriber subscriber;
  std::array<AccessInfo, kTypes> access{};
  std::array<uint64_t, kTypes> facility{};                  ///< rows, or 0
  std::array<uint64_t, kTypes * kStartTimes> forwarding{};  ///< rows, or 0
};

/// The population of a subscriber, a function of the seed. A
/// subscriber has 1 to 4 rows of access info, 1 to 4 special facilities, of which 85 % are active,
/// and for each of these 0 to 3 forwardings.
Population population_of(uint64_t seed, uint64_t subscriber);

/// The non-uniform choice of a subscriber from 1 to `subscribers`.
uint64_t draw_subscriber(Random& random, uint64_t subscribers);

}  // namespace holdfast::tatp
