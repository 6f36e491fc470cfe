// SPDX-License-Identifier: Apache-2.0
//
// Do workloads divide their work among partitions as they say, with their checks and their models?
// Runs on plain memory, with one thread in the place of several workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/workloads/registry.h"
#include "tests/workload_options.h"

namespace holdfast::testing::partitioned_test {
namespace {

using Given = std::map<std::string, std::string>;
constexpr int kParts = 3;
constexpr int kWorkers = 4;
constexpr int kPartShift = 59;  // of an acknowledgement's first word

bool has(const WorkloadInfo& info, const std::string& parameter) {
  return std::any_of(info.parameters.begin(), info.parameters.end(),
                     [&](const OptionInfo& p) { return p.name == parameter; });
}

/// The values of crash tests, which are small, and acknowledgements.
Given small(const WorkloadInfo& info) {
  Given given = {{"size", "20"}, {"relations", "20"}, {"scale", "4"}, {"degree", "4"}};
  std::erase_if(given, [&](const auto& row) { return !has(info, row.first); });
  for (const auto& [name, value] : tiny_parameters(info)) {
    given[name] = value;
  }
  if (has(info, "ack")) {
    given["ack"] = "1";
  }
  return given;
}

class WorkloadsPartitioned : public ::testing::TestWithParam<const WorkloadInfo*> {
 protected:
  std::unique_ptr<WorkloadInstance> make(const char* parameter) {
    Given given = small(*GetParam());
    given[parameter] = std::to_string(kParts);
    return make_from(SmallWorkloads{}, GetParam()->name, heap_,
                     Parameters::make(*GetParam(), given).value());
  }
  static uint64_t part_of(const OperationResult& result) {
    return result.acknowledgement[0] >> kPartShift;
  }

  PlainHeap heap_;
};

TEST_P(WorkloadsPartitioned, RunVerifyAndCheck) {
  auto workload = make("partitions");
  ASSERT_EQ(make("partitions")->attach().code(), Code::not_found);
  ASSERT_TRUE(workload->set_up(kWorkers, 7).ok());
  EXPECT_EQ(workload->set_up(kWorkers, 7).code(), Code::already_exists);
  Random random(11);
  std::set<uint64_t> used;
  std::vector<OperationResult> acknowledged;
  for (int i = 0; i < 600; ++i) {
    acknowledged.push_back(workload->operation(i % kWorkers, random));
    if (!acknowledged.back().read_only) {
      used.insert(part_of(acknowledged.back()));
    }
  }
  EXPECT_EQ(used.size(), size_t{kParts});
  workload = make("partitions");
  ASSERT_TRUE(workload->attach().ok());
  for (const OperationResult& result : acknowledged) {
    ASSERT_TRUE(workload->verify(result).ok()) << workload->verify(result).to_string();
  }
  EXPECT_TRUE(workload->check().ok()) << workload->check().to_string();
  size_t blocks = kParts;  // the root objects
  ASSERT_TRUE(workload->list_blocks([&](const void*, size_t) { ++blocks; }));
  EXPECT_EQ(blocks, heap_.live_blocks());
  OperationResult never = acknowledged.back();
  never.acknowledgement[0] = 1;
  never.acknowledgement[1] = 100'000;
  EXPECT_EQ(workload->verify(never).code(), Code::corrupt);
  never.acknowledgement[0] |= uint64_t{kParts} << kPartShift;
  EXPECT_EQ(workload->verify(never).code(), Code::corrupt);
}

TEST_P(WorkloadsPartitioned, AWorkerKeepsToItsCopy) {
  auto workload = make("copies");
  ASSERT_TRUE(workload->set_up(kWorkers, 7).ok());
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    const int worker = i % kWorkers;
    const OperationResult result = workload->operation(worker, random);
    if (result.acknowledgement[0] != 0) {
      EXPECT_EQ(part_of(result), static_cast<uint64_t>(worker % kParts));
    }
  }
  EXPECT_TRUE(workload->check().ok()) << workload->check().to_string();
}

// TPC-C is not among the small workloads. Its acknowledgements need all words.
TEST(TpccPartitioned, EachWorkerHasADatabaseOfItsOwn) {
  PlainHeap heap;
  // Plain memory rolls nothing back, as some new-orders ask for.
  const Given given = {{"copies", std::to_string(kParts)},
                       {"mix", "payment:60,order_status:20,delivery:20"},
                       {"items", "60"},
                       {"customers", "30"},
                       {"orders", "20"},
                       {"districts", "3"}};
  const auto make = [&] {
    const WorkloadInfo& info = TpccWorkload::info();
    return make_from(LargeWorkloads{}, "tpcc", heap, Parameters::make(info, given).value());
  };
  auto workload = make();
  ASSERT_TRUE(workload->set_up(kWorkers, 7).ok());
  EXPECT_EQ(workload->set_up(kWorkers, 7).code(), Code::already_exists);
  Random random(11);
  std::vector<OperationResult> acknowledged;
  for (int i = 0; i < 200; ++i) {
    const OperationResult result = workload->operation(i % kWorkers, random);
    if (result.acknowledgement[0] != 0) {
      EXPECT_EQ(result.acknowledgement[0] >> kPartShift,
                static_cast<uint64_t>(i % kWorkers % kParts));
      acknowledged.push_back(result);
    }
  }
  EXPECT_GT(acknowledged.size(), 100u);
  workload = make();
  ASSERT_TRUE(workload->attach().ok());
  OperationResult elsewhere;
  for (const OperationResult& result : acknowledged) {
    ASSERT_TRUE(workload->verify(result).ok()) << workload->verify(result).to_string();
    elsewhere = result.read_only ? elsewhere : result;
  }
  EXPECT_TRUE(workload->check().ok()) << workload->check().to_string();
  elsewhere.acknowledgement[0] |= uint64_t{7} << kPartShift;
  EXPECT_EQ(workload->verify(elsewhere).code(), Code::corrupt);
}

TEST_P(WorkloadsPartitioned, BehaveAsTheirModelsSay) {
  auto workload = make("partitions");
  ASSERT_TRUE(workload->set_up(kWorkers, 7).ok());
  EXPECT_EQ(workload->model() != nullptr, GetParam()->has_model);
  Random random(5);
  if (!GetParam()->has_model) {
    EXPECT_THROW(workload->draw(0, random), Error);
    EXPECT_THROW(workload->perform(0, {}), Error);
    EXPECT_FALSE(workload->observe().ok());
    return;
  }
  const SequentialModel& model = *workload->model();
  ModelState state = workload->observe().value();
  const size_t kinds = GetParam()->operations.size();
  for (int i = 0; i < 300; ++i) {
    const Request request = workload->draw(0, random);
    const OperationResult result = workload->perform(0, request);
    EXPECT_EQ(static_cast<size_t>(result.kind), static_cast<size_t>(request.kind) % kinds);
    const ModelState before = state;
    ASSERT_EQ(model.apply(request, state), result.response) << model.describe(request);
    ASSERT_EQ(workload->observe().value(), state) << model.describe(request);
    if (!model.may_change(request, result.response)) {
      ASSERT_EQ(state, before) << model.describe(request);
    }
    // The part of a key alone gives the same answer and the same state.
    auto parts = model.split(before);
    ASSERT_EQ(parts.size(), size_t{kParts});
    ModelState& part = parts.at(model.key(request));
    EXPECT_EQ(model.apply(request, part), result.response);
    EXPECT_EQ(part, model.split(state).at(model.key(request)));
  }
}

template <class... Rows>
std::vector<const WorkloadInfo*> infos_of(WorkloadList<Rows...>) {
  return {&Rows::info()...};
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadsPartitioned, ::testing::ValuesIn(infos_of(SmallWorkloads{})),
                         [](const auto& test) {
                           std::string name = test.param->name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(WorkloadsPartitionedParameters, EveryWorkloadHasThem) {
  for (const WorkloadInfo* info : workload_infos()) {
    EXPECT_TRUE(has(*info, "partitions") && has(*info, "copies")) << info->name;
  }
}

TEST(WorkloadsPartitionedParameters, ContradictionsAreRefused) {
  EXPECT_EQ(Parameters::partitions_in({}), 0);
  EXPECT_EQ(Parameters::partitions_in({{"partitions", "4"}}), 4);
  EXPECT_EQ(Parameters::partitions_in({{"copies", "5"}, {"partitions", "0"}}), 5);
  EXPECT_THROW(Parameters::partitions_in({{"copies", "5"}, {"partitions", "1"}}), Error);
  EXPECT_THROW(Parameters::partitions_in({{"partitions", "31"}}), Error);
  EXPECT_THROW(Parameters::partitions_in({{"copies", "-1"}}), Error);
}

TEST(WorkloadsPartitionedParameters, AStateThatIsNoneIsRefused) {
  PlainHeap heap;
  auto workload = make_from(SmallWorkloads{}, "map", heap,
                            Parameters::make(map_info(), {{"partitions", "2"}}).value());
  const ModelState cut = {0, 4, 1, 2};
  EXPECT_THROW(workload->model()->split(cut), std::out_of_range);
}

}  // namespace
}  // namespace holdfast::testing::partitioned_test
