// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/runner/sessions/session.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// The findings of a walk over a heap as JSON: ok, problems[], the counts, roots[].
Json to_json(const HeapFindings& findings);

}  // namespace holdfast
