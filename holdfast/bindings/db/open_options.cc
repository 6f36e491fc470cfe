// SPDX-License-Identifier: Apache-2.0
#include "holdfast/bindings/db/open_options.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <map>
#include <optional>
#include <string>

#include "holdfast/bindings/db/database.h"

namespace holdfast::bindings {
namespace {

/// Returns the option of this name. `type` says in words what a T takes.
template <class T>
T option(const nb::dict& given, const char* name, const std::string& type) {
  const nb::object value = given[name];
  T result{};
  if (nb::try_cast(value, result)) {
    return result;
  }
  const std::string shown = nb::cast<std::string>(nb::repr(value));
  if (type.starts_with("an int") && PyLong_Check(value.ptr())) {
    throw nb::value_error((std::string(name) + " is out of range: " + shown).c_str());
  }
  throw nb::type_error((std::string(name) + " is " + type + ", not " + shown).c_str());
}

template <class T>
T number(const nb::dict& given, const char* name) {
  return option<T>(given, name, "an int");
}

std::optional<size_t> number_or_none(const nb::dict& given, const char* name) {
  return option<std::optional<size_t>>(given, name, "an int or None");
}

std::optional<std::string> text_or_none(const nb::dict& given, const char* name) {
  return option<std::optional<std::string>>(given, name, "a str or None");
}

}  // namespace

bool flag(const nb::dict& given, const char* name) {
  return option<bool>(given, name, "a bool");
}

db::Options to_options(const nb::dict& given) {
  db::Options options;
  options.create_if_missing = flag(given, "create");
  options.read_only = flag(given, "read_only");
  options.engine = text_or_none(given, "engine").value_or("");
  options.engine_options =
      option<std::map<std::string, std::string>>(given, "engine_options", "a mapping from str");
  options.initial_bytes = number<size_t>(given, "initial_bytes");
  options.max_bytes = number<size_t>(given, "max_bytes");
  options.journal_bytes = number_or_none(given, "journal_bytes");
  options.max_threads = number<int>(given, "max_threads");
  options.change_feed_bytes = number_or_none(given, "change_feed_bytes");
  if (const auto name = text_or_none(given, "domain")) {
    auto domain = parse_domain(*name);
    if (!domain) {
      raise(to_string(domain.status().code()), domain.status().message());
    }
    options.domain = *domain;
  }
  options.force = flag(given, "force");
  options.lag = number<uint64_t>(given, "lag");
  options.lag_ms = number<uint64_t>(given, "lag_ms");
  options.paranoid_checks = flag(given, "verify");
  return options;
}

}  // namespace holdfast::bindings
