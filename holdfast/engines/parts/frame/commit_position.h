// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/engine.h"

namespace holdfast {

/// How far an engine with one writer has committed, on a machine that defers its psync
/// (Machine::begin_psync). The writer shows a batch and begins the next one before the medium has
/// the batch. Each caller waits, outside of the engine's locks, for the position of what it is
/// about to answer. A crash keeps a prefix of the positions, so the writer needs no answer.
///
/// On other machines a psync waits, and every position is 0.
///
/// Thread safety: one thread at a time calls sync(); any thread the others.
template <class M>
class CommitPosition {
 public:
  explicit CommitPosition(M& machine)
      : machine_(machine), last_(machine.defers_psync() ? make_object<Word>(machine) : nullptr) {}

  /// The psync of a commit. Call it before a reader may see the commit.
  void sync(Site site) {
    const uint64_t position = machine_.begin_psync(site);
    if (last_ != nullptr) {
      // Release: a reader that sees the batch sees its position.
      last_->value.store(position, std::memory_order_release);
    }
  }

  /// Whether anything has to be waited for.
  bool defers() const { return last_ != nullptr; }
  /// Returns the position of the last commit, and of all before it.
  uint64_t last() const {
    return last_ != nullptr ? last_->value.load(std::memory_order_acquire) : 0;
  }
  /// Returns when this position is durable. Throws MediumFailure.
  void await(uint64_t position, Site site) const {
    if (!machine_.durable(position)) {
      const PhaseScope<M> waiting(Phase::durability_wait);
      machine_.await_durable(position, site);
    }
  }

 private:
  struct alignas(kMaxLineBytes) Word {
    typename M::template Atomic<uint64_t> value;
  };

  M& machine_;
  Word* const last_;
};

}  // namespace holdfast
