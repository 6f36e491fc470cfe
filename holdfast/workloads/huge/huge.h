// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/element_stream.h"

namespace holdfast {

const WorkloadInfo& huge_info();

/// The huge transactions of Hercules (section 5.2, figures 9 and 10): each transaction reads,
/// changes and writes contiguous lines, 1,000 to 60,000 in the paper.
///
///   lines    lines that a transaction changes
///   regions  a new array has this many times the lines; transactions take them in turn
///   bytes    bytes changed in each line, a multiple of 8
///   ack      1: each transaction also counts in its worker's durable ledger
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class HugeRunner : public ElementStreamRunner<H> {
 public:
  HugeRunner(H& heap, const Parameters& parameters)
      : ElementStreamRunner<H>(heap, parameters,
                               {static_cast<uint64_t>(parameters.number("regions", 1, 1 << 20)),
                                static_cast<uint64_t>(parameters.number("lines", 1, 1 << 20)),
                                words_of(parameters, "bytes", int64_t{kLineBytes})}) {}

  const WorkloadInfo& info() const override { return huge_info(); }
};

template <class H>
using Huge = ElementStreamJudge<HugeRunner<H>>;

/// The registry's row.
using HugeWorkload = WorkloadRow<huge_info, HugeRunner, Huge>;

}  // namespace holdfast
