// SPDX-License-Identifier: Apache-2.0
//
// A program of one compiler opens a heap file made by another compiler's. So this test spells the
// expected texts out, and both compilers compile it.
#include "holdfast/base/type_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/heap/type_name.h"
#include "holdfast/structures/bplus_tree.h"
#include "holdfast/structures/hash_map.h"

namespace holdfast::type_text_test {
namespace {

struct Named {
  static constexpr const char* kTypeName = "test.Named";
};

TEST(TypeText, IntegersOfEverySizeAreSpeltOneWay) {
  EXPECT_EQ(type_name<int16_t>(), "short int");
  EXPECT_EQ(type_name<uint16_t>(), "short unsigned int");
  EXPECT_EQ(type_name<int32_t>(), "int");
  EXPECT_EQ(type_name<uint32_t>(), "unsigned int");
  EXPECT_EQ(type_name<int64_t>(), "long int");
  EXPECT_EQ(type_name<uint64_t>(), "long unsigned int");
  EXPECT_EQ(type_name<long long>(), "long long int");
  EXPECT_EQ(type_name<unsigned long long>(), "long long unsigned int");
  EXPECT_EQ(type_name<uint8_t>(), "unsigned char");
  EXPECT_EQ(type_name<double>(), "double");
  EXPECT_EQ(type_name<bool>(), "bool");
}

TEST(TypeText, StructuresNameWhatTheyHold) {
  using Tree = BPlusTree<PlainHeap, uint64_t, int16_t>;
  EXPECT_STREQ(Tree::kTypeName, "holdfast.BPlusTree<long unsigned int, short int>");
  EXPECT_EQ((type_name<BPlusTree<PlainHeap, int, Named>>()), "holdfast.BPlusTree<int, test.Named>");
  using Map = HashMap<PlainHeap, int64_t, int64_t>;
  EXPECT_STREQ(Map::kTypeName, "holdfast.HashMap<long int, long int, holdfast::KeyHash<long int>>");
}

TEST(TypeText, AVeryLongNameKeepsItsStartAndDiffersByItsEnd) {
  using A = HashMap<PlainHeap, int64_t, int64_t>;
  using B = HashMap<PlainHeap, int64_t, uint64_t>;
  EXPECT_LE(type_name<A>().size(), 47U);
  EXPECT_EQ(type_name<A>().substr(0, 30), type_name<B>().substr(0, 30));
  EXPECT_NE(type_name<A>(), type_name<B>());
}

}  // namespace
}  // namespace holdfast::type_text_test
