// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {

inline constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

/// The exception that bodies of tests throw.
struct Refused {};

/// For engines that run transactions in hardware.
template <class E>
class HtmEngineTest : public testing::Test {
 protected:
  using Heap = EngineFixture<E>;
  static constexpr bool kDurable = E::kDescription.durability == Durability::strict;
  static constexpr bool kSnapshot = E::kDescription.isolation == Isolation::snapshot;

  /// A formatted heap with small logs; without a background thread unless asked for, so that counts
  /// are exact. Options the engine does not have are left out.
  Heap& start(Options options = {}, const SimOptions& sim = {}) {
    options.insert({"background", "0"});
    options.insert({"log_bytes", "4096"});
    options.insert({"markers", "64"});
    std::erase_if(options, [](const auto& option) { return !has(option.first); });
    shape_.options = options;
    shape_.max_threads = sim.threads;
    machine_.emplace(sim);
    heap_.emplace(*machine_, shape_);
    heap_->format().check();
    heap_->recover().check();
    return *heap_;
  }
  SimMachine& machine() { return present(machine_); }
  const EngineFixtureShape& shape() const { return shape_; }
  void stop() {
    heap_.reset();
    machine_.reset();
  }

  template <class F>
  PersistCounters counted(F&& f) {
    const PersistCounters before = machine().counters();
    f();
    return machine().counters() - before;
  }

  static bool has(const std::string& option) {
    const auto& d = E::kDescription;
    return std::any_of(d.options, d.options + d.option_count,
                       [&](const OptionInfo& info) { return option == info.name; });
  }

 private:
  EngineFixtureShape shape_;
  std::optional<SimMachine> machine_;
  std::optional<Heap> heap_;
};

}  // namespace holdfast
