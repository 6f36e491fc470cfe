// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/lag/lag_options.h"

namespace holdfast {
namespace {

constexpr uint64_t kUsualBound = 1024;
constexpr uint64_t kMostBound = uint64_t{1} << 32;
constexpr uint64_t kMostMilliseconds = 3'600'000;

}  // namespace

Result<LagOptions> LagOptions::parse(const Options& options) {
  const auto commit = options.find(kCommitOption.name);
  const std::string word = commit == options.end() ? "" : commit->second;
  if (commit != options.end() && word != "durable" && word != "later") {
    return wrong_value("option commit", word, "durable or later");
  }
  const bool timed = options.contains(kLagTimeOption.name);
  const uint64_t usual = timed || word == "later" ? kUsualBound : 0;
  const auto bound = option_number(options, kLagOption.name, usual, 0, kMostBound);
  const auto age = option_number(options, kLagTimeOption.name, 100, 1, kMostMilliseconds);
  if (!bound || !age) {
    return bound ? age.status() : bound.status();
  }
  return LagOptions{.bound = bound.value(),
                    .age_ms = age.value(),
                    .later = bound.value() > 0 && word != "durable"};
}

Promise LagOptions::promise(const Options& options) {
  const LagOptions lag = parse(options).value();
  return {.durability = lag.later ? Durability::lagging : Durability::strict, .bound = lag.bound};
}

}  // namespace holdfast
