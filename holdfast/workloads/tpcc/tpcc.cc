// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/parameter_help.h"
#include "holdfast/workloads/tpcc/data/options.h"

namespace holdfast::tpcc {

const WorkloadInfo& info() {
  static const WorkloadInfo kInfo{
      .name = "tpcc",
      .title =
          "order processing after TPC-C 5.11, all five transactions (derived from TPC-C, not a TPC "
          "result)",
      .parameters =
          {
              {"warehouses", "1", "number of warehouses"},
              {"mix", "standard",
               "standard, fur-ro, fur-upd, neworder, payment, orderstatus, delivery, stocklevel, "
               "orderstatus95-payment5, payment-orderstatus (worker 0 pays, the others ask), or "
               "weights as new_order:45,payment:43,order_status:4,delivery:4,stock_level:4"},
              {"home", "uniform",
               "where worker i works: uniform (any warehouse), fixed (i mod warehouses), disjoint "
               "(i, and nothing remote)"},
              {"detail", "standard",
               "standard, or fur: as FUR's program has it, customers by number only, five words "
               "stored per payment, no dates of deliveries (some conditions are not checked then)"},
              {"stock_level_orders", "20", "orders a stock-level looks back on (FUR measured 100)"},
              {"items", "100000", "items, and stock rows per warehouse (scale-down for tests)",
               "100"},
              {"customers", "3000", "customers per district (scale-down for tests)", "10"},
              {"orders", "3000", "initial orders per district (scale-down for tests)", "10"},
              {"districts", "10", "districts per warehouse (scale-down for tests)", "2"},
              {"batch_rows", "1000", "rows per set-up transaction"},
              kPartitionsParameter,
              kCopiesParameter,
          },
      .operations = {"new_order", "payment", "order_status", "delivery", "stock_level"},
      // The run checks that each worker has a warehouse under home=disjoint.
      .operations_only = {"mix", "home", "stock_level_orders", "detail"},
  };
  return kInfo;
}

}  // namespace holdfast::tpcc
