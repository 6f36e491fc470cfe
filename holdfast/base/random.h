// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// A step of SplitMix64 (Steele, Lea, Flood 2014): a hash that mixes all bits of x well. Applied
/// again and again it gives a stream of random numbers for any seed.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The random number generator xoshiro256** (Blackman and Vigna). A seed gives the same numbers on
/// every platform; std::uniform_int_distribution does not promise that. One thread at a time.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (auto& word : state_) {
      word = seed = mix64(seed);
    }
  }

  uint64_t next() {
    const uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// A number in [0, bound), uniform; bound > 0. The bias of the multiply-shift is below 2^-32 for
  /// the bounds used here.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  /// A number in [low, high], uniform, both ends included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }

  /// True with this probability.
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace holdfast
