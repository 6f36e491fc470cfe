// SPDX-License-Identifier: Apache-2.0
//
// The nine tables of TPC-C (5.11, clause 1.3) as rows of Fields, with all columns. Money is in
// cents, rates (taxes, discounts) in 1/10000. Dates are ticks of the machine's clock; 0 is null.
//
// Columns that different transactions write are on different lines, because hardware transactions
// conflict by line. Payment adds to W_YTD and D_YTD, while new-order reads the taxes and increments
// D_NEXT_O_ID. Payment changes a customer's balance, while new-order reads the discount.
//
// All threads share the few rows of warehouses and districts. In these rows, gaps before and after
// a column separate it from its neighbours and from the next row, wherever a block begins. A gap is
// wide enough for POWER, whose lines have 128 bytes.
//
// A row is constructed with its key, and its other columns are assigned right after. The
// constructors are written out, because `T()` of a class without one would clear its memory with
// plain stores, which bypass the engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"

namespace holdfast::tpcc {

/// A string of at most N characters, padded with zero bytes to whole words.
template <size_t N>
struct Text {
  alignas(8) char bytes[round_up(N, 8)];

  static Text of(std::string_view text) {
    Text result{};
    std::copy_n(text.begin(), std::min(text.size(), N), result.bytes);
    return result;
  }
  std::string_view view() const {
    return {bytes, static_cast<size_t>(std::find(bytes, bytes + N, '\0') - bytes)};
  }
  friend bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }
};

struct Address {
  Text<20> street_1;
  Text<20> street_2;
  Text<20> city;
  Text<2> state;
  Text<9> zip;
};

inline constexpr uint32_t kMaxDistricts = 10;
inline constexpr size_t kCustomerDataChars = 500;

/// Separates columns so that no line of 128 bytes contains parts of both.
struct Gap {
  alignas(kLineBytes) std::byte unused[kLineBytes];
};

template <class H>
struct Warehouse {
  static constexpr const char* kTypeName = "tpcc.warehouse";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit Warehouse(uint32_t row_id) : id(row_id) {}

  alignas(kLineBytes) Field<uint32_t> id;
  Field<uint32_t> tax;
  Field<Text<10>> name;
  Field<Address> address;
  Gap before_ytd;
  alignas(kLineBytes) Field<int64_t> ytd;  // written by payment
  Gap after_ytd;
};

template <class H>
struct District {
  static constexpr const char* kTypeName = "tpcc.district";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit District(uint64_t row_key) : key(row_key) {}

  alignas(kLineBytes) Field<uint64_t> key;
  Field<uint32_t> tax;
  Field<Text<10>> name;
  Field<Address> address;
  Gap before_ytd;
  alignas(kLineBytes) Field<int64_t> ytd;  // written by payment
  Field<uint32_t> next_history;            // not a column: numbers this district's history rows
  Gap after_ytd;
  alignas(kLineBytes) Field<uint32_t> next_order;  // written by new-order
  Gap after_next_order;
};

enum class Credit : uint32_t { good, bad };

template <class H>
struct Customer {
  static constexpr const char* kTypeName = "tpcc.customer";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit Customer(uint64_t row_key) : key(row_key) {}

  alignas(kLineBytes) Field<uint64_t> key;
  Field<uint32_t> discount;
  Field<Credit> credit;
  Field<Text<16>> last;
  Field<Text<16>> first;
  Field<Text<2>> middle;
  Field<Text<16>> phone;
  Field<Address> address;
  Field<uint64_t> since;
  Field<int64_t> credit_limit;
  alignas(kLineBytes) Field<int64_t> balance;  // this line is written by payment and delivery
  Field<int64_t> ytd_payment;
  Field<uint32_t> payment_count;
  Field<uint32_t> delivery_count;
  Field<Text<kCustomerDataChars>> data;  // written by payment when the credit is bad
};

template <class H>
struct History {
  static constexpr const char* kTypeName = "tpcc.history";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit History(uint64_t row_key) : key(row_key) {}

  Field<uint64_t> key;       // H_W_ID, H_D_ID and the row's number there
  Field<uint64_t> customer;  // H_C_W_ID, H_C_D_ID, H_C_ID
  Field<uint64_t> date;
  Field<int64_t> amount;
  Field<Text<24>> data;
};

template <class H>
struct Order {
  static constexpr const char* kTypeName = "tpcc.order";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit Order(uint64_t row_key) : key(row_key) {}

  Field<uint64_t> key;
  Field<uint64_t> entry_date;
  Field<uint32_t> customer;
  Field<uint32_t> carrier;  // 0 is null: not delivered
  Field<uint32_t> line_count;
  Field<uint32_t> all_local;
};

/// The new-order table has no columns but its key: the tree's entry is the row.
using NewOrderRow = uint64_t;

template <class H>
struct OrderLine {
  static constexpr const char* kTypeName = "tpcc.order_line";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit OrderLine(uint64_t row_key) : key(row_key) {}

  Field<uint64_t> key;
  Field<uint32_t> item;
  Field<uint32_t> supply_warehouse;
  Field<uint64_t> delivery_date;  // 0 is null: not delivered
  Field<int64_t> amount;
  Field<uint32_t> quantity;
  Field<Text<24>> dist_info;
};

template <class H>
struct Item {
  static constexpr const char* kTypeName = "tpcc.item";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit Item(uint32_t row_id) : id(row_id) {}

  Field<uint32_t> id;
  Field<uint32_t> image;
  Field<int64_t> price;
  Field<Text<24>> name;
  Field<Text<50>> data;
};

template <class H>
struct Stock {
  static constexpr const char* kTypeName = "tpcc.stock";
  template <class T>
  using Field = typename H::template Field<T>;

  explicit Stock(uint64_t row_key) : key(row_key) {}

  Field<uint64_t> key;
  Field<int32_t> quantity;
  Field<uint32_t> order_count;
  Field<uint32_t> remote_count;
  Field<int64_t> ytd;
  std::array<Field<Text<24>>, kMaxDistricts> dist;
  Field<Text<50>> data;
};

}  // namespace holdfast::tpcc
