// SPDX-License-Identifier: Apache-2.0
// Do all workloads, and with them all structures, run on hardware designs, and survive with a
// durable one?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/registry.h"
#include "tests/engine_options.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::design_workloads_test {
namespace {

struct Case {
  const char* workload;
  std::map<std::string, std::string> parameters;
};

/// Small sizes, by the names of parameters. A workload gets those that it knows.
const std::map<std::string, std::string> kSmall = {
    {"size", "60"},     {"update", "60"},    {"entries", "200"},   {"swaps", "4"},
    {"accounts", "40"}, {"items", "100"},    {"customers", "10"},  {"orders", "10"},
    {"districts", "2"}, {"relations", "20"}, {"scale", "4"},       {"degree", "6"},
    {"lines", "40"},    {"records", "60"},   {"subscribers", "30"}};

/// Every workload, over each structure that it can have. Presets run the code of others.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const WorkloadInfo* info : workload_infos()) {
    if (info->preset_of != nullptr) {
      continue;
    }
    for (auto variant : root_variants(*info)) {
      for (const OptionInfo& parameter : info->parameters) {
        const auto small = kSmall.find(parameter.name);
        if (small != kSmall.end()) {
          variant.insert(*small);
        }
      }
      all.push_back({info->name, variant});
    }
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const auto structure = info.param.parameters.find("structure");
  std::string name = info.param.workload;
  std::replace(name.begin(), name.end(), '-', '_');
  return name + (structure == info.param.parameters.end() ? "" : "_" + structure->second);
}

/// The first durable design, with small buffers if it has any.
SimOptions small_options() {
  const DesignInfo& design = *find_row("design", durable_design(), hardware_designs()).value();
  const bool buffers = find_row("option", "bytes", design.options).ok();
  return options(tiny(), design.name, buffers ? Options{{"bytes", "1024"}} : Options{});
}

std::string engine_with_a_design() {
  return first_of(engine_rows<SimMachine>(),
                  [](const auto& row) { return row.description->needs_design; });
}

class SimDesignWorkload : public testing::TestWithParam<Case> {
 protected:
  static constexpr int kThreads = 3;

  static Parameters parameters() {
    const WorkloadInfo* info = find_workload(GetParam().workload).value();
    return Parameters::make(*info, GetParam().parameters).value();
  }

  /// Runs some operations on a new heap. Returns the image at the end, or after the power failed at
  /// event `crash`, counted from the first operation. Sets `events` to the number of events.
  static SimImage run(const SimOptions& o, uint64_t crash, uint64_t& events) {
    SimMachine machine(o);
    CreateOptions create;
    create.engine = engine_with_a_design();
    create.bytes = 4 << 20;
    create.max_bytes = 16 << 20;
    auto heap = SimHeap::create(machine, create).value();
    auto workload = make_sim_workload(GetParam().workload, *heap, parameters());
    workload->set_up(kThreads, 1).check();
    const uint64_t before = machine.persist_events();
    if (crash != kNever) {
      machine.crash_at(before + crash);
    }
    machine.run_threads(kThreads, [&](int worker) {
      Random random(static_cast<uint64_t>(worker) + 5);
      for (int i = 0; i < 12; ++i) {
        workload->operation(worker, random);
      }
    });
    events = machine.persist_events() - before;
    EXPECT_EQ(machine.crashed(), crash != kNever);
    if (!machine.crashed()) {
      EXPECT_TRUE(workload->check().ok()) << workload->check().to_string();
      heap->close().check();
      workload.reset();
      heap.reset();  // unmaps its pages, so the caches write their lines back
    }
    return machine.earliest_image();
  }

  static void expect_whole(const SimOptions& o, const SimImage& image, uint64_t event) {
    SimMachine machine(o, image);
    machine.power_on();
    auto heap = SimHeap::open(machine, {});
    ASSERT_TRUE(heap.ok()) << heap.status().to_string() << " after event " << event;
    auto workload = make_sim_workload(GetParam().workload, **heap, parameters());
    workload->attach().check();
    const Status status = workload->check();
    EXPECT_TRUE(status.ok()) << status.to_string() << " after event " << event;
  }
};

TEST_P(SimDesignWorkload, RunsAndSurvivesWithADurableDesign) {
  const SimOptions o = small_options();
  uint64_t events = 0;
  expect_whole(o, run(o, kNever, events), kNever);
  ASSERT_GT(events, 20u);
  for (uint64_t i = 1; i <= 5; ++i) {
    const uint64_t event = events * i / 6;
    uint64_t unused = 0;
    expect_whole(o, run(o, event, unused), event);
  }
}

TEST_P(SimDesignWorkload, RunsWithAVolatileDesignAndIsWholeWhenClosed) {
  const SimOptions o = options(tiny(), volatile_design());
  uint64_t events = 0;
  expect_whole(o, run(o, kNever, events), kNever);
}

INSTANTIATE_TEST_SUITE_P(Workloads, SimDesignWorkload, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace holdfast::design_test::design_workloads_test
