// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/runner/spec/guarded.h"

namespace holdfast {

/// Keeps the order of insertion, so that people read the fields in the order the code writes them.
using Json = nlohmann::ordered_json;

/// Reads the fields of a JSON object, each at most once, with a fallback for absent ones. All
/// members throw Error(invalid_argument) with a message that names the field. finish() refuses
/// fields that were never read, so that a misspelt name is not silently ignored.
class Fields {
 public:
  Fields(const Json& object, std::string what);

  std::string text(const std::string& name, const std::string& fallback);
  /// A text that must be there and not empty.
  std::string required_text(const std::string& name);
  int64_t number(const std::string& name, int64_t fallback, int64_t low, int64_t high);
  double real(const std::string& name, double fallback, double low, double high);
  bool flag(const std::string& name, bool fallback);
  /// A list of texts; a single text counts as a list of one.
  std::vector<std::string> texts(const std::string& name);
  std::vector<int> numbers(const std::string& name, int fallback, int low, int high);
  /// An object whose values become text as on a command line (true, 12, 0.5, abc).
  std::map<std::string, std::string> map(const std::string& name);
  /// An object as it is; an empty one where it is left out.
  Json object(const std::string& name);
  bool has(const std::string& name) { return find(name) != nullptr; }

  void finish() const;

 private:
  const Json* find(const std::string& name);
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

  const Json& object_;
  std::string what_;
  std::set<std::string> known_;
};

/// Joins names for a message: "a, b, c".
std::string join(const std::vector<std::string>& names);

}  // namespace holdfast
