// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines over the lazy snapshot algorithm: everything except the commit.
#pragma once

#include <memory>

#include "holdfast/engines/parts/isolation/stm/lsa_options.h"
#include "holdfast/engines/parts/isolation/stm/lsa_thread.h"
#include "holdfast/engines/parts/isolation/stm/software_engine.h"

namespace holdfast {

/// The frame; see Engine in engine.h for the contract. Derived adds commit(), which also releases
/// the stripes, and before_answer(); both as for SoftwareEngine.
///
/// Read-only transactions keep no read set, as in TinySTM, so they cannot extend their snapshot.
/// They restart when they meet a newer version. After `untracked_reads` attempts they keep a read
/// set.
template <class M, class Derived>
class LsaEngine : public SoftwareEngine<M, LsaEngine<M, Derived>, LsaThread<M>, RightOfWay<M>> {
  using Base = SoftwareEngine<M, LsaEngine<M, Derived>, LsaThread<M>, RightOfWay<M>>;

 public:
  using Thread = LsaThread<M>;

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): a frame lies between
  LsaEngine(M& machine, const Regions& regions, const LsaOptions& options)
      : Base(machine, options.patience),
        lsa_options_(options),
        clock_(make_object<VersionClock<M>>(machine)) {
    const OwnershipTable<M> table(machine, options.locks);
    for (int slot = 0; slot < machine.slots(); ++slot) {
      this->add_thread(std::make_unique<Thread>(machine, table, *clock_, slot), regions);
    }
  }

  const LsaOptions lsa_options_;
  VersionClock<M>* clock_;

 private:
  friend Base;

  void begin(Thread& t, Context::Mode mode, uint64_t aborts) {
    t.begin(mode, mode == Context::Mode::update || aborts >= lsa_options_.untracked_reads);
  }
  bool commit(Thread& t) { return static_cast<Derived&>(*this).commit(t); }
  void before_answer(const Thread& t) { static_cast<Derived&>(*this).before_answer(t); }
};

}  // namespace holdfast
