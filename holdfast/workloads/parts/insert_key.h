// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/base/status.h"

namespace holdfast {

/// A key of a workload that inserts. A key is the hash of a run, a worker and a number, and the
/// hash can be reversed. So keys are spread like random numbers and are all different. A key also
/// tells a check which keys must be there too: those of the same run and worker with smaller
/// numbers.
struct InsertKey {
  static constexpr int kRunBits = 22;
  static constexpr int kWorkerBits = 12;
  static constexpr int kNumberBits = 30;

  uint64_t run;     ///< a random number of a worker's run, not 0; 0: the initial state
  uint64_t worker;  ///< of the initial state: 0
  uint64_t number;  ///< 0, 1, 2, ... in the order of insertion

  uint64_t key() const {
    return mix64(run << (kWorkerBits + kNumberBits) | worker << kNumberBits | number);
  }

  static InsertKey of(uint64_t key) {
    const uint64_t word = unmix64(key);
    return {word >> (kWorkerBits + kNumberBits),
            word >> kNumberBits & ((uint64_t{1} << kWorkerBits) - 1),
            word & ((uint64_t{1} << kNumberBits) - 1)};
  }

  /// The inverse of mix64: unmix64(mix64(x)) == x. The factors are the inverses modulo 2^64.
  static constexpr uint64_t unmix64(uint64_t x) {
    x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642b2d24d8ec3ULL;
    x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96de1b173f119089ULL;
    x = x ^ (x >> 30) ^ (x >> 60);
    return x - 0x9e3779b97f4a7c15ULL;
  }

  friend bool operator==(const InsertKey&, const InsertKey&) = default;
};

/// The keys of one worker that a check finds, by their numbers in the order of insertion. The
/// worker's transactions take effect in order, so no key may be missing before the last one.
struct InsertedKeys {
  uint64_t found = 0;
  uint64_t end = 0;  ///< one beyond the largest number

  void add(uint64_t number) {
    found += 1;
    end = std::max(end, number + 1);
  }
  /// Code::corrupt, naming the workload and the keys, if one is missing or there twice.
  Status check(const std::string& workload, const std::string& keys) const {
    return found == end ? Status()
                        : Status(Code::corrupt, workload + ": there are " + std::to_string(found) +
                                                    " of " + std::to_string(end) + " " + keys);
  }
};

static_assert(InsertKey::unmix64(mix64(0x0123456789abcdefULL)) == 0x0123456789abcdefULL);

}  // namespace holdfast
