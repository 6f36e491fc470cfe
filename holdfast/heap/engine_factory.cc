// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/engine_factory.h"

namespace holdfast {

Status check_option_names(const Description& description, const Options& options) {
  for (const auto& [name, value] : options) {
    std::string known;
    bool found = false;
    for (size_t i = 0; i < description.option_count; ++i) {
      found = found || name == description.options[i].name;
      known += std::string(i == 0 ? "" : ", ") + description.options[i].name;
    }
    if (!found) {
      return {Code::invalid_argument, std::string("engine ") + description.name +
                                          " has no option '" + name + "'; it has " +
                                          (known.empty() ? "none" : known)};
    }
  }
  return {};
}

}  // namespace holdfast
