// SPDX-License-Identifier: Apache-2.0
//
// The initial population (clause 4.3.3.1), in transactions of at most Scale::batch_rows rows. Every
// batch has its own generator, seeded from the rows it loads, so that a repeated body writes the
// same rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "holdfast/engines/partitions.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

/// The date of all loaded rows: a constant, so that one seed gives one population.
inline constexpr uint64_t kLoadDate = 1;
inline constexpr int64_t kInitialPayment = 10'00;

/// Loads the population. Runs update transactions; for one thread.
template <class H>
class Loader {
 public:
  /// Transactions name these partitions of the heap.
  Loader(H& heap, const Partitions& partitions, const Scale& scale, uint64_t seed)
      : heap_(heap), partitions_(partitions), scale_(scale), seed_(seed) {}

  void run(Database<H>& database) {
    database_ = &database;
    Random random(stream(kConstants, 0, 0));
    constants_ = choose_constants(random);
    update([&] {
      database_->scale = scale_;
      database_->constants = constants_;
    });
    load_items();
    for (uint32_t w = 1; w <= scale_.warehouses; ++w) {
      load_warehouse(w);
      load_stock(w);
      for (uint32_t d = 1; d <= scale_.districts; ++d) {
        load_district(w, d);
        load_customers(w, d);
        load_orders(w, d);
      }
    }
    update([&] { database_->complete = 1; });
  }

 private:
  enum Stream : uint64_t {
    kConstants,
    kItems,
    kWarehouse,
    kStock,
    kDistrict,
    kCustomers,
    kOrders,
    kShuffle
  };

  uint64_t stream(Stream kind, uint64_t where, uint64_t first) const {
    return mix64(mix64(mix64(seed_ + kind) + where) + first);
  }

  template <class F>
  void update(F&& body) {
    heap_.update(partitions_, body).check();
  }

  /// Calls body(random, n) for n = 1 to `count`, as many in one transaction as `rows_each` allows.
  template <class F>
  void in_batches(Stream kind, uint64_t where, uint32_t count, uint32_t rows_each, F&& body) {
    const uint32_t step = std::max(scale_.batch_rows / rows_each, 1u);
    for (uint32_t first = 1; first <= count; first += step) {
      update([&, first] {
        Random random(stream(kind, where, first));
        for (uint32_t n = first; n < first + step && n <= count; ++n) {
          body(random, n);
        }
      });
    }
  }

  void load_items() {
    in_batches(kItems, 0, scale_.items, 1, [&](Random& random, uint32_t i) {
      auto* item = H::template make<Item<H>>(i);
      item->image = uniform(random, 1, 10'000);
      item->price = random.between(1'00, 100'00);
      item->name = random_letters<24>(random, 14, 24);
      item->data = random_data(random);
      database_->items.insert(i, item);
    });
  }

  void load_warehouse(uint32_t w) {
    tables_ = heap_
                  .update(partitions_,
                          [&] {
                            Random random(stream(kWarehouse, w, 0));
                            auto* row = H::template make<Warehouse<H>>(w);
                            row->tax = uniform(random, 0, 2000);
                            row->name = random_letters<10>(random, 6, 10);
                            row->address = random_address(random);
                            row->ytd = kInitialPayment * scale_.customers * scale_.districts;
                            database_->warehouses.insert(w, row);
                            auto* tables = H::template make<WarehouseTables<H>>();
                            for (auto& district : tables->districts) {
                              district = nullptr;
                            }
                            database_->partitions.insert(w, tables);
                            return tables;
                          })
                  .value();
  }

  void load_stock(uint32_t w) {
    in_batches(kStock, w, scale_.items, 1, [&](Random& random, uint32_t i) {
      auto* stock = H::template make<Stock<H>>(stock_key(w, i));
      stock->quantity = static_cast<int32_t>(uniform(random, 10, 100));
      stock->order_count = 0;
      stock->remote_count = 0;
      stock->ytd = 0;
      for (auto& dist : stock->dist) {
        dist = random_letters<24>(random, 24, 24);
      }
      stock->data = random_data(random);
      tables_->stock.insert(stock_key(w, i), stock);
    });
  }

  void load_district(uint32_t w, uint32_t d) {
    const uint64_t key = district_key(w, d);
    district_ = heap_
                    .update(partitions_,
                            [&] {
                              Random random(stream(kDistrict, key, 0));
                              auto* row = H::template make<District<H>>(key);
                              row->tax = uniform(random, 0, 2000);
                              row->name = random_letters<10>(random, 6, 10);
                              row->address = random_address(random);
                              row->ytd = kInitialPayment * scale_.customers;
                              row->next_history = scale_.customers + 1;
                              row->next_order = scale_.orders + 1;
                              database_->districts.insert(key, row);
                              auto* tables = H::template make<DistrictTables<H>>();
                              tables_->districts[d - 1] = tables;
                              return tables;
                            })
                    .value();
  }

  void load_customers(uint32_t w, uint32_t d) {
    in_batches(
        kCustomers, district_key(w, d), scale_.customers, 3, [&](Random& random, uint32_t c) {
          const uint32_t name = c <= scale_.last_names() ? c - 1
                                                         : nurand(random, 255, constants_.last_load,
                                                                  0, scale_.last_names() - 1);
          load_customer(random, w, d, c, last_name(name));
          load_history(random, w, d, c);
        });
  }

  void load_customer(Random& random, uint32_t w, uint32_t d, uint32_t c, const Text<16>& last) {
    const uint64_t key = customer_key(w, d, c);
    const auto first = random_letters<16>(random, 8, 16);
    auto* customer = H::template make<Customer<H>>(key);
    customer->discount = uniform(random, 0, 5000);
    customer->credit = uniform(random, 1, 10) == 1 ? Credit::bad : Credit::good;
    customer->last = last;
    customer->first = first;
    customer->middle = Text<2>::of("OE");
    customer->phone = random_digits<16>(random);
    customer->address = random_address(random);
    customer->since = kLoadDate;
    customer->credit_limit = 50'000'00;
    customer->balance = -kInitialPayment;
    customer->ytd_payment = kInitialPayment;
    customer->payment_count = 1;
    customer->delivery_count = 0;
    customer->data = random_letters<kCustomerDataChars>(random, 300, 500);
    district_->customers.insert(key, customer);
    district_->customers_by_name.insert(name_key(last, first, c), customer);
  }

  void load_history(Random& random, uint32_t w, uint32_t d, uint32_t c) {
    auto* history = H::template make<History<H>>(history_key(w, d, c));
    history->customer = customer_key(w, d, c);
    history->date = kLoadDate;
    history->amount = kInitialPayment;
    history->data = random_letters<24>(random, 12, 24);
    district_->history.insert(history_key(w, d, c), history);
  }

  /// The customers in random order, each once (as long as there are as many orders as customers).
  std::vector<uint32_t> shuffled_customers(uint64_t district) {
    std::vector<uint32_t> customers(scale_.customers);
    std::iota(customers.begin(), customers.end(), 1u);
    Random random(stream(kShuffle, district, 0));
    for (size_t i = customers.size(); i > 1; --i) {
      std::swap(customers[i - 1], customers[random.below(i)]);
    }
    return customers;
  }

  void load_orders(uint32_t w, uint32_t d) {
    const auto customers = shuffled_customers(district_key(w, d));
    in_batches(kOrders, district_key(w, d), scale_.orders, kMaxLines + 3,
               [&](Random& random, uint32_t o) {
                 load_order(random, w, d, o, customers[(o - 1) % customers.size()]);
               });
  }

  void load_order(Random& random, uint32_t w, uint32_t d, uint32_t o, uint32_t c) {
    const uint64_t key = order_key(w, d, o);
    const bool delivered = o <= scale_.delivered();
    const uint32_t lines = uniform(random, 5, kMaxLines);
    auto* order = H::template make<Order<H>>(key);
    order->entry_date = kLoadDate;
    order->customer = c;
    order->carrier = delivered ? uniform(random, 1, 10) : 0;
    order->line_count = lines;
    order->all_local = 1;
    district_->orders.insert(key, order);
    district_->orders_by_customer.insert(order_by_customer_key(c, o), order);
    if (!delivered) {
      district_->new_orders.insert(key, key);
    }
    for (uint32_t number = 1; number <= lines; ++number) {
      load_line(random, w, order_line_key(key, number), delivered);
    }
  }

  void load_line(Random& random, uint32_t w, uint64_t key, bool delivered) {
    auto* line = H::template make<OrderLine<H>>(key);
    line->item = uniform(random, 1, scale_.items);
    line->supply_warehouse = w;
    line->delivery_date = delivered ? kLoadDate : 0;
    line->amount = delivered ? 0 : random.between(1, 9'999'99);
    line->quantity = 5;
    line->dist_info = random_letters<24>(random, 24, 24);
    district_->order_lines.insert(key, line);
  }

  H& heap_;
  Partitions partitions_;
  const Scale scale_;
  const uint64_t seed_;
  NurandConstants constants_;
  Database<H>* database_ = nullptr;
  WarehouseTables<H>* tables_ = nullptr;   // of the warehouse being loaded
  DistrictTables<H>* district_ = nullptr;  // of the district being loaded
};

}  // namespace holdfast::tpcc
