// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/workload.h"

#include <charconv>

namespace holdfast {

Result<Parameters> Parameters::make(const WorkloadInfo& info,
                                    const std::map<std::string, std::string>& given) {
  Parameters parameters;
  for (const auto& p : info.parameters) {
    parameters.values_[p.name] = p.fallback;
  }
  for (const auto& [name, value] : given) {
    if (parameters.values_.count(name) == 0) {
      std::string known;
      for (const auto& p : info.parameters) {
        known += std::string(known.empty() ? "" : ", ") + p.name;
      }
      return Status(Code::invalid_argument, std::string("workload ") + info.name +
                                                " has no parameter '" + name + "'; it has " +
                                                (known.empty() ? "none" : known));
    }
    parameters.values_[name] = value;
  }
  return parameters;
}

int64_t Parameters::number(const std::string& name, int64_t low, int64_t high) const {
  const std::string& text = values_.at(name);
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < low || value > high) {
    throw Error(Status(Code::invalid_argument,
                       "parameter " + name + "=" + text + " is not a whole number from " +
                           std::to_string(low) + " to " + std::to_string(high)));
  }
  return value;
}

double Parameters::real(const std::string& name, double low, double high) const {
  const std::string& text = values_.at(name);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw Error(Status(Code::invalid_argument, "parameter " + name + "=" + text +
                                                   " is not a number from " + std::to_string(low) +
                                                   " to " + std::to_string(high)));
  }
  return value;
}

size_t Parameters::choice(const std::string& name, std::span<const char* const> names) const {
  const std::string& text = values_.at(name);
  std::string known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) {
      return i;
    }
    known += std::string(i == 0 ? "" : ", ") + names[i];
  }
  throw Error(
      Status(Code::invalid_argument, "parameter " + name + "=" + text + " is none of " + known));
}

std::vector<std::map<std::string, std::string>> root_variants(const WorkloadInfo& info) {
  std::vector<std::map<std::string, std::string>> variants(1);
  for (const ParameterInfo& p : info.parameters) {
    std::vector<std::map<std::string, std::string>> more;
    for (const auto& variant : variants) {
      for (const char* value : p.root_types) {
        more.push_back(variant);
        more.back()[p.name] = value;
      }
    }
    if (!more.empty()) {
      variants = std::move(more);
    }
  }
  return variants;
}

namespace {

Status no_model(const WorkloadInfo& info) {
  return {Code::unsupported, std::string("workload ") + info.name +
                                 " has no sequential model; model() says which have one"};
}

}  // namespace

Request WorkloadInstance::draw(int, Random&) {
  throw Error(no_model(info()));
}

OperationResult WorkloadInstance::perform(int, const Request&) {
  throw Error(no_model(info()));
}

/// Throws the Error that attaching it gave.
WorkloadInstance& WorkloadInstance::appointed() {
  if (judge_ == nullptr) {
    throw Error(Status(Code::misuse, std::string("workload ") + info().name +
                                         ": nobody was told to judge; see judged_by()"));
  }
  if (!judge_attached_) {
    judge_->attach().check();
    judge_attached_ = true;
  }
  return *judge_;
}

Status WorkloadInstance::verify(const OperationResult& acknowledged) {
  return appointed().verify(acknowledged);
}

Status WorkloadInstance::check() {
  return appointed().check();
}

bool WorkloadInstance::list_blocks(const std::function<void(const void*, size_t)>& visit) {
  return appointed().list_blocks(visit);
}

Result<ModelState> WorkloadInstance::observe() {
  return model() == nullptr ? no_model(info()) : appointed().observe();
}

}  // namespace holdfast
