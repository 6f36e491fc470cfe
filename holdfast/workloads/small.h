// SPDX-License-Identifier: Apache-2.0
//
// The small workloads, by name: all but TPC-C, for who can do without what that takes to compile.
#pragma once

#include <memory>
#include <string>

#include "holdfast/workloads/bank.h"
#include "holdfast/workloads/intset.h"
#include "holdfast/workloads/list.h"
#include "holdfast/workloads/map.h"
#include "holdfast/workloads/registers.h"
#include "holdfast/workloads/ring.h"
#include "holdfast/workloads/sps.h"
#include "holdfast/workloads/workload.h"

namespace holdfast {

/// Null when there is no small workload of this name. Throws Error(invalid_argument) for a wrong
/// parameter.
template <class H>
std::unique_ptr<WorkloadInstance> make_if_small(const std::string& name, H& heap,
                                                const Parameters& parameters) {
  if (name == "intset") {
    return std::make_unique<IntSet<H>>(heap, parameters);
  }
  if (name == "sps") {
    return std::make_unique<Sps<H>>(heap, parameters);
  }
  if (name == "map") {
    return make_map(heap, parameters);
  }
  if (name == "list") {
    return std::make_unique<List<H>>(heap, parameters);
  }
  if (name == "bank") {
    return std::make_unique<Bank<H>>(heap, parameters);
  }
  if (name == "ring") {
    return std::make_unique<Ring<H>>(heap, parameters);
  }
  if (name == "registers") {
    return std::make_unique<Registers<H>>(heap, parameters);
  }
  return nullptr;
}

}  // namespace holdfast
