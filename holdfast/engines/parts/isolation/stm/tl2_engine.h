// SPDX-License-Identifier: Apache-2.0
//
// The frame of engines over TL2: everything except the commit.
#pragma once

#include <memory>

#include "holdfast/engines/parts/isolation/stm/lsa_options.h"
#include "holdfast/engines/parts/isolation/stm/software_engine.h"
#include "holdfast/engines/parts/isolation/stm/tl2_thread.h"

namespace holdfast {

/// The frame; see Engine in engine.h for the contract. Derived adds commit(), which also locks and
/// releases the stripes, as for SoftwareEngine. A transaction sees only durable values, if the
/// engine makes any durable.
template <class M, class Derived>
class Tl2Engine : public SoftwareEngine<M, Tl2Engine<M, Derived>, Tl2Thread<M>, RightOfWay<M>> {
  using Base = SoftwareEngine<M, Tl2Engine<M, Derived>, Tl2Thread<M>, RightOfWay<M>>;

 public:
  using Thread = Tl2Thread<M>;

 protected:
  Tl2Engine(M& machine, const Regions& regions, const Options& options)
      : Base(machine, parse_patience(options).value()),
        clock_(make_object<VersionClock<M>>(machine)) {
    const OwnershipTable<M> table(machine, parse_locks(options).value());
    for (int slot = 0; slot < machine.slots(); ++slot) {
      this->add_thread(std::make_unique<Thread>(machine, table, *clock_, slot), regions);
    }
  }

 private:
  friend Base;

  void begin(Thread& t, Context::Mode mode, uint64_t /*aborts*/) { t.begin(mode); }
  bool commit(Thread& t) { return static_cast<Derived&>(*this).commit(t); }
  void before_answer(const Thread& /*t*/) {}

  VersionClock<M>* clock_;
};

}  // namespace holdfast
