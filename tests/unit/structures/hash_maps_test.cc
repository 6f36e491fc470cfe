// SPDX-License-Identifier: Apache-2.0
//
// Do keys keep their hashes, and are impossible numbers of buckets refused?
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/structures/fixed_hash_map.h"
#include "holdfast/structures/hash.h"

namespace holdfast::hash_maps_test {
namespace {

template <class K>
uint64_t hash(K key) {
  return KeyHash<K>()(key);
}

enum class Letter : char { umlaut = static_cast<char>(0xe4) };
enum class Choice : uint16_t { other = 0xffff };
struct Pair {
  uint64_t first;
  uint32_t second;
  char text[4];
};

// Files hold what follows from these numbers.
TEST(KeyHash, NumbersKeepTheirHashes) {
  EXPECT_EQ(hash(int64_t{-28}), 0x160c6cfea433cfe8u);
  EXPECT_EQ(hash(uint64_t{0xe4}), 0x84dcc1c7b6773c56u);
  EXPECT_EQ(hash(true), 0x910a2dec89025cc1u);
  EXPECT_EQ(hash(Choice::other), 0xcf0f635e85b85d76u);
  EXPECT_EQ(hash(char16_t{0xffff}), 0xcf0f635e85b85d76u);
  EXPECT_EQ(hash(uint32_t{0xffffffff}), 0x73b13ba2aff181c0u);
}

// Also where char has no sign: on ARM, and with -funsigned-char.
TEST(KeyHash, CharactersHaveASignOnAllPlatforms) {
  EXPECT_EQ(hash(static_cast<char>(0xe4)), hash(int64_t{-28}));
  EXPECT_EQ(hash(Letter::umlaut), hash(int64_t{-28}));
  EXPECT_EQ(hash(static_cast<signed char>(-28)), hash(int64_t{-28}));
  EXPECT_EQ(hash(static_cast<unsigned char>(0xe4)), hash(uint64_t{0xe4}));
  EXPECT_EQ(hash(char8_t{0xe4}), hash(uint64_t{0xe4}));
  EXPECT_EQ(hash(static_cast<wchar_t>(0xfffffff0)), hash(int64_t{-16}));
}

// Also with -std=gnu++20, where a number of 128 bits is integral.
TEST(KeyHash, AllBytesOfAKeyCount) {
  __extension__ using Wide = __int128;
  EXPECT_EQ(hash(Wide{1}), 0x5d713761adfd2070u);
  EXPECT_EQ(hash(Wide{1} << 64 | Wide{1}), 0x7fc9967ea25ea21cu);
  EXPECT_EQ(hash(Pair{1, 2, {'a', 'b', 'c', 'd'}}), 0xd07e3a43aeabbe00u);
  EXPECT_EQ(hash(std::array<char, 3>{'a', 'b', '\xe4'}), 0x0a9e2d2854396105u);
}

TEST(FixedHashMap, AnImpossibleNumberOfBucketsIsAnError) {
  using Map = FixedHashMap<PlainHeap, uint64_t, uint64_t>;
  PlainHeap heap;
  const auto code = [&](uint64_t buckets) {
    return heap.update([&] { PlainHeap::make<Map>(buckets); }).code();
  };
  EXPECT_EQ(code(0), Code::invalid_argument);
  EXPECT_EQ(code((uint64_t{1} << 61) + 1), Code::invalid_argument) << "8 bytes of buckets";
  EXPECT_EQ(code(uint64_t{1} << 61), Code::invalid_argument) << "no byte of buckets";
  EXPECT_EQ(code(UINT64_MAX), Code::invalid_argument);
  EXPECT_EQ(code(UINT64_MAX / 8), Code::out_of_space);
  EXPECT_EQ(code(1), Code::ok);
}

}  // namespace
}  // namespace holdfast::hash_maps_test
