// SPDX-License-Identifier: Apache-2.0
//
// The way home for the words of a WordLog: after a power failure, or from a running machine.
#pragma once

#include <map>

#include "holdfast/hardware/parts/word_log.h"

namespace holdfast {

/// Words to write home: by line and by home, in the order of addresses.
using WordLines = std::map<uint64_t, std::map<uint64_t, uint64_t>>;

/// A transaction's number in the log has this bit if it is a line that was stored to outside
/// transactions.
inline constexpr uint64_t kOutsideBit = uint64_t{1} << 63;

/// Writes lines home from `next` on, at most so many. Reads their places first, if words are
/// missing. Returns the time at which they are accepted.
Time write_home(DesignContext& context, WordLines::iterator& next, const WordLines& lines,
                size_t most, Cause cause, Time now);

/// A recovery: writes the newest words of committed transactions home, so many lines at the same
/// time, and then empties the log. Everything is home before the log is given up, so that the
/// recovery can begin again. Returns the time at which that is done.
Time replay(DesignContext& context, WordLog& log, size_t most, DesignRecovery& recovery, Time now);

}  // namespace holdfast
