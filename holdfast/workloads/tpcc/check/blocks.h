// SPDX-License-Identifier: Apache-2.0
//
// Lists the blocks that a TPC-C database owns. With the list Heap::check finds leaks, and blocks
// that are owned but free. ExtraChecks::ownership finds blocks with two owners.
#pragma once

#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

/// Calls v(block, bytes) for the nodes of a table and, if it owns them, its rows. A row's size is
/// that of its type. A table of plain numbers has no rows, so `owns_rows` has no effect there.
///
/// Pass false for a secondary index. Otherwise each row would be reported twice, which counts as a
/// block with two owners.
template <class H, class V, class Visitor>
void visit_table(const Table<H, V>& table, bool owns_rows, Visitor&& v) {
  table.visit_blocks(v);
  if constexpr (std::is_pointer_v<V>) {
    if (owns_rows) {
      table.each([&](uint64_t /*key*/, V row) { v(static_cast<const void*>(row), sizeof(*row)); });
    }
  }
}

/// Calls v(block, bytes) for every block of the database, except the root object, which the heap
/// finds itself. A block that is reported twice has two owners: the database is damaged.
///
/// Call it inside a transaction, because it reads the heap's fields. The transaction's body may run
/// again, so a body that collects blocks must first clear its list. Cost: O(rows), all of them in
/// the read set of this one transaction. So call it only while no workload runs.
///
/// The rows of `partitions` are the objects with the tables of a warehouse. A new table of a
/// warehouse must be added here. A new table of a district must be added to each_table().
template <class H, class Visitor>
void visit_blocks(const Catalog<H>& catalog, Visitor&& v) {
  const auto& database = catalog.database();
  visit_table<H>(database.items, true, v);
  visit_table<H>(database.warehouses, true, v);
  visit_table<H>(database.districts, true, v);
  visit_table<H>(database.partitions, true, v);
  for (uint32_t w = 1; w <= catalog.scale().warehouses; ++w) {
    visit_table<H>(catalog.tables(w).stock, true, v);
  }
  catalog.each_district([&](uint32_t w, uint32_t d) {
    const auto& tables = catalog.tables(w, d);
    v(static_cast<const void*>(&tables), sizeof(tables));
    tables.each_table(
        [&](const auto& table, bool owns_rows) { visit_table<H>(table, owns_rows, v); });
  });
}

}  // namespace holdfast::tpcc
