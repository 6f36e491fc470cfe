// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/workloads/parts/element_stream.h"

namespace holdfast {

const WorkloadInfo& array_stream_info();

/// ArrayStrm of EHOU (section 4.A, figures 6 and 7): each transaction updates the next elements of
/// an array, in streaming order. The paper gives neither their number nor their size.
///
///   entries   elements of a new array, rounded up to whole groups; a heap keeps its own shape
///   elements  elements that a transaction updates
///   bytes     size of an element, a multiple of 8; each element begins a line
///   ack       1: each transaction also counts in its worker's durable ledger
///
/// Up to as many workers may run at once as set_up() announced; others get invalid_argument.
template <class H>
class ArrayStreamRunner : public ElementStreamRunner<H> {
 public:
  ArrayStreamRunner(H& heap, const Parameters& parameters)
      : ElementStreamRunner<H>(heap, parameters, shape(parameters)) {}

  const WorkloadInfo& info() const override { return array_stream_info(); }

 private:
  static typename ElementStreamRunner<H>::Shape shape(const Parameters& parameters) {
    const auto entries = static_cast<uint64_t>(parameters.number("entries", 1, int64_t{1} << 30));
    const auto elements = static_cast<uint64_t>(parameters.number("elements", 1, 1 << 20));
    return {(entries + elements - 1) / elements, elements,
            words_of(parameters, "bytes", ElementArray<H>::kMostBytes)};
  }
};

template <class H>
using ArrayStream = ElementStreamJudge<ArrayStreamRunner<H>>;

/// The registry's row.
using ArrayStreamWorkload = WorkloadRow<array_stream_info, ArrayStreamRunner, ArrayStream>;

}  // namespace holdfast
