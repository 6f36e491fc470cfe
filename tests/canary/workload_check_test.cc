// SPDX-License-Identifier: Apache-2.0
//
// Does the check of each workload find the loss of a part of a transaction? An engine with a
// planted bug causes it in a power failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/machine/sim/support/host_pages.h"
#include "holdfast/runner/crash/canary.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/catalogue.h"
#include "tests/workload_options.h"

namespace holdfast::workload_check_test {
namespace {

/// The planted bugs of one engine: of the first one that leaves out operations which an update
/// needs to be atomic.
std::vector<Canary> planted_bugs() {
  std::vector<Canary> all = load_canaries().value();
  std::erase_if(all, [](const Canary& c) { return !c.mutation.ends_with("record=drop"); });
  const std::string engine = all.at(0).engine;
  std::erase_if(all, [&](const Canary& c) { return c.engine != engine; });
  return all;
}

class WorkloadCheck : public testing::TestWithParam<const WorkloadInfo*> {
 protected:
  static constexpr int kOperations = 12;
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr uint64_t kPoints = 30;  ///< in a run at which the power fails, about
  static constexpr int kSamples = 2;       ///< of the images at a point

  WorkloadCheck()
      : parameters_(Parameters::make(*GetParam(), tiny_parameters(*GetParam())).value()) {
    options_.threads = 1;
    options_.arena_bytes = size_t{256} << 20;
    options_.medium_limit = size_t{64} << 20;
    options_.pages = std::make_shared<sim::HostPages>();
    SimMachine machine(options_);
    CreateOptions create;
    create.engine = planted_bugs().at(0).engine;
    create.bytes = 1 << 20;
    create.max_bytes = 8 << 20;
    auto heap = SimHeap::create(machine, create).value();
    make_sim_workload(GetParam()->name, *heap, parameters_)->set_up(1, 1).check();
    heap->close().check();
    start_ = machine.latest_image();
  }

  /// Lets the power fail at some points of a run. Returns the first fault that the workload's check
  /// finds after recovery, in which nothing is mutated.
  Status fault_of(const std::vector<Mutation>& mutations) {
    const uint64_t events = run(mutations, kNever, {});
    Status fault;
    for (uint64_t event = 0; event < events && fault.ok(); event += events / kPoints + 1) {
      std::vector<SimImage> images;
      run(mutations, event, [&](SimMachine& machine) {
        Random random(event);
        for (int i = 0; i < kSamples; ++i) {
          images.push_back(machine.sample_image(random));
        }
      });
      for (const SimImage& image : images) {
        fault = fault.ok() ? checked(image, !mutations.empty()) : fault;
      }
    }
    return fault;
  }

 private:
  /// Runs operations on the heap until the power fails before persist event `crash`, counted from
  /// the first operation; kNever: to their end. Then calls crashed(machine). Returns the number of
  /// events.
  uint64_t run(const std::vector<Mutation>& mutations, uint64_t crash,
               const std::function<void(SimMachine&)>& crashed) {
    SimOptions options = options_;
    options.mutations = mutations;
    SimMachine machine(options, start_);
    auto heap = SimHeap::open(machine, {}).value();
    auto workload = make_sim_workload(GetParam()->name, *heap, parameters_);
    workload->attach().check();
    const uint64_t before = machine.persist_events();
    if (crash != kNever) {
      machine.crash_at(before + crash);
    }
    machine.run_threads(1, [&](int worker) {
      Random random(5);
      for (int i = 0; i < kOperations; ++i) {
        workload->operation(worker, random);
      }
    });
    if (crashed) {
      crashed(machine);
    }
    const uint64_t events = machine.persist_events() - before;
    machine.switch_off();
    return events;
  }

  Status checked(const SimImage& image, bool mutated) {
    SimMachine machine(options_, image);
    auto heap = SimHeap::open(machine, {});
    if (!heap.ok()) {  // damage that the heap itself notices is not the workload's to find
      EXPECT_TRUE(mutated) << heap.status().to_string();
      return {};
    }
    auto workload = make_sim_workload(GetParam()->name, **heap, parameters_);
    workload->attach().check();
    Status status = workload->check();
    machine.switch_off();
    return status;
  }

  Parameters parameters_;
  SimOptions options_;
  SimImage start_;
};

TEST_P(WorkloadCheck, FindsAPlantedBug) {
  const Status sound = fault_of({});
  EXPECT_TRUE(sound.ok()) << sound.to_string();
  for (const Canary& bug : planted_bugs()) {
    const Status fault = fault_of({parse_mutation(bug.mutation).value()});
    if (!fault.ok()) {
      EXPECT_EQ(fault.code(), Code::corrupt) << fault.to_string();
      std::printf("%s: %s\n", bug.mutation.c_str(), fault.to_string().c_str());
      return;
    }
  }
  FAIL() << GetParam()->name << ": no planted bug was found";
}

std::vector<const WorkloadInfo*> workloads() {
  std::vector<const WorkloadInfo*> all(workload_infos().begin(), workload_infos().end());
  std::erase_if(all, [](const WorkloadInfo* info) { return info->preset_of != nullptr; });
  return all;
}

std::string workload_name(const testing::TestParamInfo<const WorkloadInfo*>& instance) {
  std::string name = instance.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Workloads, WorkloadCheck, testing::ValuesIn(workloads()), workload_name);

}  // namespace
}  // namespace holdfast::workload_check_test
