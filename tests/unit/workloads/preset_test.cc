// SPDX-License-Identifier: Apache-2.0
//
// Is a preset the workload that it names, with other fallbacks? Runs on plain memory.
#include "holdfast/workloads/parts/preset.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/workloads/registry.h"

namespace holdfast::testing::preset_test {
namespace {

using Given = std::map<std::string, std::string>;

/// The parameters of a preset, all of which its workload must understand.
Given parameters_of(const WorkloadInfo& info, const Given& given) {
  return Parameters::make(info, given).value().all();
}

std::unique_ptr<WorkloadInstance> make(const std::string& name, PlainHeap& heap,
                                       const Given& given) {
  const WorkloadInfo& info = *find_workload(name).value();
  return make_from(SmallWorkloads{}, name, heap, Parameters::make(info, given).value());
}

/// Whether the workload's first kind of operation only looks a key up.
bool looks_up(const WorkloadInfo& info) {
  return std::string(info.operations.front()).starts_with("look");
}

TEST(WorkloadsPresetTest, APresetDiffersFromItsWorkloadInFallbacksOnly) {
  size_t presets = 0;
  for (const WorkloadInfo* info : workload_infos()) {
    if (info->preset_of == nullptr) {
      continue;
    }
    ++presets;
    const WorkloadInfo& base = *find_workload(info->preset_of).value();
    EXPECT_EQ(base.preset_of, nullptr) << info->name;
    EXPECT_EQ(info->operations, base.operations) << info->name;
    EXPECT_EQ(info->has_model, base.has_model) << info->name;
    EXPECT_EQ(info->operations_only, base.operations_only) << info->name;
    ASSERT_EQ(info->parameters.size(), base.parameters.size()) << info->name;
    size_t others = 0;
    for (size_t i = 0; i < base.parameters.size(); ++i) {
      EXPECT_STREQ(info->parameters[i].name, base.parameters[i].name);
      others += info->parameters[i].fallback != std::string(base.parameters[i].fallback) ? 1U : 0U;
    }
    EXPECT_GT(others, 0U) << info->name << " is " << base.name;
    EXPECT_NE(std::string(info->title).find(base.name), std::string::npos)
        << "the title of " << info->name << " tells its workload";
  }
  EXPECT_EQ(presets, 4U);
}

/// Either name opens the other's heap, and the operations are the same ones.
TEST(WorkloadsPresetTest, APresetRunsAsItsWorkloadDoes) {
  const std::map<std::string, Given> small = {{"hash-map", {{"size", "50"}, {"bytes", "24"}}},
                                              {"btree-zipf", {{"size", "50"}}},
                                              {"rbtree-zipf", {{"size", "50"}}}};
  for (const auto& [name, given] : small) {
    const WorkloadInfo& info = *find_workload(name).value();
    PlainHeap heap;
    PlainHeap other_heap;
    auto preset = make(name, heap, given);
    auto other = make(info.preset_of, other_heap, parameters_of(info, given));
    ASSERT_TRUE(preset->set_up(2, 7).ok());
    ASSERT_TRUE(other->set_up(2, 7).ok());
    Random random(5);
    Random same(5);
    std::set<int> kinds;
    for (int i = 0; i < 500; ++i) {
      const Request request = preset->draw(i % 2, random);
      ASSERT_EQ(request, other->draw(i % 2, same)) << name;
      kinds.insert(request.kind);
      ASSERT_EQ(preset->perform(i % 2, request).response, other->perform(i % 2, request).response);
    }
    EXPECT_FALSE(kinds.contains(KeyedModel::kLookUp) && looks_up(info)) << name;
    EXPECT_EQ(preset->observe().value(), other->observe().value());
    auto attached = make(info.preset_of, heap, parameters_of(info, given));
    EXPECT_TRUE(attached->attach().ok());
    EXPECT_TRUE(attached->check().ok());
  }
}

/// A check of a heap without a description tries each type of a workload's root. A preset has one.
TEST(WorkloadsPresetTest, APresetDecidesTheTypeOfTheRoot) {
  EXPECT_EQ(root_variants(*find_workload("hash-map").value()), std::vector<Given>(1));
  EXPECT_EQ(root_variants(*find_workload("btree-zipf").value()), std::vector<Given>(1));
}

TEST(WorkloadsPresetTest, AnUnknownParameterIsRefused) {
  EXPECT_THROW(preset_of(bank_info(), "rich-bank", "a preset of bank", {{"acounts", "3"}}), Error);
}

TEST(WorkloadsPresetTest, NewOrdersRunAlone) {
  const WorkloadInfo& info = *find_workload("tpcc-neworder").value();
  EXPECT_EQ(Parameters::make(info, {}).value().text("mix"), "neworder");
  EXPECT_EQ(Parameters::make(info, {{"mix", "payment"}}).value().text("mix"), "payment");
}

}  // namespace
}  // namespace holdfast::testing::preset_test
