// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "holdfast/machine/sim/support/host_pages.h"

namespace holdfast {

/// For tests that make hundreds of simulated machines, one after the other: the pool that these
/// hand their memory of the host on by (SimOptions::pages).
inline std::shared_ptr<sim::HostPages> shared_pages() {
  static const auto pages = std::make_shared<sim::HostPages>();
  return pages;
}

}  // namespace holdfast
