// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The fences of Dekker's handshake, biased towards one side. In the handshake each side stores,
/// fences, then loads what the other side has stored. So at least one side sees the other's store.
///
/// The frequent side calls light() between its store and its loads, the rare side heavy(). While
/// the fence is biased, light() costs no fence of the processor. The first heavy() then fences all
/// threads at once, which takes microseconds, and revokes the bias. From then on light() is a full
/// fence, until the frequent side restores the bias. (Dice and Kogan, "BRAVO", ATC 2019, bias a
/// reader-writer lock in the same way.)
///
/// Argument. All accesses to the bias are sequentially consistent.
///
///   The frequent side finds no bias: both sides execute a full fence.
///
///   It finds the bias: heavy() changes the bias before it fences all threads. So the load of the
///   bias precedes that fence. So does the store before that load, and the rare side's loads, which
///   follow the fence, see it.
///
///   It finds a bias that was restored after heavy(): its loads follow its load of the bias, so
///   they follow heavy() and see the store before it.
///
/// The rare side needs a full fence of its own between its store and heavy(): a fence, or an atomic
/// read-modify-write or a sequentially consistent store that is the store itself.
///
/// Thread safety: any thread may call any function.
template <class M>
class BiasedFence {
 public:
  explicit BiasedFence(M& machine, bool biased = false)
      : machine_(machine), bias_(make_object<Line>(machine)) {
    if (biased) {
      restore();
    }
  }

  /// The frequent side's fence. Returns true if the bias has spared the full fence.
  bool light(Site site) const {
    machine_.light_fence();
    const bool biased = bias_->word.load() == kFull;
    if (!biased) [[unlikely]] {
      machine_.fence(site);
    }
    return biased;
  }

  /// The rare side's fence.
  void heavy(Site site) const {
    if (bias_->word.load() != kNone) [[unlikely]] {
      revoke(site);
    }
  }

  /// Lets the frequent side omit its fence again.
  void restore() const {
    uint64_t none = kNone;
    bias_->word.compare_exchange(none, kFull);
  }

 private:
  enum : uint64_t { kNone, kFull, kEnding };
  struct alignas(kMaxLineBytes) Line {
    typename M::template Atomic<uint64_t> word;
  };

  [[gnu::noinline]] void revoke(Site site) const {
    uint64_t full = kFull;
    if (bias_->word.compare_exchange(full, kEnding)) {
      machine_.heavy_fence(site);
      bias_->word.store(kNone);
      return;
    }
    // Another thread is fencing all threads. Until it has, stores of the frequent side may be
    // invisible.
    while (bias_->word.load() == kEnding) {
      machine_.pause();
    }
  }

  M& machine_;
  Line* bias_;
};

}  // namespace holdfast
