// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/design/design_info.h"

#include <charconv>
#include <string>

namespace holdfast {

Result<uint64_t> design_number(const DesignOptions& options, const DesignOptionInfo& info,
                               uint64_t low, uint64_t high) {
  const auto found = options.find(info.name);
  const std::string text = found == options.end() ? info.fallback : found->second;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    return Status(Code::invalid_argument, std::string("design option ") + info.name + "=" + text +
                                              " is not a whole number from " + std::to_string(low) +
                                              " to " + std::to_string(high));
  }
  return value;
}

}  // namespace holdfast
