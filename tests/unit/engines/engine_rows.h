// SPDX-License-Identifier: Apache-2.0
//
// Any engine of the registry, without a heap, and a short program that takes it through its paths:
// for tests that ask something of every engine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/engine_checks.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::engine_rows_test {

inline const EngineRow<SimMachine>& row_of(const std::string& name) {
  for (const EngineRow<SimMachine>& row : engine_rows<SimMachine>()) {
    if (name == row.description->name) {
      return row;
    }
  }
  throw std::invalid_argument("no engine " + name);
}

/// An engine of the table on bare words.
class RowHeap {
 public:
  static constexpr size_t kBytes = kPageBytes;
  static constexpr int kThreads = 3;

  RowHeap(SimMachine& machine, const EngineRow<SimMachine>& row, const Options& options)
      : machine_(machine) {
    const Description& about = *row.description;
    const size_t area =
        (about.area_bytes(options, kThreads).value() + kPageBytes - 1) / kPageBytes * kPageBytes;
    machine.medium().grow(area + 3 * kBytes).check();
    regions_.bytes = regions_.capacity = kBytes;
    regions_.area = map(0, area, MapMode::shared);
    regions_.area_bytes = area;
    regions_.home = map(area, kBytes, MapMode::shared);
    regions_.data = about.layout == Layout::working_copy ? map(area, kBytes, MapMode::copy_on_write)
                                                         : regions_.home;
    if (about.layout == Layout::twin) {
      regions_.twin = map(area + kBytes, kBytes, MapMode::shared);
    }
    if (about.layout == Layout::cells) {
      regions_.cells = map(area + kBytes, 2 * kBytes, MapMode::shared);
    }
    engine_ = row.make(machine, regions_, options, kThreads);
  }
  ~RowHeap() {
    engine_.reset();
    for (const auto& [p, n] : mapped_) {
      machine_.medium().unmap(p, n);
    }
  }
  RowHeap(const RowHeap&) = delete;
  RowHeap& operator=(const RowHeap&) = delete;

  EngineHandle<SimMachine>& engine() { return *engine_; }
  uint64_t* word(size_t i) const { return reinterpret_cast<uint64_t*>(regions_.data) + i; }
  uint64_t get(size_t i) { return engine_->load(word(i), sizeof(uint64_t)); }
  void set(size_t i, uint64_t value) { engine_->store(word(i), value, sizeof value); }
  /// Four words at once.
  void fill(size_t i, uint64_t value) {
    const uint64_t block[4] = {value, value, value, value};
    engine_->store_range(word(i), block, sizeof block);
  }
  /// In a transaction of its own.
  void write(size_t i, uint64_t value) {
    engine_->update([&] { set(i, value); });
  }
  uint64_t read(size_t i) {
    uint64_t value = 0;
    engine_->read([&] { value = get(i); });
    return value;
  }
  Status recover() {
    RecoveryReport report;
    return engine_->recover(report);
  }

 private:
  std::byte* map(size_t offset, size_t n, MapMode mode) {
    mapped_.emplace_back(machine_.medium().map(offset, n, nullptr, mode).value(), n);
    return mapped_.back().first;
  }

  SimMachine& machine_;
  Regions regions_;
  std::vector<std::pair<std::byte*, size_t>> mapped_;
  std::unique_ptr<EngineHandle<SimMachine>> engine_;
};

struct BodyFails {};

/// Transactions of every kind: words, ranges, reads only, stores nothing, throws.
inline void mixed_transactions(RowHeap& heap, int worker, int n) {
  auto& engine = heap.engine();
  for (int k = 1; k <= n; ++k) {
    const uint64_t value = static_cast<uint64_t>(worker) * 100 + static_cast<uint64_t>(k);
    engine.update([&] {
      heap.set(0, heap.get(0) + 1);
      heap.fill(16, value);
      heap.set(0, heap.get(0) + 1);
    });
    engine.read([&] { static_cast<void>(heap.get(0) + heap.get(16)); });
    engine.update([&] { static_cast<void>(heap.get(0)); });
    bool failed = false;
    try {
      engine.update([&] {
        heap.set(8, value);
        throw BodyFails();
      });
    } catch (const BodyFails&) {
      failed = true;
    }
    EXPECT_TRUE(failed);
  }
}

/// The options given, and for all others the smallest values, so that logs fill and wrap around.
inline Options with_tiny(const Description& engine, Options options) {
  for (size_t i = 0; i < engine.option_count; ++i) {
    if (engine.options[i].tiny != nullptr) {
      options.try_emplace(engine.options[i].name, engine.options[i].tiny);
    }
  }
  return options;
}

/// Those of the options that the engine knows.
inline Options known_options(const Description& engine, Options options) {
  std::erase_if(options, [&](const auto& option) {
    const auto is_it = [&](const OptionInfo& info) { return option.first == info.name; };
    return std::none_of(engine.options, engine.options + engine.option_count, is_it);
  });
  return options;
}

/// A machine for the engine: a functional one, or, for an engine that needs a design, a timed one
/// with the plainest design.
inline SimOptions machine_for(const Description& engine, uint64_t seed) {
  SimOptions o = engine.needs_design
                     ? design_test::options(design_test::tiny(), design_test::volatile_design())
                     : SimOptions{};
  o.threads = RowHeap::kThreads;
  o.seed = seed;
  return o;
}

/// Facts that stand beside the engine.
inline const EngineChecks& checks_of(const std::string& engine) {
  static const auto all = load_engine_checks().value();
  return all.at(engine);
}

/// For parameters of tests: the names of all engines, or of those that `chosen` is true for.
inline std::vector<std::string> engine_names(
    bool (*chosen)(const EngineRow<SimMachine>&) = [](const EngineRow<SimMachine>&) {
      return true;
    }) {
  std::vector<std::string> names;
  for (const EngineRow<SimMachine>& row : engine_rows<SimMachine>()) {
    if (chosen(row)) {
      names.emplace_back(row.description->name);
    }
  }
  return names;
}

/// The first engine of the registry that `chosen` is true for.
template <class F>
const EngineRow<SimMachine>& first_row(F&& chosen) {
  for (const EngineRow<SimMachine>& row : engine_rows<SimMachine>()) {
    if (chosen(row)) {
      return row;
    }
  }
  throw std::invalid_argument("no engine of this kind");
}

/// An engine's name as part of a test's, which may have no hyphen.
inline std::string test_name(std::string engine) {
  std::replace(engine.begin(), engine.end(), '-', '_');
  return engine;
}

}  // namespace holdfast::engine_rows_test
