// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/engines/swl/swl.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/undo/one_heap.h"

namespace holdfast::swl_test {

using FlushHeap = undo_suite::OneHeap<SwlFlush<SimMachine>>;
using EadrHeap = undo_suite::OneHeap<SwlEadr<SimMachine>>;

inline constexpr size_t kEntryHeader = 16;
inline constexpr size_t kLineEntry = kEntryHeader + kLineBytes;

/// A log of exactly so many entries, at least 1024 bytes.
inline Options log_of(size_t entries, size_t unit = kLineBytes) {
  return {{"log_bytes", std::to_string(entries * (kEntryHeader + unit))},
          {"unit", std::to_string(unit)}};
}

/// A machine that the power comes back to, and its heap. Only one machine can exist at a time.
template <class H>
class Reopened {
 public:
  Reopened(const SimImage& image, const Options& options)
      : machine_(H::machine_options(), image),
        heap_(machine_, {.options = options}),
        status_(heap_.recover()) {}

  const Status& status() const { return status_; }
  auto* operator->() { return &heap_; }
  SimMachine& machine() { return machine_; }

 private:
  using Engine = std::remove_reference_t<decltype(std::declval<H&>()->engine())>;
  SimMachine machine_;
  EngineFixture<Engine> heap_;
  Status status_;
};

/// The images that may be on the medium, up to `most` before each persist event of `update`.
template <class F>
std::vector<SimImage> images_during(SimMachine& machine, uint64_t most, F&& update) {
  std::vector<SimImage> images;
  machine.before_persist_event([&](uint64_t) {
    machine.for_each_image(most, [&](const SimImage& image) {
      images.push_back(image);
      return true;
    });
  });
  machine.run_threads(1, [&](int) { update(); });
  machine.before_persist_event({});
  return images;
}

inline uint64_t word_at(const SimImage& image, size_t offset) {
  uint64_t value = 0;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

}  // namespace holdfast::swl_test
