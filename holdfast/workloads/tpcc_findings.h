// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast::tpcc {

/// Collects what one check found wrong: the first few in words, the rest counted.
class Findings {
 public:
  explicit Findings(std::string check) : check_(std::move(check)) {}

  void add(const std::string& text) {
    if (++count_ <= kInWords) {
      text_ += (text_.empty() ? "" : "; ") + text;
    }
  }
  /// For a body that runs again.
  void clear() {
    count_ = 0;
    text_.clear();
  }
  void add_all(const Findings& other) {
    if (other.count_ > 0 && count_ < kInWords) {
      text_ += (text_.empty() ? "" : "; ") + other.text_;
    }
    count_ += other.count_;
  }

  Status status() const {
    if (count_ == 0) {
      return {};
    }
    const std::string more =
        count_ > kInWords ? " (" + std::to_string(count_) + " findings in all)" : "";
    return {Code::corrupt, check_ + ": " + text_ + more};
  }

 private:
  static constexpr uint64_t kInWords = 5;
  std::string check_;
  std::string text_;
  uint64_t count_ = 0;
};

}  // namespace holdfast::tpcc
