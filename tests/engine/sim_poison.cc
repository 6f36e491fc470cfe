// SPDX-License-Identifier: Apache-2.0
//
// After a sync fails, is nothing more acknowledged or retried? Does reopening find everything that
// was acknowledged?
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/sim_world.h"
#include "tests/sanitized.h"

namespace holdfast::conformance::sim_poison {
namespace {

class FailingMedium : public testing::TestWithParam<std::string> {};

TEST_P(FailingMedium, PoisonsTheHeap) {
  // Creation syncs a few times. Then every third sync fails, each in a run of its own.
  int failures_while_running = 0;
  for (uint64_t fail_at = 5; fail_at < 200; fail_at += kSanitized ? 9 : 3) {
    SimWorld world(GetParam(), Domain::file, fail_at);
    world.machine_options().fail_sync_at = fail_at;
    const std::string where = GetParam() + ", sync " + std::to_string(fail_at);
    Cells<SimWorld::H>* c = nullptr;
    try {
      c = cells(world.heap());
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), Code::io_error) << where;
      continue;  // creation failed
    }
    int64_t acknowledged[2] = {};
    bool failed[2] = {};
    world.run(2, [&](int thread) {
      for (int i = 0; i < 20; ++i) {
        const Status status = world.heap().update([&] {
          c->cell[1 + thread].value += 1;
          c->cell[8 + thread].value += 1;
        });
        if (status.ok()) {
          EXPECT_FALSE(failed[thread]) << where << ": acknowledged after a failure";
          ++acknowledged[thread];
        } else {
          EXPECT_EQ(status.code(), Code::io_error) << where << ": " << status.to_string();
          failed[thread] = true;
        }
      }
    });
    if (!failed[0] && !failed[1]) {
      continue;  // the run had fewer syncs
    }
    ++failures_while_running;
    EXPECT_EQ(world.heap().read([] {}).code(), Code::io_error) << where;
    world.machine_options().fail_sync_at = kNever;
    world.restart(world.machine().earliest_image());
    const auto v = values(world.heap());
    for (int thread = 0; thread < 2; ++thread) {
      const auto at = 1 + static_cast<size_t>(thread);
      EXPECT_GE(v[at], acknowledged[thread]) << where;
      EXPECT_EQ(v[at], v[at + 7]) << where << ": half a transaction";
    }
  }
  EXPECT_GT(failures_while_running, 0);
}

// A growth may end with a failure while another thread waits to grow as well, or to compact.
TEST_P(FailingMedium, ThreadsThatWaitForAGrowthAreTold) {
  int failures_while_running = 0;
  for (uint64_t fail_at = 12; fail_at < 120; fail_at += kSanitized ? 17 : 5) {
    SimWorld world(GetParam(), Domain::file, fail_at);
    world.options().bytes = 256 << 10;
    world.machine_options().fail_sync_at = fail_at;
    bool failed = false;
    try {
      cells(world.heap());
      world.run(3, [&](int thread) {
        for (int i = 0; i < 6; ++i) {
          const Status status = thread == 2
                                    ? world.heap().compact().status()
                                    : world.heap().update([] { SimWorld::H::allocate(60'000); });
          EXPECT_TRUE(status.ok() || status.code() == Code::io_error) << status.to_string();
          failed = failed || !status.ok();
        }
      });
    } catch (const Error&) {
      continue;  // creation failed
    }
    failures_while_running += failed ? 1 : 0;
  }
  EXPECT_GT(failures_while_running, 0);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& row : engine_rows<SimMachine>()) {
    if (row.description->needs_design) {
      continue;  // does not support domain file; see tests/unit/hardware/design_crash_test.cc
    }
    if (!row.description->runs_in(Domain::file)) {
      continue;
    }
    if (row.description->durability == Durability::none) {
      continue;  // syncs only at creation and close
    }
    all.emplace_back(row.description->name);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Engines, FailingMedium, testing::ValuesIn(names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace holdfast::conformance::sim_poison
