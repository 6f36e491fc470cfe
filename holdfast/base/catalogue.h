// SPDX-License-Identifier: Apache-2.0
//
// Look-up by name in a registry, and the one error for an unknown name. All lists that a user can
// choose from (engines, designs, workloads, machines, domains, benchmarks) are searched through
// these functions, so that each error lists the right names.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "holdfast/base/status.h"

namespace holdfast {

/// The name of a row: a text itself, the to_string() of an enumerator, else the member `name`, else
/// the name of its description. A pointer stands for the row that it points to.
template <class Row>
std::string_view row_name(const Row& row) {
  if constexpr (std::convertible_to<const Row&, std::string_view>) {
    return row;
  } else if constexpr (std::is_enum_v<Row>) {
    return to_string(row);
  } else if constexpr (std::is_pointer_v<Row>) {
    return row_name(*row);
  } else if constexpr (requires { row.name; }) {
    return row.name;
  } else {
    return row.description->name;
  }
}

/// The names of all rows for a message: "a, b, c"; "none" for an empty list.
template <class Rows>
std::string row_names(const Rows& rows) {
  std::string all;
  for (const auto& row : rows) {
    all.append(all.empty() ? "" : ", ").append(row_name(row));
  }
  return all.empty() ? "none" : all;
}

/// The error "there is no <kind> '<name>'; there are <names>".
template <class Rows>
Status unknown_name(std::string_view kind, std::string_view name, const Rows& rows,
                    Code code = Code::not_found) {
  std::string text = "there is no ";
  text.append(kind).append(" '").append(name).append("'; there are ").append(row_names(rows));
  return {code, std::move(text)};
}

/// Returns a pointer to the row with this name, or unknown_name(). Rows that are pointers are
/// returned as they are. The pointer is valid as long as `rows`.
template <class Rows>
auto find_row(std::string_view kind, std::string_view name, const Rows& rows,
              Code code = Code::not_found) {
  using Row = std::remove_cvref_t<decltype(*std::begin(rows))>;
  using Found = std::conditional_t<std::is_pointer_v<Row>, Row, const Row*>;
  for (const auto& row : rows) {
    if (row_name(row) == name) {
      if constexpr (std::is_pointer_v<Row>) {
        return Result<Found>(row);
      } else {
        return Result<Found>(&row);
      }
    }
  }
  return Result<Found>(unknown_name(kind, name, rows, code));
}

/// The enumerator with this name, or unknown_name() as invalid_argument.
template <class Enum, size_t kCount>
Result<Enum> parse_name(std::string_view kind, std::string_view name,
                        const std::array<Enum, kCount>& values) {
  const auto found = find_row(kind, name, values, Code::invalid_argument);
  return found.ok() ? Result<Enum>(*found.value()) : found.status();
}

}  // namespace holdfast
