// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/slice.h"

namespace holdfast::db {

/// A total order of keys. The database records the comparator's name, and refuses to be opened with
/// another one.
///
/// Thread safety: the database calls Compare inside transactions. So it may be called by any
/// thread, by several at a time, and again for the same keys. It must have no side effects.
///
/// A comparator must outlive the databases that use it.
class Comparator {
 public:
  virtual ~Comparator();

  /// Negative, zero or positive: a is before, equal to, or after b.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  /// Identifies the order: give a changed order another name.
  virtual const char* Name() const = 0;

  // LevelDB shortens the keys of its indexes with these. HoldfastDB never calls them.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

/// Orders keys by unsigned bytes; a prefix comes first. Never deleted.
const Comparator* BytewiseComparator();

}  // namespace holdfast::db
