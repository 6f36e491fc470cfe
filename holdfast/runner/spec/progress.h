// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/function_ref.h"

namespace holdfast {

/// Called from time to time on the caller's thread, with the share done (0 to 1) and a word about
/// the current work. It may throw to stop the work, which then cleans up and lets the exception
/// pass.
using Progress = FunctionRef<void(double share, const std::string& text)>;

}  // namespace holdfast
