// SPDX-License-Identifier: Apache-2.0
//
// The random data of TPC-C: clause 2.1.6 (NURand), 4.3.2 (strings, last names) and 4.3.3.
#pragma once

#include <cstdint>
#include <string_view>

#include "holdfast/base/random.h"
#include "holdfast/workloads/tpcc/data/schema.h"

namespace holdfast::tpcc {

/// The constants C of NURand. `last_load` shapes the last names of the population, `last_run` the
/// last names in the transactions' inputs. Clause 2.1.6.1 limits the difference between the two.
struct NurandConstants {
  uint32_t last_load = 0;
  uint32_t last_run = 0;
  uint32_t customer = 0;
  uint32_t item = 0;
};

NurandConstants choose_constants(Random& random);
/// True if the two C of C_LAST differ by 65 to 119, but neither by 96 nor by 112 (clause 2.1.6.1).
bool allowed_last_name_delta(uint32_t load, uint32_t run);

/// A non-uniform random number in [low, high] (clause 2.1.6).
uint32_t nurand(Random& random, uint32_t a, uint32_t c, uint32_t low, uint32_t high);

inline uint32_t uniform(Random& random, uint32_t low, uint32_t high) {
  return low + static_cast<uint32_t>(random.below(uint64_t{high - low} + 1));
}

inline constexpr uint32_t kLastNames = 1000;

/// Returns three syllables for a number below 1000 (clause 4.3.2.3).
Text<16> last_name(uint32_t number);
/// The inverse, or -1 if the text is not made of three syllables. It is unique, because no syllable
/// is a prefix of another.
int last_name_number(std::string_view text);

/// A key of 64 bits that sorts a district's customers by last name, then by first name. It contains
/// the last name's number, the first seven characters of the first name, and the customer's number.
/// First names of the population have 8 to 16 random characters. Customers whose names agree in the
/// first seven sort by number.
uint64_t name_key(const Text<16>& last, const Text<16>& first, uint32_t customer);
/// Keys of one last name are in [name_range(n), name_range(n + 1)). n is below 1024.
constexpr uint64_t name_range(uint32_t number) {
  return uint64_t{number} << 54;
}

void fill_letters(Random& random, char* to, size_t count);
void fill_digits(Random& random, char* to, size_t count);

/// The standard's "random a-string": letters and digits, of random length.
template <size_t N>
Text<N> random_letters(Random& random, uint32_t low, uint32_t high) {
  Text<N> text{};
  fill_letters(random, text.bytes, uniform(random, low, high));
  return text;
}

/// The standard's "random n-string" of exactly N digits.
template <size_t N>
Text<N> random_digits(Random& random) {
  Text<N> text{};
  fill_digits(random, text.bytes, N);
  return text;
}

Address random_address(Random& random);
/// I_DATA and S_DATA: 26 to 50 characters; 10 % of the rows contain "ORIGINAL".
Text<50> random_data(Random& random);
bool is_original(const Text<50>& data);

}  // namespace holdfast::tpcc
