// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/json.h"

#include <utility>

namespace holdfast {

Fields::Fields(const Json& object, std::string what) : object_(object), what_(std::move(what)) {
  if (!object.is_object()) {
    throw Error(Status(Code::invalid_argument, what_ + " must be an object"));
  }
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::refuse(const std::string& name, const std::string& expected) const {
  throw Error(Status(Code::invalid_argument, what_ + ": " + name + " must be " + expected +
                                                 ", not " + object_.at(name).dump()));
}

std::string Fields::text(const std::string& name, const std::string& fallback) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_string()) {
    refuse(name, "a text");
  }
  return value->get<std::string>();
}

std::string Fields::required_text(const std::string& name) {
  std::string value = text(name, "");
  if (value.empty()) {
    throw Error(Status(Code::invalid_argument, what_ + " needs '" + name + "', a text"));
  }
  return value;
}

int64_t Fields::number(const std::string& name, int64_t fallback, int64_t low, int64_t high) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number_integer() || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    refuse(name, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value->get<int64_t>();
}

double Fields::real(const std::string& name, double fallback, double low, double high) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
    refuse(name, "a number from " + Json(low).dump() + " to " + Json(high).dump());
  }
  return value->get<double>();
}

bool Fields::flag(const std::string& name, bool fallback) {
  const Json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    refuse(name, "true or false");
  }
  return value->get<bool>();
}

std::vector<std::string> Fields::texts(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return {};
  }
  if (value->is_string()) {
    return {value->get<std::string>()};
  }
  if (!value->is_array()) {
    refuse(name, "a list of texts");
  }
  std::vector<std::string> list;
  for (const Json& item : *value) {
    if (!item.is_string()) {
      refuse(name, "a list of texts");
    }
    list.push_back(item.get<std::string>());
  }
  return list;
}

std::vector<int> Fields::numbers(const std::string& name, int fallback, int low, int high) {
  const Json* value = find(name);
  if (value == nullptr) {
    return {fallback};
  }
  const Json items = value->is_array() ? *value : Json::array({*value});
  std::vector<int> list;
  for (const Json& item : items) {
    if (!item.is_number_integer() || item.get<int64_t>() < low || item.get<int64_t>() > high) {
      refuse(name, "whole numbers from " + std::to_string(low) + " to " + std::to_string(high));
    }
    list.push_back(item.get<int>());
  }
  if (list.empty()) {
    refuse(name, "a list that is not empty");
  }
  return list;
}

std::map<std::string, std::string> Fields::map(const std::string& name) {
  const Json* value = find(name);
  std::map<std::string, std::string> result;
  if (value == nullptr) {
    return result;
  }
  if (!value->is_object()) {
    refuse(name, "an object of names and values");
  }
  for (const auto& [key, item] : value->items()) {
    if (item.is_structured() || item.is_null()) {
      refuse(name, "an object of names and simple values");
    }
    result[key] = item.is_string() ? item.get<std::string>() : item.dump();
  }
  return result;
}

Json Fields::object(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) {
    return Json::object();
  }
  if (!value->is_object()) {
    refuse(name, "an object");
  }
  return *value;
}

void Fields::finish() const {
  for (const auto& [key, item] : object_.items()) {
    if (known_.count(key) == 0) {
      throw Error(Status(Code::invalid_argument,
                         what_ + " has no field '" + key + "'; it has " +
                             join(std::vector<std::string>(known_.begin(), known_.end()))));
    }
  }
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace holdfast
