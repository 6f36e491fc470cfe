// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/status.h"

namespace holdfast {

/// The frequency of each operation of a workload, by its index in WorkloadInfo::operations.
class Weights {
 public:
  static constexpr uint32_t kMost = 1'000'000;

  Weights() = default;
  /// At least one weight is not 0.
  explicit Weights(std::vector<uint32_t> weights);

  /// Parses "read:50,update:50", names of operations with weights up to kMost; an operation that is
  /// not named has weight 0. Fails with invalid_argument; the message tells what is wrong with the
  /// text, which the caller names.
  static Result<Weights> parse(const std::string& text, std::span<const char* const> operations);

  uint32_t operator[](size_t operation) const { return weights_[operation]; }

  /// Draws an operation. Takes one number of the generator.
  int draw(Random& random) const {
    uint64_t left = random.below(total_);
    size_t operation = 0;
    while (left >= weights_[operation]) {
      left -= weights_[operation];
      ++operation;
    }
    return static_cast<int>(operation);
  }

 private:
  std::vector<uint32_t> weights_;
  uint64_t total_ = 0;
};

}  // namespace holdfast
