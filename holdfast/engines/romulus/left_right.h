// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/isolation/combining/read_indicator.h"

namespace holdfast {

/// The Left-Right technique (Ramalhete and Correia, DISC 2015; Romulus 5.3): two copies of the
/// data, readers on the one the writer is not changing. Readers are wait-free: enter() and leave()
/// are a fixed number of steps whatever the writer does.
///
/// The original has two read indicators and a version that says which to use, so that a stream of
/// new readers cannot hold the writer up. One indicator that counts visits gives the same: the
/// writer waits for each visit it finds, never for the next one.
template <class M>
class LeftRight {
 public:
  explicit LeftRight(M& machine)
      : machine_(machine), readers_(machine), side_(make_array<Side>(machine, 1)) {}

  /// The side to read, 0 or 1.
  uint64_t enter(int slot) {
    if (machine_.skips(Site{"leftright.arrive.fence"})) {
      readers_.arrive_unfenced(slot);
    } else {
      readers_.arrive(slot);
    }
    // Sequentially consistent, after the arrival: a reader that gets the old side here arrived
    // before the writer's direct(), and so is seen by the writer's scan.
    return side_->value.load(std::memory_order_seq_cst);
  }

  void leave(int slot) { readers_.depart(slot); }

  /// Sends newcomers to `side`. Everything stored before is visible to them.
  void direct(uint64_t side, Site site = {}) {
    if (!machine_.skips(site)) {
      side_->value.store(side, std::memory_order_seq_cst);
    }
  }

  /// Returns when nobody reads the side that newcomers are not directed to.
  void wait_for_stragglers(Site site = {}) {
    if (!machine_.skips(site)) {
      readers_.wait_for_present();
    }
  }

 private:
  struct alignas(2 * kLineBytes) Side {
    typename M::template Atomic<uint64_t> value;
  };

  M& machine_;
  ReadIndicator<M> readers_;
  Side* side_;
};

}  // namespace holdfast
