// SPDX-License-Identifier: Apache-2.0
//
// The small workloads, by name: all but TPC-C, for who can do without what that takes to compile.
#pragma once

#include <memory>
#include <string>

#include "holdfast/workloads/bank/bank.h"
#include "holdfast/workloads/intset.h"
#include "holdfast/workloads/list.h"
#include "holdfast/workloads/map.h"
#include "holdfast/workloads/parts/workload.h"
#include "holdfast/workloads/registers.h"
#include "holdfast/workloads/ring/ring.h"
#include "holdfast/workloads/sps.h"

namespace holdfast {

/// Null when there is no small workload of this name. Throws Error(invalid_argument) for a wrong
/// parameter.
template <Parts kParts = Parts::whole, class H>
std::unique_ptr<WorkloadInstance> make_if_small(const std::string& name, H& heap,
                                                const Parameters& parameters) {
  if (name == "intset") {
    return make_parts<kParts, IntSetRunner<H>, IntSet<H>>(heap, parameters);
  }
  if (name == "sps") {
    return make_parts<kParts, SpsRunner<H>, Sps<H>>(heap, parameters);
  }
  if (name == "map") {
    return make_map<kParts>(heap, parameters);
  }
  if (name == "list") {
    return make_parts<kParts, ListRunner<H>, List<H>>(heap, parameters);
  }
  if (name == "bank") {
    return make_parts<kParts, BankRunner<H>, Bank<H>>(heap, parameters);
  }
  if (name == "ring") {
    return make_parts<kParts, RingRunner<H>, Ring<H>>(heap, parameters);
  }
  if (name == "registers") {
    return make_parts<kParts, RegistersRunner<H>, Registers<H>>(heap, parameters);
  }
  return nullptr;
}

}  // namespace holdfast
