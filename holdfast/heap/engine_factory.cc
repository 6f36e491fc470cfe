// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/engine_factory.h"

namespace holdfast {

Status check_option_names(const Description& description, const Options& options) {
  return check_option_names(std::string("engine ") + description.name, "option",
                            description.option_list(), options);
}

}  // namespace holdfast
