// SPDX-License-Identifier: Apache-2.0
//
// Stock-level (clause 2.8.2): counts the different items of a district's last orders that are low
// on stock.
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/workloads/tpcc/data/inputs.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

struct StockLevelOutput {
  uint32_t next_order;
  uint32_t low_items;
};

/// Runs the transaction; call it inside read(). `low` is working memory. Reserve it for all lines
/// before, so that the transaction allocates nothing. It is cleared first, because a body may run
/// again.
template <class H>
StockLevelOutput stock_level(const Catalog<H>& catalog, const StockLevelInput& input,
                             std::vector<uint32_t>& low) {
  low.clear();
  const uint32_t next = catalog.district(input.warehouse, input.district).next_order;
  const uint32_t first = next > input.orders ? next - input.orders : 1;
  const auto& tables = catalog.tables(input.warehouse, input.district);
  const uint64_t end = order_line_key(order_key(input.warehouse, input.district, next), 0);
  tables.order_lines.scan(order_line_key(order_key(input.warehouse, input.district, first), 0),
                          [&](uint64_t key, OrderLine<H>* line) {
                            if (key >= end) {
                              return false;
                            }
                            const uint32_t item = line->item;
                            if (catalog.stock(input.warehouse, item).quantity < input.threshold) {
                              low.push_back(item);
                            }
                            return true;
                          });
  std::sort(low.begin(), low.end());
  const auto distinct = std::unique(low.begin(), low.end()) - low.begin();
  return {next, static_cast<uint32_t>(distinct)};
}

}  // namespace holdfast::tpcc
