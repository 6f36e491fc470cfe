// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/json.h"
#include "holdfast/runner/session.h"

namespace holdfast {

/// The findings of a walk over a heap: ok, problems[], what was counted, roots[].
Json to_json(const HeapFindings& findings);

}  // namespace holdfast
