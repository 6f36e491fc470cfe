// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// The findings of a walk over a heap: ok, problems[], what was counted, roots[].
Json to_json(const HeapFindings& findings);

}  // namespace holdfast
