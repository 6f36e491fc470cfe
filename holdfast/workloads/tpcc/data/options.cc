// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/data/options.h"

#include <utility>

#include "holdfast/workloads/tpcc/data/keys.h"

namespace holdfast::tpcc {
namespace {

struct NamedMix {
  const char* name;
  std::array<uint32_t, kKinds> weights;
  bool first_worker_pays = false;
};

// Weights in the order new-order, payment, order-status, delivery, stock-level.
constexpr NamedMix kMixes[] = {
    {"standard", {45, 43, 4, 4, 4}},
    {"fur-ro", {5, 5, 43, 5, 42}},   // FUR figure 8, left: 85 % read-only
    {"fur-upd", {42, 43, 5, 5, 5}},  // FUR figure 8, right
    {"neworder", {1, 0, 0, 0, 0}},
    {"payment", {0, 1, 0, 0, 0}},
    {"orderstatus", {0, 0, 1, 0, 0}},
    {"delivery", {0, 0, 0, 1, 0}},
    {"stocklevel", {0, 0, 0, 0, 1}},
    {"orderstatus95-payment5", {0, 5, 95, 0, 0}},    // FUR figure 4
    {"payment-orderstatus", {0, 0, 1, 0, 0}, true},  // FUR figure 1
};

Status bad_mix(const std::string& text, const std::string& why) {
  std::string names;
  for (const auto& named : kMixes) {
    names += std::string(names.empty() ? "" : ", ") + named.name;
  }
  return {Code::invalid_argument,
          "parameter mix=" + text + ": " + why + "; known mixes are " + names +
              ", or give weights as new_order:45,payment:43,order_status:4,delivery:4,"
              "stock_level:4"};
}

}  // namespace

Kind Mix::choose(int worker, Random& random) const {
  return first_worker_pays && worker == 0 ? kPayment : static_cast<Kind>(weights.draw(random));
}

Result<Mix> parse_mix(const std::string& text) {
  for (const auto& named : kMixes) {
    if (text == named.name) {
      return Mix{Weights({named.weights.begin(), named.weights.end()}), named.first_worker_pays};
    }
  }
  auto weights = Weights::parse(text, info().operations);
  if (!weights.ok()) {
    return bad_mix(text, weights.status().message());
  }
  return Mix{std::move(weights).value()};
}

Result<Home> parse_home(const std::string& text) {
  if (text == "uniform") {
    return Home::uniform;
  }
  if (text == "fixed") {
    return Home::fixed;
  }
  if (text == "disjoint") {
    return Home::disjoint;
  }
  return Status(Code::invalid_argument,
                "parameter home=" + text + " is none of uniform, fixed, disjoint");
}

Result<Detail> parse_detail(const std::string& text) {
  if (text == "standard") {
    return Detail::standard;
  }
  if (text == "fur") {
    return Detail::fur;
  }
  return Status(Code::invalid_argument, "parameter detail=" + text + " is none of standard, fur");
}

Settings read_settings(const Parameters& parameters) {
  const auto number = [&](const char* name, int64_t low, int64_t high) {
    return static_cast<uint32_t>(parameters.number(name, low, high));
  };
  Settings settings;
  settings.scale.warehouses = number("warehouses", 1, kMaxWarehouses);
  settings.scale.districts = number("districts", 1, kMaxDistricts);
  settings.scale.items = number("items", 1, 100'000);
  settings.scale.customers = number("customers", 1, 3000);
  settings.scale.orders = number("orders", 1, 3000);
  settings.scale.batch_rows = number("batch_rows", 20, 1000);
  settings.stock_level_orders = number("stock_level_orders", 1, 1000);
  settings.mix = parse_mix(parameters.text("mix")).value();
  settings.detail = parse_detail(parameters.text("detail")).value();
  settings.home = parse_home(parameters.text("home")).value();
  return settings;
}

}  // namespace holdfast::tpcc
