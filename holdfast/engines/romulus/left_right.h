// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/isolation/combining/read_indicator.h"

namespace holdfast {

/// The Left-Right technique (Ramalhete and Correia, DISC 2015; Romulus 5.3): there are two copies
/// of the data, and readers use the copy that the writer is not changing. Readers are wait-free:
/// enter() and leave() take a fixed number of steps in every case. One writer at a time calls
/// direct() and wait_for_stragglers().
///
/// The original has two read indicators, and a version that tells which one to use, so that a
/// stream of new readers cannot hold up the writer. One indicator that counts visits has the same
/// effect: the writer waits until each visit it finds has ended, never for a later one.
template <class M>
class LeftRight {
 public:
  explicit LeftRight(M& machine)
      : machine_(machine), readers_(machine), side_(make_object<Side>(machine)) {}

  /// Announces a reader. Returns the side to read, 0 or 1.
  uint64_t enter(int slot) {
    if (machine_.skips(Site{"leftright.arrive.fence"})) {
      readers_.arrive_unfenced(slot);
    } else {
      readers_.arrive(slot);
    }
    // Sequentially consistent, after the arrival. So a reader that gets the old side here arrived
    // before the writer's direct(), and the writer's scan sees it.
    return side_->value.load(std::memory_order_seq_cst);
  }

  void leave(int slot) { readers_.depart(slot); }

  /// Sends new readers to `side`. All earlier stores of the caller are visible to them.
  void direct(uint64_t side, Site site = {}) {
    if (!machine_.skips(site)) {
      side_->value.store(side, std::memory_order_seq_cst);
    }
  }

  /// Waits until no reader is left on the side that new readers are not sent to.
  void wait_for_stragglers(Site site = {}) {
    if (!machine_.skips(site)) {
      readers_.wait_for_present();
    }
  }

 private:
  struct alignas(kMaxLineBytes) Side {
    typename M::template Atomic<uint64_t> value;
  };

  M& machine_;
  ReadIndicator<M> readers_;
  Side* side_;
};

}  // namespace holdfast
