// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/check/findings.h"

namespace holdfast::tpcc {

void Findings::add(const std::string& text) {
  if (++count_ <= kInWords) {
    text_ += (text_.empty() ? "" : "; ") + text;
  }
}

void Findings::clear() {
  count_ = 0;
  text_.clear();
}

void Findings::add_all(const Findings& other) {
  if (other.count_ > 0 && count_ < kInWords) {
    text_ += (text_.empty() ? "" : "; ") + other.text_;
  }
  count_ += other.count_;
}

Status Findings::status() const {
  if (count_ == 0) {
    return {};
  }
  const std::string more =
      count_ > kInWords ? " (" + std::to_string(count_) + " findings in all)" : "";
  return {Code::corrupt, check_ + ": " + text_ + more};
}

std::string differ(int64_t left, const char* relation, int64_t right) {
  return std::to_string(left) + relation + std::to_string(right);
}

}  // namespace holdfast::tpcc
