// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>

#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// A preset is a workload of the registry under another name and with other fallbacks. It has the
/// other's code and the other's root, so either name opens a heap that the other one has set up.
struct PresetValue {
  const char* parameter;
  const char* value;
};

/// Describes a preset of `base`. Throws Error(not_found) for a parameter that `base` does not have.
/// A parameter that decides the type of the root does so no more once the preset gives its value.
WorkloadInfo preset_of(const WorkloadInfo& base, const char* name, const char* title,
                       std::initializer_list<PresetValue> values);

/// The registry's row of a preset. Row is that of the workload.
template <const WorkloadInfo& (*kInfo)(), class Row>
struct PresetRow {
  static const WorkloadInfo& info() { return kInfo(); }
  template <Parts kParts, class H>
  static std::unique_ptr<WorkloadInstance> make(H& heap, const Parameters& parameters) {
    return Row::template make<kParts>(heap, parameters);
  }
};

}  // namespace holdfast
