// SPDX-License-Identifier: Apache-2.0
//
// Does tatp have the population and the mix of its description, and find as many rows as the
// description expects? Does its check notice each kind of damage?
#include "holdfast/workloads/tatp/tatp.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "holdfast/heap/plain_heap.h"

namespace holdfast::testing::tatp_test {
namespace {

using namespace tatp;  // NOLINT(google-build-using-namespace): the subject of this file
using Given = std::map<std::string, std::string>;

Parameters parameters(const Given& given) {
  return Parameters::make(tatp_info(), given).value();
}

/// The description: 1 to 4 rows of access info and facilities, each number equally
/// often; 85 % of the facilities are active; 0 to 3 forwardings, each number equally often.
TEST(TatpPopulationTest, TheRowsAreDistributedAsDescribed) {
  constexpr uint64_t kSubscribers = 4000;
  double infos = 0;
  double facilities = 0;
  double active = 0;
  double forwardings = 0;
  std::array<int, 5> with{};
  for (uint64_t s = 1; s <= kSubscribers; ++s) {
    const Population all = population_of(1, s);
    EXPECT_EQ(all.subscriber.number, s);
    size_t count = 0;
    for (size_t type = 0; type < kTypes; ++type) {
      infos += all.access[type].there != 0 ? 1 : 0;
      const Facility facility(all.facility[type]);
      count += facility.there() ? 1U : 0U;
      active += facility.active() ? 1 : 0;
      for (size_t start = 0; start < kStartTimes; ++start) {
        const uint64_t row = all.forwarding[type * kStartTimes + start];
        if (row != 0) {
          ASSERT_TRUE(facility.there());
          ASSERT_GE(Forwarding::of(row).end_time, start * kHours + 1);
          ASSERT_LE(Forwarding::of(row).end_time, start * kHours + kHours);
          ASSERT_LT(Forwarding::of(row).number, kDigits);
          forwardings += 1;
        }
      }
    }
    ++with[count];
    facilities += static_cast<double>(count);
  }
  EXPECT_EQ(with[0], 0);
  for (size_t count = 1; count <= kTypes; ++count) {
    EXPECT_NEAR(with[count], 1000, 137) << count;  // 5 sigma
  }
  EXPECT_NEAR(infos / kSubscribers, 2.5, 0.09);
  EXPECT_NEAR(facilities / kSubscribers, 2.5, 0.09);
  EXPECT_NEAR(active / facilities, 0.85, 0.018);
  EXPECT_NEAR(forwardings / facilities, 1.5, 0.056);
}

/// (random(0, A) | random(1, n)) mod n + 1. For n = 2^16 and A = 2^16 - 1, a bit of
/// the choice before adding 1 is set in three of four draws.
TEST(TatpPopulationTest, SubscribersAreChosenNonUniformly) {
  Random random(1);
  constexpr int kDraws = 20000;
  std::array<int, 16> set{};
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t subscriber = draw_subscriber(random, 1 << 16);
    ASSERT_TRUE(subscriber >= 1 && subscriber <= 1 << 16);
    for (size_t bit = 0; bit < set.size(); ++bit) {
      set[bit] += static_cast<int>((subscriber - 1) >> bit & 1);
    }
  }
  for (const int count : set) {
    EXPECT_NEAR(count, 0.75 * kDraws, 306) << "5 sigma, seed 1";
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(draw_subscriber(random, 1), 1U);
  }
}

/// The share of get_new_destination that finds a forwarding of an active facility. It follows from
/// the rules of the population and of the inputs: a facility has each number of forwardings equally
/// often, and one that begins at hour h ends at h + 1 to h + 8.
double share_of_destinations() {
  double sum = 0;
  for (unsigned set = 0; set < 1U << kStartTimes; ++set) {
    const std::array<double, 4> sets_of_size = {1, 3, 3, 1};
    const double weight = 0.25 / sets_of_size[static_cast<size_t>(std::popcount(set))];
    for (uint64_t start = 0; start < kStartTimes; ++start) {
      for (uint64_t end = 1; end <= 24; ++end) {
        double none = 1;
        for (uint64_t i = 0; i <= start; ++i) {
          const uint64_t first = i * kHours + 1;
          const uint64_t later = first + kHours - 1 <= end ? 0
                                 : end < first             ? kHours
                                                           : first + kHours - 1 - end;
          none *= (set >> i & 1) != 0 ? 1 - static_cast<double>(later) / kHours : 1;
        }
        sum += weight * (1 - none) / (kStartTimes * 24);
      }
    }
  }
  return sum;
}

/// The mix, and the share of transactions that find their rows. A subscriber has a row of a type in
/// 2.5 of 4 cases, and a facility has a forwarding at a time in 1.5 of 3.
TEST(TatpTest, TheStandardMixFindsAsManyRowsAsDescribed) {
  struct Expected {
    double share;
    double success;
  };
  // 5 sigma of 30,000 draws is at most 1.4 % for a share.
  const std::array<Expected, kKinds> expected = {{{0.35, 1.0},
                                                  {0.10, 0.625 * 0.85 * share_of_destinations()},
                                                  {0.35, 0.625},
                                                  {0.02, 0.625},
                                                  {0.14, 1.0},
                                                  {0.02, 0.3125},
                                                  {0.02, 0.3125}}};
  constexpr int kTransactions = 30000;
  PlainHeap heap;
  Tatp<PlainHeap> workload(heap, parameters({{"subscribers", "5000"}}));
  workload.set_up(1, 1).check();
  Random random(2);
  std::array<double, kKinds> count{};
  std::array<double, kKinds> success{};
  for (int i = 0; i < kTransactions; ++i) {
    const OperationResult result = workload.operation(0, random);
    const auto kind = static_cast<size_t>(result.kind);
    count[kind] += 1;
    success[kind] += result.response[result.read_only ? 1 : 0] != 0 ? 1 : 0;
  }
  for (size_t kind = 0; kind < expected.size(); ++kind) {
    EXPECT_NEAR(count[kind] / kTransactions, expected[kind].share, 0.014) << kOperations[kind];
    EXPECT_NEAR(success[kind] / count[kind], expected[kind].success,
                2.5 / std::sqrt(count[kind]))  // 5 sigma
        << kOperations[kind];
  }
  EXPECT_TRUE(workload.check().ok()) << workload.check().to_string();
}

TEST(TatpTest, NonsenseIsRefused) {
  PlainHeap heap;
  for (const Given& wrong : {Given{{"subscribers", "0"}}, Given{{"mix", "read:1"}},
                             Given{{"mix", ""}}, Given{{"ack", "2"}}}) {
    EXPECT_THROW(Tatp<PlainHeap>(heap, parameters(wrong)), Error) << wrong.begin()->first;
  }
}

class TatpDamageTest : public ::testing::Test {
 protected:
  TatpDamageTest() : workload_(heap_, parameters({{"subscribers", "20"}})) {
    workload_.set_up(1, 1).check();
    Random random(5);
    for (int i = 0; i < 500; ++i) {
      workload_.operation(0, random);
    }
    EXPECT_TRUE(workload_.check().ok()) << workload_.check().to_string();
    root_ = heap_.find_root<TatpRoot<PlainHeap>>("tatp").value();
  }

  void expect_noticed(const std::string& text) {
    const Status status = workload_.check();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
  template <class F>
  void change(F&& f) {
    heap_.update([&] { f(*root_); }).check();
  }

  PlainHeap heap_;
  Tatp<PlainHeap> workload_;
  TatpRoot<PlainHeap>* root_ = nullptr;
};

TEST_F(TatpDamageTest, EachWrongColumnOfASubscriberIsNoticed) {
  auto& row = root_->subscriber.load()[3].word;
  for (int w = 0; w < 6; ++w) {
    row[w] = row[w] ^ uint64_t { 1 } << 40;
    expect_noticed("subscriber 4 has");
    row[w] = row[w] ^ uint64_t { 1 } << 40;
  }
  EXPECT_TRUE(workload_.check().ok());
}

TEST_F(TatpDamageTest, WrongRowsOfTheOtherTablesAreNoticed) {
  root_->access.load()[11] += 1;
  expect_noticed("subscriber 2 has wrong access info");
  root_->access.load()[11] -= 1;
  root_->facility.load()[5] = root_->facility.load()[5] ^ 2;
  expect_noticed("subscriber 2 has a wrong special facility");
}

TEST_F(TatpDamageTest, AWrongIndexIsNoticed) {
  change([](auto& root) { root.index->put(7, 8); });
  expect_noticed("subscriber 7 is not in the index");
  change([](auto& root) {
    root.index->put(7, 7);
    root.index->put(21, 7);
  });
  expect_noticed("numbers of no subscriber");
}

TEST_F(TatpDamageTest, WrongForwardingsAreNoticed) {
  change([](auto& root) { root.forwarding.put(20 * 12, 1); });
  expect_noticed("has no special facility");
  change([](auto& root) { root.forwarding.erase(20 * 12); });
  uint64_t place = 0;
  while (!Facility(root_->facility.load()[place]).there()) {
    ++place;
  }
  change([&](auto& root) { root.forwarding.put(place * 3, 25); });
  expect_noticed("has a wrong time or number");
}

}  // namespace
}  // namespace holdfast::testing::tatp_test
