// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tatp/population.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace holdfast::tatp {
namespace {

uint64_t letters(Random& random, int count) {
  uint64_t text = 0;
  for (int i = 0; i < count; ++i) {
    text = text << 8 | ('A' + random.below(26));
  }
  return text;
}

/// The first `count` of the numbers below N, in random order.
template <size_t N>
std::array<size_t, N> shuffled(Random& random, size_t count) {
  std::array<size_t, N> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + random.below(N - i)]);
  }
  return order;
}

}  // namespace

Population population_of(uint64_t seed, uint64_t subscriber) {
  constexpr uint64_t kFlags = ((uint64_t{1} << 10) - 1) | ((uint64_t{1} << 40) - 1) << 16;
  constexpr uint64_t kLastBytes = (uint64_t{1} << 16) - 1;
  Random random(mix64(seed) ^ subscriber);
  Population all;
  all.subscriber = {subscriber,
                    random.next() & kFlags,
                    {random.next(), random.next() & kLastBytes},
                    random.next() >> 32,
                    random.next() >> 32};
  const uint64_t infos = 1 + random.below(kTypes);
  const auto info_types = shuffled<kTypes>(random, infos);
  for (uint64_t i = 0; i < infos; ++i) {
    const uint64_t numbers = random.below(1 << 16);
    const uint64_t data3 = letters(random, 3);
    all.access[info_types[i]] = {1 | numbers << 8 | data3 << 24, letters(random, 5)};
  }
  const uint64_t facilities = 1 + random.below(kTypes);
  const auto facility_types = shuffled<kTypes>(random, facilities);
  for (uint64_t i = 0; i < facilities; ++i) {
    const size_t type = facility_types[i];
    const bool active = random.below(100) < 85;
    const uint64_t error_control = random.below(256);
    const uint64_t data_a = random.below(256);
    all.facility[type] = Facility(active, error_control, data_a, letters(random, 5)).row();
    const uint64_t forwardings = random.below(kStartTimes + 1);
    const auto starts = shuffled<kStartTimes>(random, forwardings);
    for (uint64_t f = 0; f < forwardings; ++f) {
      const uint64_t end_time = starts[f] * kHours + 1 + random.below(kHours);
      all.forwarding[type * kStartTimes + starts[f]] =
          Forwarding{end_time, random.below(kDigits)}.row();
    }
  }
  return all;
}

uint64_t draw_subscriber(Random& random, uint64_t subscribers) {
  const uint64_t a = subscribers <= 1'000'000    ? 65'535
                     : subscribers <= 10'000'000 ? 1'048'575
                                                 : 2'097'151;
  const uint64_t one = random.below(a + 1);
  const uint64_t other = 1 + random.below(subscribers);
  return (one | other) % subscribers + 1;
}

}  // namespace holdfast::tatp
