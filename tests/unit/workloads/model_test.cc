// SPDX-License-Identifier: Apache-2.0
//
// Do the workloads behave as their models say? One client on plain memory must match word for word.
// Several clients, on every engine of the simulated machine, must match some order of their
// operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/check/linearizability/linearizability.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/heap/plain_heap.h"
#include "holdfast/runner/sim/sim_run.h"
#include "holdfast/workloads/registry.h"
#include "tests/engine_options.h"
#include "tests/sanitized.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::testing::model_test {
namespace {

using check::check_linearizable;
using check::Linearization;
using check::Operation;

struct Case {
  const char* name;
  const char* workload;
  std::map<std::string, std::string> parameters;
  bool tells = true;  ///< answers depend on the state
};

/// Small workloads, so that operations meet.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list = {
        {"intset", "intset", {{"size", "4"}, {"update", "80"}}},
        {"intset_with_ledger", "intset", {{"size", "3"}, {"update", "80"}, {"ack", "1"}}},
        {"list", "list", {{"size", "4"}, {"update", "80"}}},
        {"bank", "bank", {{"accounts", "4"}, {"balance", "50"}, {"audit", "30"}}},
        {"bank_without_ledger", "bank", {{"accounts", "3"}, {"balance", "50"}, {"ack", "0"}}},
        {"ring", "ring", {{"nodes", "5"}, {"walk", "30"}}},
        {"ring_without_ledger", "ring", {{"nodes", "3"}, {"walk", "30"}, {"ack", "0"}}},
        {"random_stores",
         "hash-update",
         {{"entries", "5"}, {"updates", "4"}, {"reads", "25"}},
         false},
        {"inserts", "rbtree-insert", {{"size", "4"}}, false},
        {"inserts_with_ledger", "rbtree-insert", {{"size", "3"}, {"ack", "1"}}, false},
        {"ssca2", "ssca2", {{"scale", "2"}, {"degree", "2"}}},
        {"swaps_of_elements", "array-swap", {{"entries", "3"}, {"bytes", "72"}}},
        {"stream",
         "array-stream",
         {{"entries", "4"}, {"elements", "2"}, {"bytes", "72"}, {"ack", "1"}}},
        {"heap", "binary-heap", {{"size", "2"}, {"capacity", "5"}, {"bytes", "24"}}},
        {"inserts_in_front",
         "linked-list",
         {{"size", "2"}, {"bytes", "24"}, {"removes", "40"}},
         false},
        {"inserts_into_large_nodes", "bplus-tree", {{"size", "4"}, {"node", "64"}}, false},
        {"whole_array", "huge", {{"lines", "3"}}},
        {"toggles_of_edges", "sdg", {{"scale", "2"}, {"degree", "2"}, {"bytes", "24"}}},
        {"ycsb",
         "ycsb",
         {{"records", "4"},
          {"bytes", "24"},
          {"mix", "read:2,update:2,insert:1,scan:1,rmw:2"},
          {"scan", "4"}}},
        {"tatp",
         "tatp",
         {{"subscribers", "2"},
          {"mix",
           "get_subscriber_data:1,get_new_destination:2,get_access_data:1,update_subscriber_data:3,"
           "update_location:3,insert_call_forwarding:4,delete_call_forwarding:4"}}},
        {"inserts_into_a_tree",
         "rb-tree",
         {{"size", "4"}, {"bytes", "24"}, {"removes", "40"}},
         false},
        {"inserts_into_buckets",
         "hash-table",
         {{"size", "4"}, {"buckets", "2"}, {"bytes", "24"}, {"removes", "40"}},
         false},
        {"inserts_into_a_growing_table",
         "hash-table",
         {{"size", "4"}, {"structure", "growing"}, {"bytes", "24"}, {"removes", "40"}},
         false}};
    for (const char* structure : kMapStructures) {
      list.push_back(
          {structure, "map", {{"structure", structure}, {"size", "4"}, {"update", "80"}}});
    }
    return list;
  }();
  return all;
}

Parameters parameters_of(const Case& c) {
  return Parameters::make(*find_workload(c.workload).value(), c.parameters).value();
}

class WorkloadsModelTest : public ::testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<WorkloadInstance> make(PlainHeap& heap) {
    return make_from(SmallWorkloads{}, GetParam().workload, heap, parameters_of(GetParam()));
  }
};

TEST_P(WorkloadsModelTest, OneClientIsToldWhatTheModelSays) {
  PlainHeap heap;
  auto workload = make(heap);
  ASSERT_TRUE(workload->set_up(1, 7).ok());
  const SequentialModel& model = *workload->model();
  ModelState state = workload->observe().value();
  ASSERT_FALSE(state.empty());
  Random random(5);
  std::vector<int> kinds(workload->info().operations.size());
  for (int i = 0; i < 3000; ++i) {
    const Request request = workload->draw(0, random);
    const OperationResult result = workload->perform(0, request);
    const ModelState before = state;
    ASSERT_EQ(model.apply(request, state), result.response)
        << "seed 5, operation " << i << ": " << model.describe(request) << " was told "
        << model.describe(request, result.response);
    ASSERT_EQ(workload->observe().value(), state) << model.describe(request);
    ASSERT_EQ(result.kind, request.kind);
    if (result.read_only) {
      ASSERT_FALSE(model.may_change(request, result.response));
    }
    if (!model.may_change(request, result.response)) {
      ASSERT_EQ(state, before) << model.describe(request);
    }
    ++kinds[static_cast<size_t>(request.kind)];
  }
  for (const int count : kinds) {
    EXPECT_GT(count, 0);
  }
}

TEST_P(WorkloadsModelTest, AnOperationIsPerformedAsDrawn) {
  PlainHeap heap;
  PlainHeap other_heap;
  auto workload = make(heap);
  auto other = make(other_heap);
  ASSERT_TRUE(workload->set_up(2, 7).ok());
  ASSERT_TRUE(other->set_up(2, 7).ok());
  Random random(6);
  Random same(6);
  for (int i = 0; i < 1000; ++i) {
    const OperationResult one = workload->operation(i % 2, random);
    const OperationResult two = other->perform(i % 2, other->draw(i % 2, same));
    ASSERT_EQ(one.kind, two.kind);
    ASSERT_EQ(one.response[0], two.response[0]);
    ASSERT_EQ(one.acknowledgement[1], two.acknowledgement[1]);
  }
  EXPECT_EQ(random.next(), same.next());
  EXPECT_EQ(workload->observe().value(), other->observe().value());
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadsModelTest, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(WorkloadsWithoutModelTest, SayThatTheyHaveNone) {
  PlainHeap heap;
  auto workload =
      make_from(SmallWorkloads{}, "sps", heap, Parameters::make(sps_info(), {}).value());
  EXPECT_EQ(workload->model(), nullptr);
  Random random(1);
  EXPECT_THROW(workload->draw(0, random), Error);
  EXPECT_THROW(workload->perform(0, {}), Error);
  EXPECT_EQ(workload->observe().status().code(), Code::unsupported);
}

TEST(WorkloadsRingModelTest, ALeavingLinkIsNotAState) {
  PlainHeap heap;
  auto ring = make_from(SmallWorkloads{}, "ring", heap, Parameters::make(ring_info(), {}).value());
  ring->set_up(1, 1).check();
  RingRoot<PlainHeap>::Node outside{};
  auto* root = heap.find_root<RingRoot<PlainHeap>>("ring").value();
  heap.update([&] { root->node.load()[2].next = &outside; }).check();
  EXPECT_EQ(ring->observe().status().code(), Code::corrupt);
}

constexpr int kThreads = 3;
constexpr int kOperations = 6;  ///< operations of each thread
constexpr uint64_t kSeeds = kSanitized ? 3 : 12;

/// The clients' operations on an engine of the simulated machine.
struct Session {
  std::vector<Operation> operations;
  ModelState initial;
  ModelState found;
};

bool needs_design(const std::string& engine) {
  return AnyEngine<SimMachine>::describe(engine).value()->needs_design;
}

/// The first durable engine with hardware transactions and this isolation.
std::string first_engine(Isolation isolation) {
  return first_of(engine_rows<SimMachine>(), [&](const auto& row) {
    const Description& d = *row.description;
    return is_durable(d) && d.needs_htm && d.isolation == isolation;
  });
}

SimOptions machine_for(const std::string& engine, uint64_t seed) {
  SimOptions options;
  options.threads = kThreads;
  options.seed = seed;
  options.domain = usual_domain(*AnyEngine<SimMachine>::describe(engine).value());
  if (needs_design(engine)) {  // and so a timed machine
    options.machine = std::make_shared<MachineDescription>(
        load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/tiny.toml").value());
    options.schedule = Schedule::timed;
    use_design(options, design_test::durable_design());
  }
  return options;
}

CreateOptions heap_for(const std::string& engine) {
  CreateOptions create;
  create.engine = engine;
  create.bytes = 1 << 20;
  create.max_bytes = 16 << 20;
  return create;
}

/// A machine, a heap and a workload.
class World {
 public:
  World(const std::string& engine, const Case& c, uint64_t seed)
      : machine_(machine_for(engine, seed)),
        heap_(SimHeap::create(machine_, heap_for(engine)).value()) {
    workload_ = make_sim_workload(c.workload, *heap_, parameters_of(c));
    workload_->set_up(kThreads, seed).check();
  }

  WorkloadInstance& workload() { return *workload_; }

  Session run(uint64_t seed) {
    Session run;
    run.initial = workload_->observe().value();
    uint64_t clock = 0;  // simulated threads take turns on one host thread
    machine_.run_threads(kThreads, [&](int worker) {
      Random random(mix64(seed) + static_cast<uint64_t>(worker));
      for (int i = 0; i < kOperations; ++i) {
        const Request request = workload_->draw(worker, random);
        const uint64_t begin = ++clock;
        const Response told = workload_->perform(worker, request).response;
        run.operations.push_back({static_cast<uint32_t>(worker), begin, ++clock, request, told});
      }
    });
    run.found = workload_->observe().value();
    return run;
  }

 private:
  SimMachine machine_;
  std::unique_ptr<SimHeap> heap_;
  std::unique_ptr<WorkloadInstance> workload_;
};

size_t overlapping(const std::vector<Operation>& operations) {
  size_t n = 0;
  for (const Operation& a : operations) {
    for (const Operation& b : operations) {
      n += a.begin < b.begin && b.begin < a.end ? 1U : 0U;
    }
  }
  return n;
}

class WorkloadsEngineTest : public ::testing::TestWithParam<std::string> {};

/// This also holds under snapshot isolation. An operation that changes something stores to, or
/// promotes, everything that its answer depends on. An operation that changes nothing may be
/// ordered where its snapshot was taken.
/// Under a sanitizer an engine has a fifth of the cases, and the engines together all.
TEST_P(WorkloadsEngineTest, TheAnswersHaveAnOrder) {
  size_t turn = GetParam().size();
  for (const Case& c : cases()) {
    if (kSanitized && ++turn % 5 != 0) {
      continue;
    }
    size_t concurrent = 0;
    size_t refuted = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      World world(GetParam(), c, seed);
      const SequentialModel& model = *world.workload().model();
      Session run = world.run(seed);
      ASSERT_EQ(run.operations.size(), size_t{kThreads} * kOperations);
      concurrent += overlapping(run.operations);
      for (const bool by_key : {true, false}) {
        const Linearization judged =
            check_linearizable(model, run.initial, run.operations, &run.found, {.by_key = by_key});
        ASSERT_TRUE(judged.ok) << GetParam() << ", " << c.name << ", seed " << seed << "\n"
                               << judged.text;
      }
      EXPECT_TRUE(world.workload().check().ok());
      // Swaps the answers of two clients.
      std::swap(run.operations[5].response, run.operations[12].response);
      refuted += check_linearizable(model, run.initial, run.operations, &run.found).ok ? 0U : 1U;
    }
    EXPECT_GT(concurrent, kSeeds) << c.name << ": the operations hardly met";
    if (!kSanitized || refuted > 0) {  // few swaps may all go unnoticed
      EXPECT_EQ(refuted > 0, c.tells) << c.name << ": swaps of two answers that were noticed";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, WorkloadsEngineTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& row : engine_rows<SimMachine>()) {
                             names.emplace_back(row.description->name);
                           }
                           return names;
                         }()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// One of two doctors must stay: the textbook's write skew (Berenson et al. 1995, A5B). The answer
/// of leave(doctor) is the state before; the doctor leaves if both were there. The other request
/// brings the doctor back.
class DutyModel final : public SequentialModel {
 public:
  enum Kind : int { kLeave, kReturn };
  Response apply(const Request& request, ModelState& state) const override {
    const Response before = {state[0], state[1]};
    uint64_t& self = state[request.argument[0]];
    self = request.kind == kReturn ? 1 : before[0] + before[1] == 2 ? 0 : self;
    return before;
  }
  std::string describe(const Request& request) const override {
    return (request.kind == kLeave ? "leave " : "return ") + std::to_string(request.argument[0]);
  }
  std::string describe(const Request&, const Response& response) const override {
    return list_text({response[0], response[1]});
  }
  std::string describe(const ModelState& state) const override { return list_text(state); }
};

struct Duty {
  static constexpr const char* kTypeName = "test.Duty";
  static constexpr uint32_t kTypeVersion = 1;
  struct alignas(kLineBytes) Doctor {
    SimHeap::Field<uint64_t> there;
  };
  Doctor doctor[2];
};

/// Two clients leave and return. Each reads both words and stores its own.
Linearization come_and_go(const std::string& engine, uint64_t seed, bool promote) {
  SimMachine machine(machine_for(engine, seed));
  auto heap = SimHeap::create(machine, heap_for(engine)).value();
  auto& doctor = heap->root<Duty>("duty").value()->doctor;
  const ModelState initial = {1, 1};
  heap->update([&] { doctor[0].there = doctor[1].there = 1; }).check();
  std::vector<Operation> operations;
  uint64_t clock = 0;
  machine.run_threads(2, [&](int worker) {
    for (int i = 0; i < kOperations; ++i) {
      const Request request{i % 2 == 0 ? DutyModel::kLeave : DutyModel::kReturn,
                            {static_cast<uint64_t>(worker)}};
      const uint64_t begin = ++clock;
      const auto body = [&] {
        if (promote) {
          doctor[1 - worker].there.promote();
        }
        const Response before = {doctor[0].there, doctor[1].there};
        if (request.kind == DutyModel::kReturn || before[0] + before[1] == 2) {
          doctor[worker].there = request.kind == DutyModel::kReturn ? 1 : 0;
        }
        return before;
      };
      const Response told = heap->update(body).value();
      operations.push_back({static_cast<uint32_t>(worker), begin, ++clock, request, told});
    }
  });
  const ModelState found = {heap->read([&] { return doctor[0].there.load(); }).value(),
                            heap->read([&] { return doctor[1].there.load(); }).value()};
  return check_linearizable(DutyModel(), initial, operations, &found);
}

/// Snapshot isolation does not promise an order of the answers to clients. Under it the oracle
/// finds skew, unless the transactions promote the words they read.
TEST(WorkloadsSkewTest, TheOracleFindsSkewWhereTheEngineAllowsIt) {
  const std::string skewed = first_engine(Isolation::snapshot);
  const std::string opaque = first_engine(Isolation::opaque);
  std::string found;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    if (found.empty()) {
      found = come_and_go(skewed, seed, false).text;
    }
    for (const auto& [engine, promote] : {std::pair(skewed, true), std::pair(opaque, false)}) {
      const Linearization judged = come_and_go(engine, seed, promote);
      EXPECT_TRUE(judged.ok) << engine << ", seed " << seed << "\n" << judged.text;
    }
  }
  EXPECT_NE(found.find("leave"), std::string::npos) << found;
}

}  // namespace
}  // namespace holdfast::testing::model_test
