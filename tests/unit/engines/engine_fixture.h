// SPDX-License-Identifier: Apache-2.0
//
// An engine on a machine without a heap: enough to format, run transactions on bare words, take the
// machine away, and recover on another machine that has the same bytes.
//
//   SimMachine machine(options);
//   EngineFixture<RomulusLog<SimMachine>> heap(machine);
//   heap.format().check();
//   heap.engine().update([&] { heap.set(0, 7); });
//   ... crash, SimMachine after(options, image) ...
//   EngineFixture<RomulusLog<SimMachine>> again(after);   // maps what is there
//   again.recover().check();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "holdfast/base/round.h"
#include "holdfast/engines/engine.h"

namespace holdfast {

struct EngineFixtureShape {
  Options options = {};
  size_t bytes = 16 * kPageBytes;  // of data; multiple of the page size
  size_t capacity = 0;  // address space, 0: as bytes. All of it is mapped, so grown() may be tried
  int max_threads = 8;
  bool closed = false;  // Regions::closed
};

template <class E>
class EngineFixture {
 public:
  using M = typename E::Machine;

  /// Grows the medium where it is too small and maps area, data and, where the layout has one, the
  /// second copy or the cells, in this order. Throws Error when the machine refuses.
  explicit EngineFixture(M& machine, const EngineFixtureShape& shape = {}) : machine_(machine) {
    const Description& description = E::kDescription;
    const size_t area = pages(description.area_bytes(shape.options, shape.max_threads).value());
    const size_t capacity = shape.capacity == 0 ? shape.bytes : shape.capacity;
    const size_t total = area + 3 * capacity;
    auto& medium = machine.medium();
    if (medium.bytes() < total) {
      medium.grow(total).check();
    }
    regions_.area = map(0, area, MapMode::shared);
    regions_.area_bytes = area;
    regions_.bytes = shape.bytes;
    regions_.capacity = capacity;
    regions_.closed = shape.closed;
    if (description.layout == Layout::working_copy) {
      regions_.home = map(area, capacity, MapMode::shared);
      regions_.data = map(area, capacity, MapMode::copy_on_write);
    } else {
      regions_.data = regions_.home = map(area, capacity, MapMode::shared);
    }
    if (description.layout == Layout::twin) {
      regions_.twin = map(area + capacity, capacity, MapMode::shared);
    }
    if (description.layout == Layout::cells) {
      regions_.cells = map(area + capacity, 2 * capacity, MapMode::shared);
    }
    engine_ = std::make_unique<E>(machine, regions_, shape.options, shape.max_threads);
  }

  ~EngineFixture() {
    engine_.reset();  // before its regions: an engine may have a background worker
    auto& medium = machine_.medium();
    medium.unmap(regions_.area, regions_.area_bytes);
    if (regions_.home != regions_.data) {
      medium.unmap(regions_.home, regions_.capacity);
    }
    if (regions_.twin != nullptr) {
      medium.unmap(regions_.twin, regions_.capacity);
    }
    if (regions_.cells != nullptr) {
      medium.unmap(regions_.cells, 2 * regions_.capacity);
    }
    medium.unmap(regions_.data, regions_.capacity);
  }
  EngineFixture(const EngineFixture&) = delete;
  EngineFixture& operator=(const EngineFixture&) = delete;

  Status format() { return engine_->format(); }
  Status recover() { return engine_->recover(report_); }
  const RecoveryReport& report() const { return report_; }

  E& engine() { return *engine_; }
  M& machine() { return machine_; }
  const Regions& regions() const { return regions_; }
  size_t words() const { return regions_.bytes / sizeof(uint64_t); }

  /// Word i of the data, as a Field would hold it.
  uint64_t* word(size_t i) const { return reinterpret_cast<uint64_t*>(regions_.data) + i; }
  /// Inside a transaction.
  uint64_t get(size_t i) const { return E::load(word(i)); }
  void set(size_t i, uint64_t value) const { E::store(word(i), value); }

  /// In a transaction of its own.
  void write(size_t i, uint64_t value) {
    engine_->update([&] { set(i, value); });
  }
  uint64_t read(size_t i) {
    uint64_t value = 0;
    engine_->read([&] { value = get(i); });
    return value;
  }

 private:
  static size_t pages(size_t bytes) { return round_up(bytes, kPageBytes); }
  std::byte* map(size_t offset, size_t bytes, MapMode mode) {
    return machine_.medium().map(offset, bytes, nullptr, mode).value();
  }

  M& machine_;
  Regions regions_;
  RecoveryReport report_;
  std::unique_ptr<E> engine_;
};

}  // namespace holdfast
