// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/workloads/tpcc/data/inputs.h"
#include "holdfast/workloads/tpcc/data/tables.h"

namespace holdfast::tpcc {

/// Returns the customer at position n/2, rounded up, among the n customers with this last name,
/// sorted by first name (clauses 2.5.2.2 and 2.6.2.2). Null if there is none. It walks these
/// customers twice, a few neighbours in one leaf. Collecting them would need memory of unknown size
/// inside a transaction.
template <class H>
Customer<H>* middle_customer(const DistrictTables<H>& tables, const Text<16>& last) {
  const int number = last_name_number(last.view());
  if (number < 0) {
    return nullptr;
  }
  const uint64_t first = name_range(static_cast<uint32_t>(number));
  const uint64_t end = name_range(static_cast<uint32_t>(number) + 1);
  uint32_t count = 0;
  tables.customers_by_name.scan(first, [&](uint64_t key, Customer<H>* /*row*/) {
    count += key < end ? 1 : 0;
    return key < end;
  });
  Customer<H>* found = nullptr;
  uint32_t to_go = (count + 1) / 2;
  tables.customers_by_name.scan(first, [&](uint64_t key, Customer<H>* row) {
    if (to_go == 0 || key >= end) {
      return false;
    }
    found = row;
    return --to_go > 0;
  });
  return found;
}

template <class H>
Customer<H>& chosen_customer(const Catalog<H>& catalog, const CustomerChoice& choice) {
  if (choice.number != 0) {
    return catalog.customer(choice.warehouse, choice.district, choice.number);
  }
  auto* const customer =
      middle_customer(catalog.tables(choice.warehouse, choice.district), choice.last);
  if (customer == nullptr) {
    throw_missing("customer (by name)", district_key(choice.warehouse, choice.district));
  }
  return *customer;
}

}  // namespace holdfast::tpcc
