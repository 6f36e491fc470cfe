// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// How a heap obtains its engine. An engine class stands for one algorithm; the type-erased engine
/// (engines/common) chooses by name and brings its own describe() and make().
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

/// Refuses option names the engine does not have, listing the right ones.
Status check_option_names(const Description& description, const Options& options);

}  // namespace holdfast
