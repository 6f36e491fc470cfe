// SPDX-License-Identifier: Apache-2.0
//
// Making the engine of a heap.
#pragma once

#include <memory>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Describes and makes the engine of a heap. An engine class implements one algorithm. AnyEngine
/// (engines/parts/any) chooses an algorithm by name, with its own describe() and make().
template <class E>
struct EngineFactory {
  using Machine = typename E::Machine;

  static Result<const Description*> describe(const std::string& name) {
    if constexpr (requires { E::describe(name); }) {
      return E::describe(name);
    } else if (name.empty() || name == E::kDescription.name) {
      return &E::kDescription;
    } else {
      return Status(Code::wrong_format,
                    "the heap belongs to engine '" + name + "', not '" + E::kDescription.name +
                        "'; open it with that engine, or change it with `holdfast convert`");
    }
  }

  /// Returns whether the engine can run updates in these hardware transactions.
  static bool uses_hardware(const std::string& name, const HtmCapabilities& can) {
    if constexpr (requires { E::uses_hardware(name, can); }) {
      return E::uses_hardware(name, can);
    } else if constexpr (requires { E::uses_hardware(can); }) {
      return E::uses_hardware(can);
    } else {
      return false;
    }
  }

  static Result<std::unique_ptr<E>> make(Machine& machine, const std::string& name,
                                         const Regions& regions, const Options& options,
                                         int max_threads) {
    if constexpr (requires { E::make(machine, name, regions, options, max_threads); }) {
      return E::make(machine, name, regions, options, max_threads);
    } else {
      return std::make_unique<E>(machine, regions, options, max_threads);
    }
  }
};

/// Returns invalid_argument for an option that the engine does not have; the message lists its
/// options.
Status check_option_names(const Description& description, const Options& options);

}  // namespace holdfast
