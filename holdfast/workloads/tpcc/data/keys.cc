// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/data/keys.h"

#include "holdfast/base/status.h"

namespace holdfast::tpcc {

std::string show_key(uint64_t key) {
  return "(" + std::to_string(warehouse_of(key)) + ", " + std::to_string(district_of(key)) + ", " +
         std::to_string(number_of(key)) + ")";
}

std::string show_line_key(uint64_t key) {
  std::string text = show_key(order_of_line(key));
  text.pop_back();
  return text + ", " + std::to_string(line_of(key)) + ")";
}

void throw_missing(const char* table, uint64_t key) {
  throw Error(Status(Code::corrupt, std::string("tpcc: the ") + table +
                                        " table has no row with key " + std::to_string(key)));
}

}  // namespace holdfast::tpcc
