// SPDX-License-Identifier: Apache-2.0
//
// Payment (clause 2.5.2): a customer pays, in a district that need not be the customer's own.
#pragma once

#include <algorithm>
#include <charconv>

#include "holdfast/workloads/tpcc/transactions/customer.h"

namespace holdfast::tpcc {

struct PaymentOutput {
  uint64_t history;   ///< key of the history row; 0: none
  uint64_t customer;  ///< key
  int64_t amount;
  uint64_t screen;
};

/// The new C_DATA of a customer with bad credit: the payment's particulars, then the old text, cut
/// off at 500 characters.
inline Text<kCustomerDataChars> bad_credit_data(uint64_t customer, const PaymentInput& payment,
                                                const Text<kCustomerDataChars>& old) {
  Text<kCustomerDataChars> data{};
  char* to = data.bytes;
  char* const end = data.bytes + kCustomerDataChars;
  for (const int64_t part : {int64_t{number_of(customer)}, int64_t{district_of(customer)},
                             int64_t{warehouse_of(customer)}, int64_t{payment.district},
                             int64_t{payment.warehouse}, payment.amount}) {
    to = std::to_chars(to, end, part).ptr;  // six numbers cannot reach the end
    *to++ = ' ';
  }
  const auto rest = old.view().substr(0, static_cast<size_t>(end - to));
  std::copy(rest.begin(), rest.end(), to);
  return data;
}

/// The transaction; run it inside update().
template <class H>
class Payment {
 public:
  Payment(const Catalog<H>& catalog, const PaymentInput& input)
      : catalog_(catalog), input_(input) {}

  PaymentOutput run() {
    // The customer is looked up first, as in FUR's program. Payments conflict on the counters of
    // warehouse and district, which are locked from their update to the end.
    auto& customer = chosen_customer(catalog_, input_.customer);
    auto& warehouse = catalog_.warehouse(input_.warehouse);
    warehouse.ytd += input_.amount;
    auto& district = catalog_.district(input_.warehouse, input_.district);
    district.ytd += input_.amount;
    pay(customer);
    const auto warehouse_name = warehouse.name.load();
    const auto district_name = district.name.load();
    const uint64_t customer_id = customer.key;
    const uint64_t history =
        input_.detail == Detail::standard
            ? insert_history(district, customer_id, warehouse_name, district_name)
            : 0;

    screen_.show(warehouse_name);
    screen_.show(warehouse.address.load());
    screen_.show(district_name);
    screen_.show(district.address.load());
    show(customer);
    return {history, customer_id, input_.amount, screen_.digest()};
  }

 private:
  void pay(Customer<H>& customer) {
    customer.balance -= input_.amount;
    customer.ytd_payment += input_.amount;
    customer.payment_count += 1;
    if (customer.credit == Credit::bad && input_.detail == Detail::standard) {
      customer.data = bad_credit_data(customer.key, input_, customer.data);
      screen_.show(customer.data.load());
    }
  }

  uint64_t insert_history(District<H>& district, uint64_t customer, const Text<10>& warehouse_name,
                          const Text<10>& district_name) {
    const uint32_t number = district.next_history;
    district.next_history = number + 1;
    const uint64_t key = history_key(input_.warehouse, input_.district, number);
    auto* history = H::template make<History<H>>(key);
    history->customer = customer;
    history->date = input_.date;
    history->amount = input_.amount;
    history->data = joined(warehouse_name, district_name);
    catalog_.tables(input_.warehouse, input_.district).history.insert(key, history);
    return key;
  }

  /// W_NAME, four spaces, D_NAME.
  static Text<24> joined(const Text<10>& warehouse, const Text<10>& district) {
    Text<24> text{};
    char* to = std::copy_n(warehouse.bytes, warehouse.view().size(), text.bytes);
    to = std::fill_n(to, 4, ' ');
    std::copy_n(district.bytes, district.view().size(), to);
    return text;
  }

  void show(const Customer<H>& customer) {
    screen_.show(customer.first.load());
    screen_.show(customer.middle.load());
    screen_.show(customer.last.load());
    screen_.show(customer.address.load());
    screen_.show(customer.phone.load());
    screen_.show(customer.since.load());
    screen_.show(customer.credit.load());
    screen_.show(customer.credit_limit.load());
    screen_.show(customer.discount.load());
    screen_.show(customer.balance.load());
  }

  const Catalog<H>& catalog_;
  const PaymentInput& input_;
  Screen screen_;
};

}  // namespace holdfast::tpcc
