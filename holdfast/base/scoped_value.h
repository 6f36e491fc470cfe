// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace holdfast {

/// Gives a variable another value until the end of the scope.
template <class T>
class ScopedValue {
 public:
  ScopedValue(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ScopedValue(const ScopedValue&) = delete;
  ScopedValue& operator=(const ScopedValue&) = delete;
  ~ScopedValue() { variable_ = std::move(before_); }

 private:
  T& variable_;
  T before_;
};

}  // namespace holdfast
