// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/engines/parts/any/any_engine.h"

namespace holdfast::engine_rows_test {

/// An engine of the registry on bare words. Maps the regions that the medium has, or lets it grow.
template <class M>
class EngineRowHeap {
 public:
  static constexpr size_t kBytes = kPageBytes;
  static constexpr int kThreads = 3;

  EngineRowHeap(M& machine, const EngineRow<M>& row, const Options& options,
                int max_threads = kThreads)
      : machine_(machine) {
    const Description& about = *row.description;
    const size_t area = round_up(about.area_bytes(options, max_threads).value(), kPageBytes);
    if (machine.medium().bytes() < area + 3 * kBytes) {
      machine.medium().grow(area + 3 * kBytes).check();
    }
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
    engine_ = row.make(machine, regions_, options, max_threads);
  }
  ~EngineRowHeap() {
    engine_.reset();
    for (const auto& [p, n] : mapped_) {
      machine_.medium().unmap(p, n);
    }
  }
  EngineRowHeap(const EngineRowHeap&) = delete;
  EngineRowHeap& operator=(const EngineRowHeap&) = delete;

  EngineHandle<M>& engine() { return *engine_; }
  const Regions& regions() const { return regions_; }
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

  M& machine_;
  Regions regions_;
  std::vector<std::pair<std::byte*, size_t>> mapped_;
  std::unique_ptr<EngineHandle<M>> engine_;
};

}  // namespace holdfast::engine_rows_test
