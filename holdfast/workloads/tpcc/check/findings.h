// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast::tpcc {

/// Collects the faults that one check has found: the first few in words, the others as a number.
class Findings {
 public:
  explicit Findings(std::string check) : check_(std::move(check)) {}

  void add(const std::string& text);
  /// Forgets all findings; for a body that may run again.
  void clear();
  void add_all(const Findings& other);
  Status status() const;

 private:
  static constexpr uint64_t kInWords = 5;
  std::string check_;
  std::string text_;
  uint64_t count_ = 0;
};

/// Returns "12 is not 13" for the relation " is not ".
std::string differ(int64_t left, const char* relation, int64_t right);

}  // namespace holdfast::tpcc
