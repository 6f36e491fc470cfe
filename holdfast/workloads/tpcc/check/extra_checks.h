// SPDX-License-Identifier: Apache-2.0
//
// Checks beyond the standard's conditions: the trees themselves, the secondary indexes, the stock,
// and the ownership of blocks. No condition of the standard reads the stock, so a torn new-order
// would pass there.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/workloads/tpcc/check/blocks.h"
#include "holdfast/workloads/tpcc/check/conditions.h"

namespace holdfast::tpcc {

template <class H>
class ExtraChecks {
 public:
  static constexpr auto all() {
    return std::array{&ExtraChecks::trees, &ExtraChecks::indexes, &ExtraChecks::stock,
                      &ExtraChecks::counts, &ExtraChecks::ownership};
  }

  /// As Conditions::holds_without_details: all but the count of history rows.
  static bool holds_without_details(Status (ExtraChecks::*check)()) {
    return check != &ExtraChecks::counts;
  }

  ExtraChecks(H& heap, const Catalog<H>& catalog) : heap_(heap), catalog_(catalog) {}

  /// Checks every tree's own invariants.
  Status trees() {
    Findings all("trees");
    const auto ask = [&](const char* name, const auto& table) {
      Status status;
      heap_.read([&] { status = table.check(); }).check();
      if (!status.ok()) {
        all.add(std::string(name) + ": " + status.message());
      }
    };
    ask("items", catalog_.database().items);
    ask("warehouses", catalog_.database().warehouses);
    ask("districts", catalog_.database().districts);
    for (uint32_t w = 1; w <= catalog_.scale().warehouses; ++w) {
      ask("stock", catalog_.tables(w).stock);
    }
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      catalog_.tables(w, d).each_table(
          [&](const auto& table, bool /*owns*/) { ask("a table of a district", table); });
    });
    return all.status();
  }

  /// Checks that rows have their own keys, and that the secondary indexes contain exactly the rows.
  Status indexes() {
    Findings all("indexes");
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      Findings found("");
      heap_
          .read([&] {
            found.clear();
            district_indexes(catalog_.tables(w, d), found);
          })
          .check();
      all.add_all(found);
    });
    return all.status();
  }

  /// Checks that S_YTD, S_ORDER_CNT and S_REMOTE_CNT match the order lines entered since set-up.
  Status stock() {
    const auto& scale = catalog_.scale();
    std::vector<Sold> sold(size_t{scale.warehouses} * scale.items);
    std::vector<std::pair<size_t, Sold>> lines;
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      heap_
          .read([&] {
            lines.clear();
            sold_in(w, d, lines);
          })
          .check();
      for (const auto& [index, one] : lines) {
        sold.at(index) += one;
      }
    });
    Findings all("stock");
    for (uint32_t w = 1; w <= scale.warehouses; ++w) {
      Findings found("");
      heap_
          .read([&] {
            found.clear();
            compare_stock(w, sold, found);
          })
          .check();
      all.add_all(found);
    }
    return all.status();
  }

  /// Checks that C_PAYMENT_CNT is the number of the customer's history rows, and that D_NEXT_O_ID
  /// and the history numbers have no gaps.
  Status counts() {
    const auto& scale = catalog_.scale();
    std::vector<uint64_t> payers;
    std::vector<uint32_t> payments(size_t{scale.warehouses} * scale.districts * scale.customers);
    Findings all("counts");
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      uint64_t orders = 0;
      uint32_t next_order = 0;
      uint32_t next_history = 0;
      heap_
          .read([&] {
            payers.clear();
            const auto& tables = catalog_.tables(w, d);
            each_row<H>(tables.history,
                        [&](const History<H>& row) { payers.push_back(row.customer); });
            orders = tables.orders.size();
            next_order = catalog_.district(w, d).next_order;
            next_history = catalog_.district(w, d).next_history;
          })
          .check();
      if (orders + 1 != next_order || payers.size() + 1 != next_history) {
        all.add("district " + show_key(order_key(w, d, 0)) + ": " + std::to_string(orders) +
                " orders and " + std::to_string(payers.size()) +
                " history rows, but the next are " + std::to_string(next_order) + " and " +
                std::to_string(next_history));
      }
      for (const uint64_t customer : payers) {
        payments.at(customer_index(scale, customer)) += 1;
      }
    });
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      Findings found("");
      heap_
          .read([&] {
            found.clear();
            each_row<H>(catalog_.tables(w, d).customers, [&](const Customer<H>& customer) {
              const uint32_t rows = payments.at(customer_index(scale, customer.key));
              if (customer.payment_count != rows) {
                found.add(
                    "customer " + show_key(customer.key) + ": C_PAYMENT_CNT " +
                    differ(customer.payment_count, " is not the number of history rows ", rows));
              }
            });
          })
          .check();
      all.add_all(found);
    });
    return all.status();
  }

  /// Checks that no block has two owners, and that no blocks overlap.
  Status ownership() {
    std::vector<std::pair<uintptr_t, size_t>> blocks;
    heap_
        .read([&] {
          blocks.clear();
          visit_blocks(catalog_, [&](const void* block, size_t bytes) {
            blocks.emplace_back(reinterpret_cast<uintptr_t>(block), bytes);
          });
        })
        .check();
    std::sort(blocks.begin(), blocks.end());
    Findings all("ownership");
    for (size_t i = 1; i < blocks.size(); ++i) {
      if (blocks[i - 1].first + blocks[i - 1].second > blocks[i].first) {
        all.add("two owned blocks overlap, of " + std::to_string(blocks[i - 1].second) + " and " +
                std::to_string(blocks[i].second) + " bytes");
      }
    }
    return all.status();
  }

 private:
  struct Sold {
    int64_t quantity = 0;
    uint32_t orders = 0;
    uint32_t remote = 0;
    Sold& operator+=(const Sold& o) {
      quantity += o.quantity;
      orders += o.orders;
      remote += o.remote;
      return *this;
    }
    bool operator==(const Sold&) const = default;
  };

  static size_t customer_index(const Scale& scale, uint64_t key) {
    return (size_t{warehouse_of(key) - 1} * scale.districts + district_of(key) - 1) *
               scale.customers +
           number_of(key) - 1;
  }
  size_t stock_index(uint32_t w, uint32_t i) const {
    return size_t{w - 1} * catalog_.scale().items + i - 1;
  }

  void sold_in(uint32_t w, uint32_t d, std::vector<std::pair<size_t, Sold>>& lines) const {
    const uint64_t first = order_line_key(order_key(w, d, catalog_.scale().orders + 1), 0);
    catalog_.tables(w, d).order_lines.scan(first, [&](uint64_t /*key*/, OrderLine<H>* line) {
      const uint32_t supply = line->supply_warehouse;
      lines.push_back(
          {stock_index(supply, line->item), {int64_t{line->quantity}, 1, supply != w ? 1u : 0u}});
      return true;
    });
  }

  void compare_stock(uint32_t w, const std::vector<Sold>& sold, Findings& found) const {
    each_row<H>(catalog_.tables(w).stock, [&](const Stock<H>& stock) {
      const uint32_t item = number_of(stock.key);
      if (Sold{stock.ytd, stock.order_count, stock.remote_count} != sold.at(stock_index(w, item))) {
        found.add("warehouse " + std::to_string(w) + " item " + std::to_string(item) +
                  ": S_YTD, S_ORDER_CNT or S_REMOTE_CNT is not what its order lines add up to");
      }
    });
  }

  template <class Row>
  static void own_keys(const Table<H, Row*>& table, const char* name, Findings& found) {
    table.each([&](uint64_t key, Row* row) {
      if (row->key != key) {
        found.add(std::string(name) + " row " + std::to_string(row->key) + " stands under key " +
                  std::to_string(key));
      }
    });
  }

  void district_indexes(const DistrictTables<H>& tables, Findings& found) const {
    own_keys(tables.customers, "customer", found);
    own_keys(tables.orders, "order", found);
    own_keys(tables.order_lines, "order-line", found);
    own_keys(tables.history, "history", found);
    each_row<H>(tables.customers, [&](Customer<H>& customer) {
      const uint64_t key = name_key(customer.last, customer.first, number_of(customer.key));
      if (find_row<H>(tables.customers_by_name, key) != &customer) {
        found.add("customer " + show_key(customer.key) + " is not in the index of names");
      }
    });
    each_row<H>(tables.orders, [&](Order<H>& order) {
      const uint64_t key = order_by_customer_key(order.customer, number_of(order.key));
      if (find_row<H>(tables.orders_by_customer, key) != &order) {
        found.add("order " + show_key(order.key) + " is not in the index of customers");
      }
    });
    if (tables.customers.size() != tables.customers_by_name.size() ||
        tables.orders.size() != tables.orders_by_customer.size()) {
      found.add("a secondary index has entries without a row");
    }
  }

  H& heap_;
  const Catalog<H>& catalog_;
};

}  // namespace holdfast::tpcc
