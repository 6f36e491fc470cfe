// SPDX-License-Identifier: Apache-2.0
//
// Primary keys packed into 64 bits, so that every table is a B+tree over whole numbers:
//
//   district          w:16 d:8
//   customer          w:16 d:8 c:32
//   order, new-order  w:16 d:8 o:32
//   order-line        w:16 d:8 o:32 line:4
//   history           w:16 d:8 h:32     (the standard gives history no key; h counts per district)
//   stock             w:16 i:32
//
// Numeric order is the order of the columns from left to right. So ranges of rows ("the lines of an
// order", "the oldest new order") are ranges of numbers.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::tpcc {

inline constexpr uint32_t kMaxWarehouses = (1u << 16) - 1;
inline constexpr uint32_t kMaxLines = 15;

constexpr uint64_t district_key(uint32_t w, uint32_t d) {
  return uint64_t{w} << 8 | d;
}
constexpr uint64_t customer_key(uint32_t w, uint32_t d, uint32_t c) {
  return district_key(w, d) << 32 | c;
}
constexpr uint64_t order_key(uint32_t w, uint32_t d, uint32_t o) {
  return district_key(w, d) << 32 | o;
}
constexpr uint64_t history_key(uint32_t w, uint32_t d, uint32_t h) {
  return district_key(w, d) << 32 | h;
}
/// Line 0 sorts before the first line; line 15 is the last possible one.
constexpr uint64_t order_line_key(uint64_t order, uint32_t line) {
  return order << 4 | line;
}
constexpr uint64_t stock_key(uint32_t w, uint32_t i) {
  return uint64_t{w} << 32 | i;
}
/// Key in the secondary index of one district's orders: by customer, then by order.
constexpr uint64_t order_by_customer_key(uint32_t c, uint32_t o) {
  return uint64_t{c} << 32 | o;
}

/// The parts of a customer, order or history key.
constexpr uint32_t warehouse_of(uint64_t key) {
  return static_cast<uint32_t>(key >> 40);
}
constexpr uint32_t district_of(uint64_t key) {
  return static_cast<uint32_t>(key >> 32) & 0xff;
}
constexpr uint32_t number_of(uint64_t key) {
  return static_cast<uint32_t>(key);
}

constexpr uint64_t order_of_line(uint64_t key) {
  return key >> 4;
}
constexpr uint32_t line_of(uint64_t key) {
  return static_cast<uint32_t>(key) & 0xf;
}

/// Returns "(w, d, n)" for a message, from a customer, order or history key.
std::string show_key(uint64_t key);
/// Returns "(w, d, o, line)".
std::string show_line_key(uint64_t key);

/// Throws Error(corrupt) for a missing row that every consistent database has.
[[noreturn]] void throw_missing(const char* table, uint64_t key);

}  // namespace holdfast::tpcc
