// SPDX-License-Identifier: Apache-2.0
//
// Help texts of parameters that several workloads share.
#pragma once

namespace holdfast {

inline constexpr const char* kAckHelp =
    "1: each update also advances a durable counter, so that what was acknowledged can be verified";

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

}  // namespace holdfast
