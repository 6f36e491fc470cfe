// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/base/status.h"

namespace holdfast {

/// Returns the exception that is being handled as the outcome of creating, opening or closing the
/// heap `name`. Throws others than MediumFailure, Error and those for a lack of memory or threads.
Status caught_at_start(const std::string& name);

}  // namespace holdfast
