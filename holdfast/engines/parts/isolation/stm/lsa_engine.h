// SPDX-License-Identifier: Apache-2.0
//
// What engines over the lazy snapshot algorithm share: everything but what a commit does.
#pragma once

#include <memory>

#include "holdfast/engines/parts/isolation/stm/lsa_options.h"
#include "holdfast/engines/parts/isolation/stm/lsa_thread.h"
#include "holdfast/engines/parts/isolation/stm/software_engine.h"

namespace holdfast {

/// Derived: commit, which also gives the stripes up, and before_answer, as SoftwareEngine says.
///
/// Read-only transactions keep no read set, as in TinySTM, and so cannot extend their snapshot:
/// they begin anew when they come upon something newer. After `untracked_reads` attempts they do
/// keep one.
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
        clock_(make_array<VersionClock<M>>(machine, 1)) {
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
