// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/db/comparator.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"

namespace holdfast::db {

/// Returns an iterator that shows the entries of `all` within the bounds of the options; `all`
/// itself if they have none. Takes `all`; the caller deletes the result.
Iterator* bounded(Iterator* all, const ReadOptions& options, const Comparator* comparator);

}  // namespace holdfast::db
