// SPDX-License-Identifier: Apache-2.0
//
// The twelve consistency conditions of clause 3.3.2, one function each. Every district is read in a
// transaction of its own, so the database must be at rest.
//
// Condition 3.3.2.11 as printed (orders - new-orders = 2100) holds for the initial population only.
// Each delivery adds one to the difference and to one C_DELIVERY_CNT. So the check subtracts the
// sum of C_DELIVERY_CNT from the difference.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/workloads/tpcc/check/findings.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

/// Calls f(row) for all rows of a table.
template <class H, class Row, class F>
void each_row(const Table<H, Row*>& table, F&& f) {
  table.each([&](uint64_t /*key*/, Row* row) { f(*row); });
}

/// Calls f(line) for the lines of one order.
template <class H, class F>
void each_line(const DistrictTables<H>& tables, uint64_t order, F&& f) {
  const uint64_t end = order_line_key(order + 1, 0);
  tables.order_lines.scan(order_line_key(order, 0), [&](uint64_t key, OrderLine<H>* line) {
    if (key < end) {
      f(*line);
    }
    return key < end;
  });
}

template <class H>
class Conditions {
 public:
  /// In the order of the standard.
  static constexpr auto all() {
    return std::array{&Conditions::condition_3_3_2_1,  &Conditions::condition_3_3_2_2,
                      &Conditions::condition_3_3_2_3,  &Conditions::condition_3_3_2_4,
                      &Conditions::condition_3_3_2_5,  &Conditions::condition_3_3_2_6,
                      &Conditions::condition_3_3_2_7,  &Conditions::condition_3_3_2_8,
                      &Conditions::condition_3_3_2_9,  &Conditions::condition_3_3_2_10,
                      &Conditions::condition_3_3_2_11, &Conditions::condition_3_3_2_12};
  }

  /// True if the condition holds without history rows of payments and dates of deliveries
  /// (Detail::fur).
  static bool holds_without_details(Status (Conditions::*condition)()) {
    return condition != &Conditions::condition_3_3_2_7 &&
           condition != &Conditions::condition_3_3_2_8 &&
           condition != &Conditions::condition_3_3_2_9 &&
           condition != &Conditions::condition_3_3_2_10 &&
           condition != &Conditions::condition_3_3_2_12;
  }

  Conditions(H& heap, const Catalog<H>& catalog) : heap_(heap), catalog_(catalog) {}

  /// W_YTD = sum(D_YTD)
  Status condition_3_3_2_1() {
    return each_warehouse("3.3.2.1", [&](uint32_t w, Findings& found) {
      int64_t sum = 0;
      for (uint32_t d = 1; d <= catalog_.scale().districts; ++d) {
        sum += catalog_.district(w, d).ytd;
      }
      if (const int64_t ytd = catalog_.warehouse(w).ytd; ytd != sum) {
        found.add("warehouse " + std::to_string(w) + ": W_YTD " +
                  differ(ytd, " is not the sum of D_YTD ", sum));
      }
    });
  }

  /// D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)
  Status condition_3_3_2_2() {
    return each_district("3.3.2.2", [&](uint32_t w, uint32_t d, Findings& found) {
      const auto& tables = catalog_.tables(w, d);
      const uint64_t newest = order_key(w, d, catalog_.district(w, d).next_order - 1);
      const auto compare = [&]<class V>(const Table<H, V>& table, const char* name,
                                        bool may_be_empty) {
        uint64_t key = 0;
        V row{};
        const bool any = table.last_before(~uint64_t{0}, &key, &row);
        if (any ? key != newest : !may_be_empty) {
          found.add("district " + show_district(w, d) + ": the newest by D_NEXT_O_ID is " +
                    show_key(newest) + " but the largest " + name + " is " +
                    (any ? show_key(key) : "missing"));
        }
      };
      compare(tables.orders, "O_ID", false);
      compare(tables.new_orders, "NO_O_ID", true);
    });
  }

  /// max(NO_O_ID) - min(NO_O_ID) + 1 = number of rows in NEW-ORDER
  Status condition_3_3_2_3() {
    return each_district("3.3.2.3", [&](uint32_t w, uint32_t d, Findings& found) {
      uint64_t first = 0;
      uint64_t last = 0;
      uint64_t count = 0;
      catalog_.tables(w, d).new_orders.scan(0, [&](uint64_t key, NewOrderRow /*row*/) {
        first = count++ == 0 ? key : first;
        last = key;
        return true;
      });
      if (count > 0 && last - first + 1 != count) {
        found.add("district " + show_district(w, d) + ": new-orders " + show_key(first) + " to " +
                  show_key(last) + " have " + std::to_string(count) + " rows");
      }
    });
  }

  /// sum(O_OL_CNT) = number of rows in ORDER-LINE
  Status condition_3_3_2_4() {
    return each_district("3.3.2.4", [&](uint32_t w, uint32_t d, Findings& found) {
      int64_t sum = 0;
      int64_t lines = 0;
      each_row<H>(catalog_.tables(w, d).orders,
                  [&](const Order<H>& order) { sum += order.line_count; });
      each_row<H>(catalog_.tables(w, d).order_lines, [&](const OrderLine<H>&) { ++lines; });
      if (sum != lines) {
        found.add("district " + show_district(w, d) + ": sum of O_OL_CNT " +
                  differ(sum, " is not the number of order lines ", lines));
      }
    });
  }

  /// O_CARRIER_ID is null if and only if NEW-ORDER has the order
  Status condition_3_3_2_5() {
    return each_district("3.3.2.5", [&](uint32_t w, uint32_t d, Findings& found) {
      const auto& tables = catalog_.tables(w, d);
      each_row<H>(tables.orders, [&](const Order<H>& order) {
        const bool waits = tables.new_orders.find(order.key).has_value();
        if ((order.carrier == 0) != waits) {
          found.add("order " + show_key(order.key) + ": O_CARRIER_ID is " +
                    std::to_string(order.carrier) + " and it " + (waits ? "has" : "does not have") +
                    " a new-order row");
        }
      });
      tables.new_orders.scan(0, [&](uint64_t key, NewOrderRow /*row*/) {
        if (find_row<H>(tables.orders, key) == nullptr) {
          found.add("new-order " + show_key(key) + " has no order");
        }
        return true;
      });
    });
  }

  /// O_OL_CNT = number of rows in ORDER-LINE for the order
  Status condition_3_3_2_6() {
    return each_district("3.3.2.6", [&](uint32_t w, uint32_t d, Findings& found) {
      const auto& tables = catalog_.tables(w, d);
      each_row<H>(tables.orders, [&](const Order<H>& order) {
        int64_t lines = 0;
        each_line(tables, order.key, [&](const OrderLine<H>&) { ++lines; });
        if (lines != order.line_count) {
          found.add("order " + show_key(order.key) + ": O_OL_CNT " +
                    differ(order.line_count, " is not the number of its lines ", lines));
        }
      });
    });
  }

  /// OL_DELIVERY_D is null if and only if O_CARRIER_ID of its order is
  Status condition_3_3_2_7() {
    return each_district("3.3.2.7", [&](uint32_t w, uint32_t d, Findings& found) {
      const auto& tables = catalog_.tables(w, d);
      each_row<H>(tables.order_lines, [&](const OrderLine<H>& line) {
        const Order<H>* const order = find_row<H>(tables.orders, order_of_line(line.key));
        if (order == nullptr) {
          found.add("order line " + show_line_key(line.key) + " has no order");
        } else if ((line.delivery_date == 0) != (order->carrier == 0)) {
          found.add("order line " + show_line_key(line.key) + ": OL_DELIVERY_D is " +
                    std::to_string(line.delivery_date) + " but O_CARRIER_ID is " +
                    std::to_string(order->carrier));
        }
      });
    });
  }

  /// W_YTD = sum(H_AMOUNT)
  Status condition_3_3_2_8() {
    return each_warehouse("3.3.2.8", [&](uint32_t w, Findings& found) {
      int64_t sum = 0;
      for (uint32_t d = 1; d <= catalog_.scale().districts; ++d) {
        sum += paid_in(w, d);
      }
      if (const int64_t ytd = catalog_.warehouse(w).ytd; ytd != sum) {
        found.add("warehouse " + std::to_string(w) + ": W_YTD " +
                  differ(ytd, " is not the sum of H_AMOUNT ", sum));
      }
    });
  }

  /// D_YTD = sum(H_AMOUNT)
  Status condition_3_3_2_9() {
    return each_district("3.3.2.9", [&](uint32_t w, uint32_t d, Findings& found) {
      const int64_t sum = paid_in(w, d);
      if (const int64_t ytd = catalog_.district(w, d).ytd; ytd != sum) {
        found.add("district " + show_district(w, d) + ": D_YTD " +
                  differ(ytd, " is not the sum of H_AMOUNT ", sum));
      }
    });
  }

  /// C_BALANCE = sum(OL_AMOUNT of delivered lines) - sum(H_AMOUNT)
  Status condition_3_3_2_10() {
    const std::vector<int64_t> paid = paid_by_customer();
    return each_district("3.3.2.10", [&](uint32_t w, uint32_t d, Findings& found) {
      const std::vector<int64_t> delivered = delivered_amounts(w, d);
      each_row<H>(catalog_.tables(w, d).customers, [&](const Customer<H>& customer) {
        const int64_t due =
            delivered.at(number_of(customer.key)) - paid.at(customer_index(customer.key));
        if (customer.balance != due) {
          found.add("customer " + show_key(customer.key) + ": C_BALANCE " +
                    differ(customer.balance, " is not delivered OL_AMOUNT - H_AMOUNT ", due));
        }
      });
    });
  }

  /// orders - new-orders = the initially delivered ones + sum(C_DELIVERY_CNT)
  Status condition_3_3_2_11() {
    return each_district("3.3.2.11", [&](uint32_t w, uint32_t d, Findings& found) {
      const auto& tables = catalog_.tables(w, d);
      int64_t open = 0;
      int64_t delivered = catalog_.scale().delivered();
      each_row<H>(tables.orders, [&](const Order<H>&) { ++open; });
      tables.new_orders.scan(0, [&](uint64_t, NewOrderRow) {
        --open;
        return true;
      });
      each_row<H>(tables.customers,
                  [&](const Customer<H>& customer) { delivered += customer.delivery_count; });
      if (open != delivered) {
        found.add("district " + show_district(w, d) + ": orders - new-orders " +
                  differ(open, " is not the number of delivered orders ", delivered));
      }
    });
  }

  /// C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT of delivered lines)
  Status condition_3_3_2_12() {
    return each_district("3.3.2.12", [&](uint32_t w, uint32_t d, Findings& found) {
      const std::vector<int64_t> delivered = delivered_amounts(w, d);
      each_row<H>(catalog_.tables(w, d).customers, [&](const Customer<H>& customer) {
        const int64_t sum = customer.balance + customer.ytd_payment;
        if (const int64_t due = delivered.at(number_of(customer.key)); sum != due) {
          found.add("customer " + show_key(customer.key) + ": C_BALANCE + C_YTD_PAYMENT " +
                    differ(sum, " is not the sum of its delivered OL_AMOUNT ", due));
        }
      });
    });
  }

 private:
  static std::string show_district(uint32_t w, uint32_t d) {
    return "(" + std::to_string(w) + ", " + std::to_string(d) + ")";
  }

  /// Runs `body` in one read transaction, possibly several times.
  template <class F>
  void look(Findings& all, const char* name, F&& body) {
    Findings found(name);
    heap_
        .read([&] {
          found.clear();
          body(found);
        })
        .check();
    all.add_all(found);
  }

  Status each_warehouse(const char* name, FunctionRef<void(uint32_t, Findings&)> body) {
    Findings all(std::string("consistency condition ") + name);
    for (uint32_t w = 1; w <= catalog_.scale().warehouses; ++w) {
      look(all, name, [&](Findings& found) { body(w, found); });
    }
    return all.status();
  }

  Status each_district(const char* name, FunctionRef<void(uint32_t, uint32_t, Findings&)> body) {
    Findings all(std::string("consistency condition ") + name);
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      look(all, name, [&](Findings& found) { body(w, d, found); });
    });
    return all.status();
  }

  int64_t paid_in(uint32_t w, uint32_t d) const {
    int64_t sum = 0;
    each_row<H>(catalog_.tables(w, d).history, [&](const History<H>& row) { sum += row.amount; });
    return sum;
  }

  /// Sums of OL_AMOUNT over delivered lines, by customer number.
  std::vector<int64_t> delivered_amounts(uint32_t w, uint32_t d) const {
    const auto& tables = catalog_.tables(w, d);
    std::vector<int64_t> sums(catalog_.scale().customers + 1);
    each_row<H>(tables.orders, [&](const Order<H>& order) {
      each_line(tables, order.key, [&](const OrderLine<H>& line) {
        sums.at(order.customer) += line.delivery_date != 0 ? line.amount.load() : 0;
      });
    });
    return sums;
  }

  size_t customer_index(uint64_t key) const {
    const auto& scale = catalog_.scale();
    return (size_t{warehouse_of(key) - 1} * scale.districts + district_of(key) - 1) *
               scale.customers +
           number_of(key) - 1;
  }

  /// Sums of H_AMOUNT by customer_index. Reads all districts, because a customer may pay in any.
  std::vector<int64_t> paid_by_customer() {
    const auto& scale = catalog_.scale();
    std::vector<int64_t> sums(size_t{scale.warehouses} * scale.districts * scale.customers);
    std::vector<std::pair<size_t, int64_t>> payments;
    catalog_.each_district([&](uint32_t w, uint32_t d) {
      heap_
          .read([&] {
            payments.clear();
            each_row<H>(catalog_.tables(w, d).history, [&](const History<H>& row) {
              payments.emplace_back(customer_index(row.customer), row.amount);
            });
          })
          .check();
      for (const auto& [customer, amount] : payments) {
        sums.at(customer) += amount;
      }
    });
    return sums;
  }

  H& heap_;
  const Catalog<H>& catalog_;
};

}  // namespace holdfast::tpcc
