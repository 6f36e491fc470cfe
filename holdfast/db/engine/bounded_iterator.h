// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/db/comparator.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"

namespace holdfast::db {

/// Returns an iterator that shows the entries of `all` within the bounds of the options. Takes
/// `all`; the caller deletes the result.
Iterator* make_bounded(Iterator* all, const ReadOptions& options, const Comparator* comparator);

/// Like make_bounded(), but returns `all` itself without bounds. Seeks are on this hot path.
inline Iterator* bounded(Iterator* all, const ReadOptions& options, const Comparator* comparator) {
  const bool any = options.iterate_lower_bound != nullptr || options.iterate_upper_bound != nullptr;
  return any ? make_bounded(all, options, comparator) : all;
}

}  // namespace holdfast::db
