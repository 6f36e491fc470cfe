// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

Result<Parameters> Parameters::make(const WorkloadInfo& info,
                                    const std::map<std::string, std::string>& given) {
  Parameters parameters;
  for (const auto& p : info.parameters) {
    parameters.values_[p.name] = p.fallback;
  }
  if (Status status = check_option_names(std::string("workload ") + info.name, "parameter",
                                         info.parameters, given);
      !status.ok()) {
    return status;
  }
  for (const auto& [name, value] : given) {
    parameters.values_[name] = value;
  }
  return parameters;
}

int64_t Parameters::number(const std::string& name, int64_t low, int64_t high) const {
  return parse_integer("parameter " + name, values_.at(name), low, high).value();
}

double Parameters::real(const std::string& name, double low, double high) const {
  return parse_real("parameter " + name, values_.at(name), low, high).value();
}

size_t Parameters::choice(const std::string& name, std::span<const char* const> names) const {
  const std::string& text = values_.at(name);
  for (size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) {
      return i;
    }
  }
  throw Error(wrong_value("parameter " + name, text, "one of " + row_names(names)));
}

int Parameters::partitions_in(const std::map<std::string, std::string>& given) {
  constexpr int64_t kMost = 30;  // each has a root, and a heap has 32 roots
  const auto number_of = [&](const char* name) {
    const auto at = given.find(name);
    return at == given.end()
               ? 0
               : parse_integer(std::string("parameter ") + name, at->second, 0, kMost).value();
  };
  const int64_t shared = number_of("partitions");
  const int64_t own = number_of("copies");
  if (shared != 0 && own != 0) {
    throw Error(Status(Code::invalid_argument,
                       "partitions and copies are two ways to divide a heap; give one of them"));
  }
  return static_cast<int>(shared + own);
}

Parameters Parameters::in_partition(int partition) const {
  Parameters part = *this;
  part.partition_ = partition;
  return part;
}

std::vector<std::map<std::string, std::string>> root_variants(const WorkloadInfo& info) {
  std::vector<std::map<std::string, std::string>> variants(1);
  for (const OptionInfo& p : info.parameters) {
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

/// Returns the attached judge. Throws the Error of attaching it, or misuse if there is none.
WorkloadInstance& WorkloadInstance::appointed() {
  if (judge_ == nullptr) {
    throw Error(Status(Code::misuse,
                       std::string("workload ") + info().name + " has no judge; see judged_by()"));
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
