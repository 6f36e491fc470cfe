// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "holdfast/db/comparator.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/options.h"

namespace holdfast::db {

/// Returns an iterator that shows the entries of `all` within the bounds of the options. The caller
/// deletes the result.
Iterator* make_bounded(std::unique_ptr<Iterator> all, const ReadOptions& options,
                       const Comparator* comparator);

/// Like make_bounded(), but returns `all` itself without bounds. Seeks are on this hot path.
inline Iterator* bounded(std::unique_ptr<Iterator> all, const ReadOptions& options,
                         const Comparator* comparator) {
  const bool any = options.iterate_lower_bound != nullptr || options.iterate_upper_bound != nullptr;
  return any ? make_bounded(std::move(all), options, comparator) : all.release();
}

}  // namespace holdfast::db
