// SPDX-License-Identifier: Apache-2.0
//
// Does a planted bug of a hardware design change what happens to one change, and only to that one?
#include "holdfast/machine/sim/memory/design_faults.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::design_faults_test {
namespace {

using sim::DesignFaults;
using Made = std::vector<int>;

constexpr DesignChange kOther = DesignChange::flags;
constexpr DesignChange kKind = DesignChange::own_write;

/// Makes changes of two kinds and remembers their order.
class Changes {
 public:
  explicit Changes(const std::optional<DesignFault>& fault) : faults_(fault) {}

  void make(DesignChange kind, uint64_t place, int name) {
    faults_.change(kind, place, [this, name] { made_.push_back(name); });
  }
  void events(int n) {
    for (int i = 0; i < n; ++i) {
      faults_.persist_event();
    }
  }
  const Made& made() const { return made_; }
  const DesignChangeCounts& counts() const { return faults_.counts(); }

 private:
  DesignFaults faults_;
  Made made_;
};

TEST(DesignFaults, WithoutOneAllChangesAreMadeAndCounted) {
  Changes changes({});
  changes.make(kKind, 1, 0);
  changes.make(kOther, 1, 1);
  changes.make(kKind, 1, 2);
  EXPECT_EQ(changes.made(), (Made{0, 1, 2}));
  EXPECT_EQ(changes.counts()[static_cast<size_t>(kKind)], 2u);
  EXPECT_EQ(changes.counts()[static_cast<size_t>(kOther)], 1u);
}

TEST(DesignFaults, ADroppedChangeIsNeverMade) {
  Changes changes(DesignFault{kKind, FaultKind::drop, 1});
  changes.make(kKind, 1, 0);
  changes.make(kOther, 1, 1);  // another kind has numbers of its own
  changes.make(kOther, 1, 2);
  changes.make(kKind, 1, 3);
  changes.make(kKind, 2, 4);
  changes.events(1000);
  EXPECT_EQ(changes.made(), (Made{0, 1, 2, 4}));
  EXPECT_EQ(changes.counts()[static_cast<size_t>(kKind)], 3u) << "it counts, too";
}

TEST(DesignFaults, ADelayedChangeIsMadeAtTheHundredAndFirstEventAndOnce) {
  Changes changes(DesignFault{kKind, FaultKind::delay, 0});
  changes.events(1000);
  changes.make(kKind, 1, 0);
  changes.make(kKind, 2, 1);
  changes.events(100);
  EXPECT_EQ(changes.made(), (Made{1}));
  changes.events(1);
  EXPECT_EQ(changes.made(), (Made{1, 0}));
  changes.events(1000);
  EXPECT_EQ(changes.made(), (Made{1, 0}));
}

TEST(DesignFaults, ASwappedChangeFollowsTheNextOneAtAnotherPlace) {
  Changes changes(DesignFault{kKind, FaultKind::swap, 0});
  changes.make(kKind, 1, 0);
  changes.make(kKind, 1, 1);   // the same place
  changes.make(kOther, 2, 2);  // another kind
  changes.events(1000);
  EXPECT_EQ(changes.made(), (Made{1, 2}));
  changes.make(kKind, 2, 3);
  changes.make(kKind, 3, 4);
  EXPECT_EQ(changes.made(), (Made{1, 2, 3, 0, 4}));
}

}  // namespace
}  // namespace holdfast::design_faults_test
