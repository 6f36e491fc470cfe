// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/function_ref.h"

namespace holdfast {

/// Called now and then, from the calling thread, with the share done (0 to 1) and what is going on.
/// May throw to stop the work; everything is then cleaned up and the exception passes.
using Progress = FunctionRef<void(double share, const std::string& text)>;

}  // namespace holdfast
