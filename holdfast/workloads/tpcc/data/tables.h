// SPDX-License-Identifier: Apache-2.0
//
// The place of the rows: one B+tree per table, split by district (stock: by warehouse).
//
//   Database            items, warehouses, districts, and the directory of partitions
//   WarehouseTables     stock
//   DistrictTables      customers, orders, new-orders, order-lines, history, and two secondary
//                       indexes
//
// Why trees are split. Otherwise orders of different districts would be neighbours in one leaf, and
// parallel writers conflict on leaves and on the tree's own words. Split by district, transactions
// in different districts share only the warehouse row, as the standard demands. Each tree begins on
// a line of its own.
//
// The directory never changes after set-up. So a Catalog, which attach() builds, keeps its pointers
// in volatile memory. Rows are always found through the trees.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "holdfast/workloads/tpcc/data/keys.h"
#include "holdfast/workloads/tpcc/data/options.h"
#include "holdfast/workloads/tpcc/data/random.h"
#include "holdfast/workloads/tpcc/data/schema.h"
#include "holdfast/workloads/tpcc/data/table.h"

namespace holdfast::tpcc {

template <class H>
struct DistrictTables {
  static constexpr const char* kTypeName = "tpcc.district_tables";

  DistrictTables() {}  // NOLINT(modernize-use-equals-default): see schema.h

  alignas(kLineBytes) Table<H, Customer<H>*> customers;
  alignas(kLineBytes) Table<H, Customer<H>*> customers_by_name;  // name_key
  alignas(kLineBytes) Table<H, Order<H>*> orders;
  alignas(kLineBytes) Table<H, Order<H>*> orders_by_customer;  // order_by_customer_key
  alignas(kLineBytes) Table<H, NewOrderRow> new_orders;
  alignas(kLineBytes) Table<H, OrderLine<H>*> order_lines;
  alignas(kLineBytes) Table<H, History<H>*> history;

  /// Calls f(tree, owns); `owns` is true if the tree's values are rows that belong to it.
  template <class F>
  void each_table(F&& f) const {
    f(customers, true);
    f(customers_by_name, false);
    f(orders, true);
    f(orders_by_customer, false);
    f(new_orders, false);
    f(order_lines, true);
    f(history, true);
  }
};

template <class H>
struct WarehouseTables {
  static constexpr const char* kTypeName = "tpcc.warehouse_tables";

  WarehouseTables() {}  // NOLINT(modernize-use-equals-default): see schema.h

  alignas(kLineBytes) Table<H, Stock<H>*> stock;
  std::array<typename H::template Field<DistrictTables<H>*>, kMaxDistricts> districts;
};

/// The root object.
template <class H>
struct Database {
  static constexpr const char* kTypeName = "tpcc.database";
  static constexpr uint32_t kTypeVersion = 2;
  template <class T>
  using Field = typename H::template Field<T>;

  Database() : complete(0), scale(Scale{}), constants(NurandConstants{}) {}

  Field<uint32_t> complete;  // 1 once set-up has finished
  Field<Scale> scale;
  Field<NurandConstants> constants;
  alignas(kLineBytes) Table<H, Item<H>*> items;
  alignas(kLineBytes) Table<H, Warehouse<H>*> warehouses;
  alignas(kLineBytes) Table<H, District<H>*> districts;
  alignas(kLineBytes) Table<H, WarehouseTables<H>*> partitions;
};

/// The row of `key`, or null. For tables of row pointers.
template <class H, class Row>
Row* find_row(const Table<H, Row*>& table, uint64_t key) {
  return table.find(key).value_or(nullptr);
}

template <class H, class Row>
Row& need_row(const Table<H, Row*>& table, uint64_t key, const char* name) {
  Row* const row = find_row<H>(table, key);
  if (row == nullptr) {
    throw_missing(name, key);
  }
  return *row;
}

/// A volatile view of an opened database: the directory and the run's constants.
///
/// Thread safety: immutable once made. The row look-ups run inside the caller's transaction.
template <class H>
class Catalog {
 public:
  Catalog() = default;
  /// Call it inside a transaction, after set-up.
  explicit Catalog(Database<H>& database)
      : database_(&database), scale_(database.scale), constants_(database.constants) {
    for (uint32_t w = 1; w <= scale_.warehouses; ++w) {
      auto& tables = need_row<H>(database.partitions, w, "partition");
      Partition partition{&tables, {}};
      for (uint32_t d = 0; d < scale_.districts; ++d) {
        partition.districts[d] = tables.districts[d];
      }
      partitions_.push_back(partition);
    }
  }

  const Scale& scale() const { return scale_; }
  const NurandConstants& constants() const { return constants_; }
  Database<H>& database() const { return *database_; }
  WarehouseTables<H>& tables(uint32_t w) const { return *partitions_.at(w - 1).tables; }
  DistrictTables<H>& tables(uint32_t w, uint32_t d) const {
    return *partitions_.at(w - 1).districts[d - 1];
  }

  Item<H>* find_item(uint32_t i) const { return find_row<H>(database_->items, i); }
  Warehouse<H>& warehouse(uint32_t w) const {
    return need_row<H>(database_->warehouses, w, "warehouse");
  }
  District<H>& district(uint32_t w, uint32_t d) const {
    return need_row<H>(database_->districts, district_key(w, d), "district");
  }
  Customer<H>& customer(uint32_t w, uint32_t d, uint32_t c) const {
    return need_row<H>(tables(w, d).customers, customer_key(w, d, c), "customer");
  }
  Stock<H>& stock(uint32_t w, uint32_t i) const {
    return need_row<H>(tables(w).stock, stock_key(w, i), "stock");
  }

  /// Calls f(w, d) for every district.
  template <class F>
  void each_district(F&& f) const {
    for (uint32_t w = 1; w <= scale_.warehouses; ++w) {
      for (uint32_t d = 1; d <= scale_.districts; ++d) {
        f(w, d);
      }
    }
  }

 private:
  struct Partition {
    WarehouseTables<H>* tables;
    std::array<DistrictTables<H>*, kMaxDistricts> districts;
  };

  Database<H>* database_ = nullptr;
  Scale scale_;
  NurandConstants constants_;
  std::vector<Partition> partitions_;
};

}  // namespace holdfast::tpcc
