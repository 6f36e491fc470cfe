// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/weights.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>

namespace holdfast {

Weights::Weights(std::vector<uint32_t> weights)
    : weights_(std::move(weights)),
      total_(std::accumulate(weights_.begin(), weights_.end(), uint64_t{0})) {}

Result<Weights> Weights::parse(const std::string& text, std::span<const char* const> operations) {
  const auto wrong = [](const std::string& why) { return Status(Code::invalid_argument, why); };
  std::vector<uint32_t> weights(operations.size());
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      return wrong("'" + std::string(part) + "' is neither a mix nor transaction:weight");
    }
    const auto named = std::find(operations.begin(), operations.end(), part.substr(0, colon));
    uint32_t weight = 0;
    const char* const end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + colon + 1, end, weight);
    if (named == operations.end() || error != std::errc() || stop != end || weight > kMost) {
      return wrong("'" + std::string(part) + "' is not a transaction and its weight");
    }
    weights[static_cast<size_t>(named - operations.begin())] = weight;
  }
  if (std::all_of(weights.begin(), weights.end(), [](uint32_t weight) { return weight == 0; })) {
    return wrong("all weights are zero");
  }
  return Weights(std::move(weights));
}

}  // namespace holdfast
