// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/small_workload.h"

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

}  // namespace holdfast
