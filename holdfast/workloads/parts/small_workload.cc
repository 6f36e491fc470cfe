// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/small_workload.h"

#include <array>
#include <numeric>

namespace holdfast {

std::vector<int64_t> sample_keys(int64_t range, int64_t count, uint64_t seed) {
  std::vector<int64_t> keys(static_cast<size_t>(range));
  std::iota(keys.begin(), keys.end(), int64_t{0});
  Random random(seed);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    std::swap(keys[i], keys[i + random.below(keys.size() - i)]);
  }
  keys.resize(static_cast<size_t>(count));
  return keys;
}

KeySpace key_space(const Parameters& parameters, int64_t largest) {
  const int64_t size = parameters.number("size", 1, largest);
  const int64_t range = parameters.number("range", 0, 2 * largest);
  if (range != 0 && range < size) {
    throw Error(Status(Code::invalid_argument, "range=" + std::to_string(range) +
                                                   " has no room for size=" + std::to_string(size) +
                                                   " different keys"));
  }
  const int64_t steady = parameters.number("pairs", 0, 1) != 0 ? size : 2 * size;
  return {size, range == 0 ? steady : range};
}

RandomKeys::RandomKeys(const Parameters& parameters) {
  constexpr std::array kKeys = {"uniform", "zipf"};
  const double skew = parameters.real("skew", 0, 10);
  if (parameters.choice("keys", kKeys) == 1) {
    skew_ = skew;
  }
}

void RandomKeys::set_range(int64_t range) {
  range_ = static_cast<uint64_t>(range);
  if (skew_) {
    zipf_.emplace(range_, *skew_);
  }
  step_ =
      static_cast<uint64_t>(static_cast<double>(range_) * 0.6180339887) + 1;  // the golden ratio
  while (std::gcd(step_, range_) != 1) {
    ++step_;
  }
}

uint64_t words_of(const Parameters& parameters, const char* name, int64_t most) {
  const int64_t bytes = parameters.number(name, 8, most);
  if (bytes % 8 != 0) {
    throw Error(
        wrong_value(std::string("parameter ") + name, parameters.text(name), "a multiple of 8"));
  }
  return static_cast<uint64_t>(bytes) / 8;
}

}  // namespace holdfast
