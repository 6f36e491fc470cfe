// SPDX-License-Identifier: Apache-2.0
//
// Do the small workloads set up, run, verify and check as they say, and do their checks notice
// damage? Runs on plain memory, with one thread in the place of several workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/workloads/registry.h"

namespace holdfast::testing::small_test {
namespace {

using Given = std::map<std::string, std::string>;

struct Case {
  const WorkloadInfo* info;
  Given given;
};

std::string name_of(const ::testing::TestParamInfo<Case>& test) {
  std::string name = test.param.info->name;
  for (const auto& [key, value] : test.param.given) {
    name.append("_").append(key).append("_").append(value);
  }
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::unique_ptr<WorkloadInstance> make(const WorkloadInfo& info, PlainHeap& heap,
                                       const Given& given) {
  const Parameters parameters = Parameters::make(info, given).value();
  return make_from(SmallWorkloads{}, info.name, heap, parameters);
}

class WorkloadsSmallTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int kWorkers = 3;
  WorkloadsSmallTest() : workload_(make(*GetParam().info, heap_, GetParam().given)) {}

  PlainHeap heap_;
  std::unique_ptr<WorkloadInstance> workload_;
};

TEST_P(WorkloadsSmallTest, RunsVerifiesAndChecks) {
  Given given = GetParam().given;
  for (const OptionInfo& parameter : GetParam().info->parameters) {
    if (std::string(parameter.name) == "removes") {  // none by default
      given["removes"] = "20";
    }
  }
  workload_ = make(*GetParam().info, heap_, given);
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  ASSERT_TRUE(workload_->check().ok()) << workload_->check().to_string();
  Random random(11);
  std::set<int> kinds;
  std::vector<OperationResult> acknowledged;
  for (int i = 0; i < 6000; ++i) {
    const OperationResult result = workload_->operation(i % kWorkers, random);
    ASSERT_GE(result.kind, 0);
    ASSERT_LT(static_cast<size_t>(result.kind), workload_->info().operations.size());
    EXPECT_TRUE(result.committed);
    kinds.insert(result.kind);
    acknowledged.push_back(result);
  }
  EXPECT_EQ(kinds.size(), workload_->info().operations.size()) << "not every kind of operation ran";
  for (const OperationResult& result : acknowledged) {
    ASSERT_TRUE(workload_->verify(result).ok()) << workload_->verify(result).to_string();
  }
  EXPECT_TRUE(workload_->check().ok()) << workload_->check().to_string();
}

TEST_P(WorkloadsSmallTest, AnotherInstanceAttaches) {
  auto second = make(*GetParam().info, heap_, GetParam().given);
  EXPECT_EQ(second->attach().code(), Code::not_found);
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  Random random(12);
  OperationResult last;
  for (int i = 0; i < 500; ++i) {
    last = workload_->operation(i % kWorkers, random);
  }
  workload_.reset();
  ASSERT_TRUE(second->attach().ok());
  EXPECT_TRUE(second->verify(last).ok());
  for (int i = 0; i < 500; ++i) {
    second->operation(i % kWorkers, random);
  }
  EXPECT_TRUE(second->check().ok());
}

TEST_P(WorkloadsSmallTest, ListsEveryBlock) {
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  Random random(13);
  for (int i = 0; i < 3000; ++i) {
    workload_->operation(i % kWorkers, random);
  }
  size_t blocks = 1;  // the root object
  ASSERT_TRUE(workload_->list_blocks([&](const void*, size_t) { ++blocks; }));
  EXPECT_EQ(blocks, heap_.live_blocks());
}

TEST_P(WorkloadsSmallTest, SetUpTwiceIsRefused) {
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  EXPECT_EQ(workload_->set_up(kWorkers, 7).code(), Code::already_exists);
}

TEST_P(WorkloadsSmallTest, AnUnknownWorkerIsRefused) {
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  Random random(14);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(workload_->operation(kWorkers, random), Error);
  }
  EXPECT_TRUE(workload_->check().ok());
}

/// With acknowledgements, updates name their worker and count up, and a lost one is noticed.
TEST_P(WorkloadsSmallTest, VerifyNoticesWhatIsMissing) {
  Given given = GetParam().given;
  for (const OptionInfo& parameter : GetParam().info->parameters) {
    if (std::string(parameter.name) == "ack") {  // a workload without it always acknowledges
      given["ack"] = "1";
    }
  }
  workload_ = make(*GetParam().info, heap_, given);
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  Random random(15);
  uint64_t last[kWorkers] = {};
  for (int i = 0; i < 900; ++i) {
    const OperationResult result = workload_->operation(i % kWorkers, random);
    if (!result.read_only) {
      ASSERT_EQ(result.acknowledgement[0], static_cast<uint64_t>(i % kWorkers) + 1);
      ASSERT_EQ(result.acknowledgement[1], ++last[i % kWorkers]);
    }
    ASSERT_TRUE(workload_->verify(result).ok());
  }
  OperationResult never;
  never.acknowledgement[0] = 2;
  never.acknowledgement[1] = last[1] + 1;
  const Status missing = workload_->verify(never);
  EXPECT_EQ(missing.code(), Code::corrupt);
  EXPECT_NE(missing.message().find("worker 1"), std::string::npos) << missing.message();
  never.acknowledgement[0] = 77;
  EXPECT_EQ(workload_->verify(never).code(), Code::corrupt);
}

TEST_P(WorkloadsSmallTest, TheSameSeedRunsTheSame) {
  ASSERT_TRUE(workload_->set_up(kWorkers, 7).ok());
  PlainHeap other_heap;
  auto other = make(*GetParam().info, other_heap, GetParam().given);
  ASSERT_TRUE(other->set_up(kWorkers, 7).ok());
  Random a(5);
  Random b(5);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(workload_->operation(0, a).kind, other->operation(0, b).kind);
  }
  EXPECT_EQ(heap_.live_blocks(), other_heap.live_blocks());
}

template <class... Rows>
std::vector<Case> by_default(WorkloadList<Rows...>) {
  return {Case{&Rows::info(), {}}...};
}

/// Sizes for workloads that are large by default.
const std::map<std::string, Given>& scaled() {
  static const std::map<std::string, Given> all = {
      {"hash-update", {{"entries", "1000"}}},
      {"rbtree-insert", {{"size", "500"}}},
      {"vacation", {{"relations", "50"}}},
      {"ssca2", {{"scale", "5"}, {"degree", "8"}}},
      {"array-swap", {{"entries", "100"}}},
      {"array-stream", {{"entries", "500"}}},
      {"binary-heap", {{"size", "500"}}},
      {"linked-list", {{"bytes", "80"}}},
      {"huge", {{"lines", "50"}}},
      {"hash-table", {{"size", "500"}, {"bytes", "80"}}},
      {"bplus-tree", {{"size", "500"}, {"node", "128"}}},
      {"rb-tree", {{"size", "500"}, {"bytes", "80"}}},
      {"sdg", {{"scale", "5"}, {"degree", "8"}, {"bytes", "72"}}},
      {"ycsb",
       {{"records", "300"},
        {"bytes", "80"},
        {"mix", "read:2,update:2,insert:1,scan:1,rmw:1"},
        {"scan", "20"}}},
      {"tatp", {{"subscribers", "100"}}},
  };
  return all;
}

/// All small workloads as they are by default, and settings of some that take other paths. Presets
/// have tests of their own (preset_test.cc).
std::vector<Case> cases() {
  std::vector<Case> all = by_default(SmallWorkloads{});
  std::erase_if(all, [](const Case& c) { return c.info->preset_of != nullptr; });
  for (Case& c : all) {
    if (const auto found = scaled().find(c.info->name); found != scaled().end()) {
      c.given = found->second;
    }
  }
  const std::vector<Case> settings = {
      {&sps_info(), {{"swaps", "8"}}},
      {&map_info(), {{"structure", "fixed"}}},
      {&map_info(), {{"structure", "rbtree"}}},
      {&map_info(), {{"structure", "btree"}}},
      {&map_info(), {{"structure", "btree"}, {"keys", "zipf"}, {"skew", "2"}}},
      {&map_info(), {{"pairs", "1"}}},
      {&map_info(), {{"structure", "fixed"}, {"buckets", "64"}}},
      {&intset_info(), {{"writers", "1"}}},
      {&list_info(), {{"size", "50"}, {"pairs", "1"}}},
      {&ring_info(), {{"nodes", "3"}}},
      {&hash_update_info(), {{"entries", "5"}, {"updates", "63"}, {"reads", "50"}}},
      {&hash_update_info(), {{"entries", "50"}, {"reads", "100"}}},
      {&array_swap_info(), {{"entries", "2"}, {"bytes", "8"}}},
      {&array_stream_info(), {{"entries", "10"}, {"elements", "3"}, {"bytes", "72"}}},
      {&binary_heap_info(), {{"size", "3"}, {"capacity", "4"}, {"bytes", "8"}}},
      {&huge_info(), {{"lines", "7"}, {"regions", "3"}, {"bytes", "8"}}},
      {&hash_table_info(), {{"size", "50"}, {"structure", "growing"}, {"bytes", "8"}}},
      {&sdg_info(), {{"scale", "1"}, {"degree", "1"}, {"bytes", "8"}}},
      {&vacation::vacation_info(), {{"relations", "20"}, {"contention", "high"}, {"users", "50"}}},
  };
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadsSmallTest, ::testing::ValuesIn(cases()), name_of);

TEST(WorkloadsParametersTest, NonsenseIsRefusedByName) {
  PlainHeap heap;
  EXPECT_EQ(make_from(SmallWorkloads{}, "tpcc", heap, Parameters()), nullptr);
  EXPECT_FALSE(Parameters::make(bank_info(), {{"acounts", "3"}}).ok());
  EXPECT_THROW(make(map_info(), heap, {{"structure", "heap"}}), Error);
  EXPECT_THROW(make(intset_info(), heap, {{"size", "0"}}), Error);
  EXPECT_THROW(make(intset_info(), heap, {{"size", "10"}, {"range", "9"}}), Error);
  EXPECT_THROW(make(intset_info(), heap, {{"update", "101"}}), Error);
  EXPECT_THROW(make(map_info(), heap, {{"buckets", "-1"}}), Error);
  EXPECT_THROW(make(intset_info(), heap, {{"pairs", "2"}}), Error);
  EXPECT_THROW(make(list_info(), heap, {{"writers", "-1"}}), Error);
  EXPECT_THROW(make(ring_info(), heap, {{"nodes", "2"}}), Error);
  EXPECT_THROW(make(bank_info(), heap, {{"ack", "2"}}), Error);
}

TEST(WorkloadsParametersTest, ExactlyOneVariantOfTheRootFits) {
  EXPECT_EQ(root_variants(bank_info()), std::vector<Given>(1)) << "no parameter decides its root";
  const std::vector<Given> variants = root_variants(map_info());
  ASSERT_EQ(variants.size(), kMapStructures.size());
  for (const Given& made : variants) {
    PlainHeap heap;
    ASSERT_TRUE(make(map_info(), heap, made)->set_up(1, 7).ok());
    for (const Given& tried : variants) {
      const Status status = make(map_info(), heap, tried)->attach();
      EXPECT_EQ(status.code(), tried == made ? Code::ok : Code::type_mismatch)
          << made.at("structure") << " tried as " << tried.at("structure");
    }
  }
}

TEST(WorkloadsParametersTest, PairsEraseWhatIsThereAndAddItAgain) {
  PlainHeap heap;
  auto workload = make(intset_info(), heap, {{"size", "50"}, {"pairs", "1"}, {"update", "60"}});
  ASSERT_TRUE(workload->set_up(2, 1).ok());
  Random random(3);
  std::set<uint64_t> present;
  for (uint64_t key = 0; key < 50; ++key) {
    present.insert(key);
  }
  std::optional<uint64_t> erased[2];
  int pairs = 0;
  for (int i = 0; i < 3000; ++i) {
    const int worker = i % 2;
    const Request request = workload->draw(worker, random);
    const uint64_t key = request.argument[0];
    const uint64_t answer = workload->perform(worker, request).response[0];
    std::optional<uint64_t>& gone = erased[worker];
    if (gone) {
      ASSERT_EQ(request.kind, KeyedModel::kAdd);
      EXPECT_EQ(key, *gone);
      EXPECT_EQ(answer, present.insert(key).second);
      gone.reset();
      ++pairs;
    } else if (request.kind == KeyedModel::kErase) {
      EXPECT_EQ(answer, present.erase(key));
      gone = key;
    } else {
      ASSERT_EQ(request.kind, KeyedModel::kLookUp);
      EXPECT_EQ(answer != 0, present.contains(key));
    }
  }
  EXPECT_GT(pairs, 500);
}

TEST(WorkloadsParametersTest, WritersUpdateAndTheOthersLookUp) {
  PlainHeap heap;
  auto workload = make(map_info(), heap, {{"writers", "2"}, {"update", "0"}});
  ASSERT_TRUE(workload->set_up(5, 1).ok());
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(workload->operation(i % 5, random).read_only, i % 5 >= 2);
  }
}

TEST(WorkloadsParametersTest, ThePercentageIsWhatRuns) {
  for (const char* percent : {"0", "100", "25"}) {
    PlainHeap heap;
    auto workload = make(intset_info(), heap, {{"update", percent}});
    workload->set_up(1, 1).check();
    Random random(3);
    int updates = 0;
    for (int i = 0; i < 4000; ++i) {
      updates += workload->operation(0, random).read_only ? 0 : 1;
    }
    EXPECT_NEAR(updates, 40 * std::stoi(percent), 150) << percent << " %, seed 3";
  }
}

/// Damages the workload's data behind its back, through its root.
template <class Root, class F>
void damage(PlainHeap& heap, const WorkloadInfo& info, F&& harm) {
  Root* root = heap.find_root<Root>(info.name).value();
  heap.update([&] { harm(*root); }).check();
}

TEST(WorkloadsDamageTest, BankNoticesMoneyFromNowhere) {
  PlainHeap heap;
  auto workload = make(bank_info(), heap, {{"audit", "100"}});
  workload->set_up(1, 1).check();
  damage<BankRoot<PlainHeap>>(heap, bank_info(), [](auto& root) { root.account.load()[3] += 1; });
  EXPECT_EQ(workload->check().code(), Code::corrupt);
  Random random(1);
  EXPECT_THROW(workload->operation(0, random), Error);
}

TEST(WorkloadsDamageTest, RingNoticesTwoCyclesAndALeavingLink) {
  for (const bool leave : {false, true}) {
    PlainHeap heap;
    auto workload = make(ring_info(), heap, {{"walk", "100"}});
    workload->set_up(1, 1).check();
    RingRoot<PlainHeap>::Node outside{};
    outside.next = &outside;
    damage<RingRoot<PlainHeap>>(heap, ring_info(), [&](auto& root) {
      auto* node = root.node.load();
      node[20].next = leave ? &outside : &node[10];
    });
    EXPECT_EQ(workload->check().code(), Code::corrupt);
    Random random(1);
    EXPECT_THROW(workload->operation(0, random), Error);
  }
}

TEST(WorkloadsDamageTest, SpsNoticesADoubledWord) {
  PlainHeap heap;
  auto workload = make(sps_info(), heap, {});
  workload->set_up(1, 1).check();
  damage<SpsRoot<PlainHeap>>(heap, sps_info(), [](auto& root) { root.word.load()[3] = 4; });
  EXPECT_EQ(workload->check().code(), Code::corrupt);
}

TEST(WorkloadsDamageTest, RegistersNoticesAWriteAheadOfItsCounter) {
  PlainHeap heap;
  auto workload = make(registers_info(), heap, {{"scan", "100"}});
  workload->set_up(2, 1).check();
  damage<RegistersRoot<PlainHeap>>(heap, registers_info(), [](auto& root) {
    root.word.load()[3].value = uint64_t{2} << 40 | 1;  // worker 1 has written nothing yet
  });
  EXPECT_EQ(workload->check().code(), Code::corrupt);
  Random random(1);
  EXPECT_THROW(workload->operation(0, random), Error);
}

TEST(WorkloadsDamageTest, SetsAndMapsNoticeAWrongEntry) {
  {
    PlainHeap heap;
    auto workload = make(intset_info(), heap, {});
    workload->set_up(1, 1).check();
    damage<IntSetRoot<PlainHeap>>(heap, intset_info(), [](auto& root) { root.set.put(5, 5); });
    EXPECT_EQ(workload->check().code(), Code::corrupt);
  }
  {
    PlainHeap heap;
    auto workload = make(list_info(), heap, {});
    workload->set_up(1, 1).check();
    damage<ListRoot<PlainHeap>>(heap, list_info(), [](auto& root) { root.set.insert(-5); });
    EXPECT_EQ(workload->check().code(), Code::corrupt);
  }
  {
    PlainHeap heap;
    auto workload = make(map_info(), heap, {});
    workload->set_up(1, 1).check();
    using Root = MapRoot<PlainHeap, HashMap<PlainHeap, int64_t, uint64_t>>;
    damage<Root>(heap, map_info(), [](auto& root) { root.map.put(5, 5); });
    EXPECT_EQ(workload->check().code(), Code::corrupt);
  }
}

}  // namespace
}  // namespace holdfast::testing::small_test
