// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/db/comparator.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"

namespace holdfast::db {

/// Returns an iterator that shows the entries of `all` within the bounds of the options. Takes
/// `all`; the caller deletes the result.
Iterator* make_bounded(Iterator* all, const ReadOptions& options, const Comparator* comparator);

/// The same, but returns `all` itself if the options have no bounds. On the hot path of seeks.
inline Iterator* bounded(Iterator* all, const ReadOptions& options, const Comparator* comparator) {
  const bool any = options.iterate_lower_bound != nullptr || options.iterate_upper_bound != nullptr;
  return any ? make_bounded(all, options, comparator) : all;
}

}  // namespace holdfast::db
