// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/tpcc/data/random.h"

#include <array>

namespace holdfast::tpcc {
namespace {

constexpr std::array<std::string_view, 10> kSyllables = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                         "ESE", "ANTI",  "CALLY", "ATION", "EING"};
constexpr std::string_view kOriginal = "ORIGINAL";
/// In ASCII order, so that the characters' ranks sort as the characters do.
constexpr std::string_view kLetters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr uint32_t rank_of(char c) {
  if (c >= 'a') {
    return static_cast<uint32_t>(c - 'a') + 37;
  }
  if (c >= 'A') {
    return static_cast<uint32_t>(c - 'A') + 11;
  }
  return c >= '0' ? static_cast<uint32_t>(c - '0') + 1 : 0;  // the end of the name sorts first
}

/// Draws `per_word` characters of `alphabet` from every random word. They are the leading digits of
/// the word, read as a fraction, in base alphabet.size(). That is cheap: a population writes some
/// 50 million characters per warehouse.
void fill(Random& random, std::string_view alphabet, size_t per_word, char* to, size_t count) {
  __extension__ using Wide = unsigned __int128;
  while (count > 0) {
    uint64_t fraction = random.next();
    const size_t n = std::min(count, per_word);
    for (size_t i = 0; i < n; ++i) {
      const Wide product = static_cast<Wide>(fraction) * alphabet.size();
      *to++ = alphabet[static_cast<size_t>(product >> 64)];
      fraction = static_cast<uint64_t>(product);
    }
    count -= n;
  }
}

}  // namespace

bool allowed_last_name_delta(uint32_t load, uint32_t run) {
  const uint32_t delta = load > run ? load - run : run - load;
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

NurandConstants choose_constants(Random& random) {
  NurandConstants c;
  c.last_load = uniform(random, 0, 255);
  do {
    c.last_run = uniform(random, 0, 255);
  } while (!allowed_last_name_delta(c.last_load, c.last_run));
  c.customer = uniform(random, 0, 1023);
  c.item = uniform(random, 0, 8191);
  return c;
}

uint32_t nurand(Random& random, uint32_t a, uint32_t c, uint32_t low, uint32_t high) {
  const uint32_t mixed = uniform(random, 0, a) | uniform(random, low, high);
  return (mixed + c) % (high - low + 1) + low;
}

Text<16> last_name(uint32_t number) {
  Text<16> text{};
  char* to = text.bytes;
  for (const uint32_t digit : {number / 100 % 10, number / 10 % 10, number % 10}) {
    to = std::copy(kSyllables[digit].begin(), kSyllables[digit].end(), to);
  }
  return text;
}

int last_name_number(std::string_view text) {
  int number = 0;
  for (int part = 0; part < 3; ++part) {
    size_t digit = 0;
    while (digit < kSyllables.size() && !text.starts_with(kSyllables[digit])) {
      ++digit;
    }
    if (digit == kSyllables.size()) {
      return -1;
    }
    text.remove_prefix(kSyllables[digit].size());
    number = number * 10 + static_cast<int>(digit);
  }
  return text.empty() ? number : -1;
}

uint64_t name_key(const Text<16>& last, const Text<16>& first, uint32_t customer) {
  uint64_t key = static_cast<uint64_t>(last_name_number(last.view()));
  for (int i = 0; i < 7; ++i) {
    key = key << 6 | rank_of(first.bytes[i]);
  }
  return key << 12 | customer;
}

void fill_letters(Random& random, char* to, size_t count) {
  fill(random, kLetters, 10, to, count);  // 62^10 < 2^60
}

void fill_digits(Random& random, char* to, size_t count) {
  fill(random, kLetters.substr(0, 10), 18, to, count);  // 10^18 < 2^60
}

Address random_address(Random& random) {
  Address address{};
  address.street_1 = random_letters<20>(random, 10, 20);
  address.street_2 = random_letters<20>(random, 10, 20);
  address.city = random_letters<20>(random, 10, 20);
  address.state = random_letters<2>(random, 2, 2);
  fill_digits(random, address.zip.bytes, 4);
  std::copy_n("11111", 5, address.zip.bytes + 4);
  return address;
}

Text<50> random_data(Random& random) {
  const uint32_t length = uniform(random, 26, 50);
  Text<50> text{};
  fill_letters(random, text.bytes, length);
  if (uniform(random, 1, 10) == 1) {
    const auto at = uniform(random, 0, length - static_cast<uint32_t>(kOriginal.size()));
    std::copy(kOriginal.begin(), kOriginal.end(), text.bytes + at);
  }
  return text;
}

bool is_original(const Text<50>& data) {
  return data.view().find(kOriginal) != std::string_view::npos;
}

}  // namespace holdfast::tpcc
