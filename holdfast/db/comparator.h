// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/db/slice.h"

namespace holdfast::db {

/// A total order of keys. The database records its name and refuses to be opened with another one.
///
/// Called inside transactions, so: from any thread, possibly more than once, without side effects.
class Comparator {
 public:
  virtual ~Comparator();

  /// Negative, zero or positive for a before, equal to, or after b.
  virtual int Compare(const Slice& a, const Slice& b) const = 0;
  /// Change it whenever the order changes.
  virtual const char* Name() const = 0;

  // Part of LevelDB's interface, which shortens index keys with them; never called here.
  virtual void FindShortestSeparator(std::string* start, const Slice& limit) const = 0;
  virtual void FindShortSuccessor(std::string* key) const = 0;
};

/// By unsigned bytes; a prefix comes first. The database keeps it.
const Comparator* BytewiseComparator();

}  // namespace holdfast::db
