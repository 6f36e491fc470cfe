// SPDX-License-Identifier: Apache-2.0
//
// Are mixes and sizes understood, and nonsense refused?
#include "holdfast/workloads/tpcc/data/options.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "holdfast/workloads/tpcc/data/inputs.h"

namespace holdfast::tpcc::options_test {
namespace {

using PerKind = std::array<uint32_t, kKinds>;

PerKind weights_of(const char* name) {
  const Mix mix = parse_mix(name).value();
  PerKind weights{};
  for (size_t kind = 0; kind < weights.size(); ++kind) {
    weights[kind] = mix.weights[kind];
  }
  return weights;
}

std::array<int, kKinds> frequencies(const Mix& mix, int worker) {
  std::array<int, kKinds> count{};
  Random random(11);
  for (int i = 0; i < 100'000; ++i) {
    ++count[mix.choose(worker, random)];
  }
  return count;
}

Settings settings(const std::map<std::string, std::string>& given) {
  return read_settings(Parameters::make(info(), given).value());
}

TEST(TpccOptions, StandardMixHasTheStandardsShares) {
  const auto count = frequencies(parse_mix("standard").value(), 0);
  const std::array<int, kKinds> percent = {45, 43, 4, 4, 4};
  for (size_t kind = 0; kind < kKinds; ++kind) {
    EXPECT_NEAR(count[kind], percent[kind] * 1000, 700) << kind;
  }
}

TEST(TpccOptions, ThePapersMixes) {
  // new-order, payment, order-status, delivery, stock-level
  EXPECT_EQ(weights_of("fur-ro"), (PerKind{5, 5, 43, 5, 42}));
  EXPECT_EQ(weights_of("fur-upd"), (PerKind{42, 43, 5, 5, 5}));
  EXPECT_EQ(weights_of("orderstatus95-payment5"), (PerKind{0, 5, 95, 0, 0}));
  for (const auto& [name, kind] : {std::pair{"neworder", kNewOrder},
                                   {"payment", kPayment},
                                   {"orderstatus", kOrderStatus},
                                   {"delivery", kDelivery},
                                   {"stocklevel", kStockLevel}}) {
    EXPECT_EQ(frequencies(parse_mix(name).value(), 3)[kind], 100'000) << name;
  }
}

TEST(TpccOptions, OneWorkerPaysAndTheOthersAskForOrders) {
  const Mix mix = parse_mix("payment-orderstatus").value();
  EXPECT_EQ(frequencies(mix, 0)[kPayment], 100'000);
  EXPECT_EQ(frequencies(mix, 1)[kOrderStatus], 100'000);
}

TEST(TpccOptions, FursDetailsChooseCustomersByNumber) {
  const auto by_name = [](const char* detail) {
    const Settings s = settings({{"detail", detail}});
    const NurandConstants constants;
    Random random(3);
    Terminal terminal(s, constants, 1, 1, random);
    int count = 0;
    for (int i = 0; i < 1000; ++i) {
      count += terminal.order_status().customer.number == 0 ? 1 : 0;
      count += terminal.payment().customer.number == 0 ? 1 : 0;
    }
    return count;
  };
  EXPECT_NEAR(by_name("standard"), 1200, 100);
  EXPECT_EQ(by_name("fur"), 0);
  EXPECT_THROW(settings({{"detail", "some"}}), Error);
}

TEST(TpccOptions, ExplicitWeights) {
  EXPECT_EQ(weights_of("payment:1,stock_level:3"), (PerKind{0, 1, 0, 0, 3}));
}

TEST(TpccOptions, NonsenseIsRefusedWithTheRightNames) {
  for (const char* text : {"", "standart", "new_order", "new_order:", "new_order:x", "neworder:5",
                           "payment:0", "payment:-1", "payment:5 ", "payment:5,,"}) {
    const auto mix = parse_mix(text);
    ASSERT_FALSE(mix.ok()) << text;
    EXPECT_NE(mix.status().message().find("orderstatus95-payment5"), std::string::npos);
  }
  EXPECT_FALSE(parse_home("away").ok());
  EXPECT_THROW(settings({{"warehouses", "0"}}), Error);
  EXPECT_THROW(settings({{"customers", "3001"}}), Error);
  EXPECT_THROW(settings({{"mix", "none"}}), Error);
}

TEST(TpccOptions, DefaultsAreTheStandards) {
  const Settings s = settings({});
  EXPECT_EQ(s.scale.warehouses, 1u);
  EXPECT_EQ(s.scale.districts, 10u);
  EXPECT_EQ(s.scale.items, 100'000u);
  EXPECT_EQ(s.scale.customers, 3000u);
  EXPECT_EQ(s.scale.orders, 3000u);
  EXPECT_EQ(s.scale.delivered(), 2100u);
  EXPECT_EQ(s.scale.last_names(), 1000u);
  EXPECT_EQ(s.stock_level_orders, 20u);
  EXPECT_EQ(s.home, Home::uniform);
}

class TpccInputs : public ::testing::Test {
 protected:
  /// Calls f(terminal) for many transactions of a terminal of warehouse 2.
  template <class F>
  void draw(const Settings& s, F&& f) {
    Random random(12);
    const NurandConstants constants = choose_constants(random);
    for (int i = 0; i < kDraws; ++i) {
      Terminal terminal(s, constants, 2, 77, random);
      f(terminal);
    }
  }
  static constexpr int kDraws = 20'000;
};

TEST_F(TpccInputs, NewOrderHasRemoteLinesAndRollbacks) {
  int lines = 0;
  int remote = 0;
  int unused = 0;
  draw(settings({{"warehouses", "4"}}), [&](Terminal& terminal) {
    const auto input = terminal.new_order();
    ASSERT_GE(input.line_count, 5u);
    ASSERT_LE(input.line_count, 15u);
    for (uint32_t i = 0; i < input.line_count; ++i) {
      ++lines;
      const auto& line = input.lines[i];
      remote += line.supply_warehouse != 2 ? 1 : 0;
      ASSERT_GE(line.supply_warehouse, 1u);
      ASSERT_LE(line.supply_warehouse, 4u);
      ASSERT_GE(line.quantity, 1u);
      ASSERT_LE(line.quantity, 10u);
      const bool bad = line.item == 100'001;
      ASSERT_TRUE(!bad || i + 1 == input.line_count) << "only the last item may be unused";
      unused += bad ? 1 : 0;
    }
  });
  EXPECT_NEAR(lines, 10 * kDraws, 0.1 * kDraws);
  EXPECT_NEAR(remote, 0.01 * lines, 0.002 * lines);
  EXPECT_NEAR(unused, 0.01 * kDraws, 0.003 * kDraws);
}

TEST_F(TpccInputs, PaymentIsByNameAndRemoteAsOftenAsItShould) {
  int by_name = 0;
  int remote = 0;
  draw(settings({{"warehouses", "4"}}), [&](Terminal& terminal) {
    const auto input = terminal.payment();
    by_name += input.customer.number == 0 ? 1 : 0;
    remote += input.customer.warehouse != 2 ? 1 : 0;
    ASSERT_EQ(input.warehouse, 2u);
    ASSERT_TRUE(input.customer.warehouse != 2 || input.customer.district == input.district);
    ASSERT_GE(input.amount, 100);
    ASSERT_LE(input.amount, 500'000);
  });
  EXPECT_NEAR(by_name, 0.60 * kDraws, 0.02 * kDraws);
  EXPECT_NEAR(remote, 0.15 * kDraws, 0.02 * kDraws);
}

TEST_F(TpccInputs, DisjointWorkersStayAtHome) {
  draw(settings({{"warehouses", "4"}, {"home", "disjoint"}}), [&](Terminal& terminal) {
    const auto order = terminal.new_order();
    for (uint32_t i = 0; i < order.line_count; ++i) {
      ASSERT_EQ(order.lines[i].supply_warehouse, 2u);
    }
    ASSERT_EQ(terminal.payment().customer.warehouse, 2u);
  });
}

TEST_F(TpccInputs, SmallPopulationsAreAskedForOnlyWhatTheyHave) {
  draw(settings({{"warehouses", "2"}, {"customers", "7"}, {"items", "15"}, {"districts", "2"}}),
       [&](Terminal& terminal) {
         const auto input = terminal.order_status().customer;
         ASSERT_LE(input.district, 2u);
         ASSERT_LE(input.number, 7u);
         ASSERT_TRUE(input.number != 0 || last_name_number(input.last.view()) < 7);
         const auto level = terminal.stock_level();
         ASSERT_GE(level.threshold, 10);
         ASSERT_LE(level.threshold, 20);
       });
}

}  // namespace
}  // namespace holdfast::tpcc::options_test
