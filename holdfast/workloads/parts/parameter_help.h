// SPDX-License-Identifier: Apache-2.0
//
// Help texts of parameters that several workloads share.
#pragma once

#include "holdfast/base/options.h"

namespace holdfast {

inline constexpr const char* kAckHelp =
    "1: each update also advances a durable counter, so that what was acknowledged can be verified";

inline constexpr const char* kRemovesHelp =
    "per cent of the transactions that remove the worker's newest element";

inline constexpr const char* kRangeHelp =
    "keys are below this; 0 means what keeps the size steady: twice the size, or with pairs the "
    "size";
inline constexpr const char* kKeysHelp =
    "uniform: operations choose each key equally often; zipf: rank k in proportion to 1 / k^skew";
inline constexpr const char* kSkewHelp = "of keys=zipf, 0 to 10";
inline constexpr const char* kPairsHelp =
    "1: a worker adds the key again that it has just erased, as the two transactions of Romulus "
    "6.2";
inline constexpr const char* kWritersHelp =
    "the first workers, which do nothing but update while the others look up; 0: all do both";

/// The parameters of all small workloads that divide the work among partitions of the heap.
inline constexpr OptionInfo kPartitionsParameter = {
    "partitions", "0",
    "of the heap, each with a root and all that the other parameters say; an operation chooses one "
    "of them at random; 0: the heap is not divided"};
inline constexpr OptionInfo kCopiesParameter = {
    "copies", "0", "as partitions, but worker i works in partition i modulo their number only"};

}  // namespace holdfast
