// SPDX-License-Identifier: Apache-2.0
//
// Any engine of the table, without a heap, and a short program that takes it through all its paths:
// for tests that ask something of every engine there is.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/sim/sim_machine.h"

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

/// Options that make an engine's logs small, so that it has to reuse them.
inline Options small_logs(const std::string& engine) {
  if (engine == "undo" || engine == "pmdk-like") {
    return {{"log_bytes", "4096"}};
  }
  if (engine.substr(0, 4) == "spht" || engine == "nv-htm" || engine == "fur-tsx" ||
      engine == "crafty") {
    return {{"log_bytes", "512"}};
  }
  if (engine == "spec-pmt" || engine == "dudetm" || engine == "pisces" || engine == "mnemosyne") {
    return {{"log_bytes", "512"}, {"locks", "64"}};
  }
  if (engine == "trinity") {
    return {{"records", "16"}, {"locks", "64"}};
  }
  if (engine == "quadra") {
    return {{"records", "16"}};
  }
  if (engine == "onefile") {
    return {{"log_bytes", "512"}};
  }
  if (engine == "fur-mv") {
    return {{"log_bytes", "512"}, {"markers", "8"}, {"versions", "1"}};
  }
  return engine.substr(0, 3) == "fur" ? Options{{"log_bytes", "512"}, {"markers", "8"}} : Options{};
}

}  // namespace holdfast::engine_rows_test
