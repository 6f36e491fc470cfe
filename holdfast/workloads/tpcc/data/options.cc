// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/data/options.h"

#include <charconv>
#include <numeric>
#include <string_view>

#include "holdfast/workloads/tpcc/data/keys.h"

namespace holdfast::tpcc {
namespace {

struct NamedMix {
  const char* name;
  Mix mix;
};

// Weights in the order new-order, payment, order-status, delivery, stock-level.
constexpr NamedMix kMixes[] = {
    {"standard", {{45, 43, 4, 4, 4}}},
    {"fur-ro", {{5, 5, 43, 5, 42}}},   // FUR figure 8, left: 85 % read-only
    {"fur-upd", {{42, 43, 5, 5, 5}}},  // FUR figure 8, right
    {"neworder", {{1, 0, 0, 0, 0}}},
    {"payment", {{0, 1, 0, 0, 0}}},
    {"orderstatus", {{0, 0, 1, 0, 0}}},
    {"delivery", {{0, 0, 0, 1, 0}}},
    {"stocklevel", {{0, 0, 0, 0, 1}}},
    {"orderstatus95-payment5", {{0, 5, 95, 0, 0}}},    // FUR figure 4
    {"payment-orderstatus", {{0, 0, 1, 0, 0}, true}},  // FUR figure 1
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
  if (first_worker_pays && worker == 0) {
    return kPayment;
  }
  auto left = static_cast<uint32_t>(
      random.below(std::accumulate(weights.begin(), weights.end(), uint64_t{0})));
  int kind = 0;
  while (left >= weights[static_cast<size_t>(kind)]) {
    left -= weights[static_cast<size_t>(kind)];
    ++kind;
  }
  return static_cast<Kind>(kind);
}

Result<Mix> parse_mix(const std::string& text) {
  for (const auto& named : kMixes) {
    if (text == named.name) {
      return named.mix;
    }
  }
  Mix mix;
  std::string_view rest = text;
  uint64_t total = 0;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return bad_mix(text, "'" + std::string(part) + "' is neither a mix nor transaction:weight");
    }
    size_t kind = 0;
    while (kind < kKinds && part.substr(0, colon) != info().operations[kind]) {
      ++kind;
    }
    uint32_t weight = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + colon + 1, end, weight);
    if (kind == kKinds || error != std::errc() || stop != end || weight > 1'000'000) {
      return bad_mix(text, "'" + std::string(part) + "' is not a transaction and its weight");
    }
    mix.weights[kind] = weight;
    total += weight;
  }
  if (total == 0) {
    return bad_mix(text, "all weights are zero");
  }
  return mix;
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
