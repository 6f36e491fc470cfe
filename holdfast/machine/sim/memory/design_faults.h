// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "holdfast/machine/sim/description/design_fault.h"

namespace holdfast::sim {

/// Counts a design's changes of surviving state, and plants a bug in one of them.
class DesignFaults {
 public:
  explicit DesignFaults(const std::optional<DesignFault>& fault) : fault_(fault) {}

  /// Calls make(), which makes the change: now, later or never. `place` tells places apart.
  template <class F>
  void change(DesignChange kind, uint64_t place, F&& make) {
    const uint64_t number = counts_[static_cast<size_t>(kind)]++;
    if (!fault_ || fault_->change != kind) [[likely]] {
      make();
      return;
    }
    if (number == fault_->number) {
      place_ = place;
      if (fault_->kind != FaultKind::drop) {
        held_ = std::forward<F>(make);
      }
      return;
    }
    make();
    if (held_ && fault_->kind == FaultKind::swap && place != place_) {
      std::exchange(held_, {})();
    }
  }

  /// A persist event has happened.
  void persist_event() {
    constexpr int kDelay = 100;
    if (held_ && fault_->kind == FaultKind::delay && ++events_ > kDelay) {
      std::exchange(held_, {})();
    }
  }

  const DesignChangeCounts& counts() const { return counts_; }

 private:
  std::optional<DesignFault> fault_;
  DesignChangeCounts counts_{};
  std::function<void()> held_;
  uint64_t place_ = 0;
  int events_ = 0;
};

}  // namespace holdfast::sim
