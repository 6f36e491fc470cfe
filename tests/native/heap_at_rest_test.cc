// SPDX-License-Identifier: Apache-2.0
//
// Does HeapAtRest show the content that the transactions have left, with every engine?
#include "holdfast/heap/heap_at_rest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/structures/rb_tree.h"
#include "tests/engine_options.h"
#include "tests/native/world.h"

namespace holdfast::heap_at_rest_test {
namespace {

using World = conformance::NativeWorld<AnyEngine<NativeMachine>>;

template <class H>
struct Root {
  static constexpr const char* kTypeName = "test.Root";
  static constexpr uint32_t kTypeVersion = 1;

  RbTree<H, int64_t, uint64_t> tree;
  typename H::template Field<uint64_t> sum = 0;
};
template <class H>
struct Other {
  static constexpr const char* kTypeName = "test.Other";
  static constexpr uint32_t kTypeVersion = 1;

  typename H::template Field<uint64_t> word = 0;
};

using Entries = std::vector<std::pair<int64_t, uint64_t>>;

template <class H>
Entries entries(H& heap) {
  auto* const root = heap.template find_root<Root<H>>("root").value();
  return heap
      .read([&] {
        Entries all;
        root->tree.for_each([&](int64_t key, uint64_t value) {
          all.emplace_back(key, value);
          return true;
        });
        all.emplace_back(-1, root->sum.load());
        return all;
      })
      .value();
}

class HeapAtRestTest : public ::testing::TestWithParam<const char*> {
 protected:
  void work(int threads, int64_t from) {
    auto* const root = world_.heap().root<Root<World::H>>("root").value();
    world_.run(threads, [&](int thread) {
      for (int64_t i = 0; i < 150; ++i) {
        const int64_t key = (from + i * 7 + thread) % 400;
        world_.heap()
            .update([&] {
              if (!root->tree.insert(key, static_cast<uint64_t>(i))) {
                root->tree.erase(key);
              }
              root->sum += 1;
            })
            .check();
      }
    });
  }

  World world_{GetParam(), usual_domain(*AnyEngine<NativeMachine>::describe(GetParam()).value())};
};

TEST_P(HeapAtRestTest, ShowsWhatTransactionsLeft) {
  HeapAtRest at_rest(world_.heap());
  work(3, 0);
  EXPECT_EQ(entries(at_rest), entries(world_.heap()));
  work(2, 11);  // HeapAtRest is a view, not a copy
  EXPECT_EQ(entries(at_rest), entries(world_.heap()));
  EXPECT_GT(entries(at_rest).size(), 10U);
  EXPECT_EQ(entries(at_rest).back().second, 750U);
  auto* const root = at_rest.find_root<Root<HeapAtRest>>("root").value();
  EXPECT_TRUE(root->tree.check().ok());
  ASSERT_EQ(at_rest.list_roots().size(), 1U);
  EXPECT_EQ(at_rest.list_roots()[0].type, "test.Root");
}

TEST_P(HeapAtRestTest, ShowsARecoveredAndAGrownHeap) {
  work(2, 0);
  const Entries before = entries(world_.heap());
  world_.reopen();
  HeapAtRest at_rest(world_.heap());
  EXPECT_EQ(entries(at_rest), before);
  const auto data_bytes = [&] { return world_.heap().superblock().data_bytes(); };
  const auto add_block = [&](uint64_t value) {
    return world_.heap()
        .update([&] {
          auto* const word = static_cast<World::H::Field<uint64_t>*>(World::H::allocate(100'000));
          *word = value;
          return word;
        })
        .value();
  };
  const size_t bytes = data_bytes();
  while (data_bytes() == bytes) {
    add_block(0);
  }
  std::vector<World::H::Field<uint64_t>*> words;  // the last ones are in the new part
  for (uint64_t value = 1; value <= 10; ++value) {
    words.push_back(add_block(value));
  }
  // Small blocks, whose free neighbors are in the new part, too.
  world_.heap().update([] { static_cast<void>(World::H::allocate(1000)); }).check();
  EXPECT_EQ(entries(at_rest), before);
  for (uint64_t value = 1; value <= 10; ++value) {
    const auto* const word = reinterpret_cast<const HeapAtRest::Field<uint64_t>*>(words[value - 1]);
    EXPECT_EQ(at_rest.read([&] { return word->load(); }).value(), value);
  }
  const HeapCheck check = at_rest.check().value();
  EXPECT_TRUE(check.ok()) << check.errors.front();
  EXPECT_EQ(check.allocated_bytes, world_.heap().check()->allocated_bytes);
  EXPECT_EQ(check.unused_bytes, world_.heap().check()->unused_bytes);
}

TEST_P(HeapAtRestTest, FindsTheSameLeaks) {
  work(1, 0);
  void* const lost = world_.heap().update([] { return World::H::allocate(48); }).value();
  ASSERT_NE(lost, nullptr);
  HeapAtRest at_rest(world_.heap());
  auto* const root = at_rest.find_root<Root<HeapAtRest>>("root").value();
  const HeapCheck check =
      at_rest.check([&](const BlockVisitor& visit) { root->tree.visit_blocks(visit); }).value();
  EXPECT_EQ(check.leaked_blocks, 1U);
  EXPECT_FALSE(check.ok());
}

INSTANTIATE_TEST_SUITE_P(Engines, HeapAtRestTest, ::testing::ValuesIn([] {
                           std::vector<const char*> names;
                           for (const auto& row : engine_rows<NativeMachine>()) {
                             names.push_back(row.description->name);
                           }
                           return names;
                         }()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(HeapAtRest, IsForReaders) {
  World world(engine_rows<NativeMachine>().front().description->name, Domain::process);
  auto* const root = world.heap().root<Root<World::H>>("root").value();
  HeapAtRest at_rest(world.heap());
  auto* const seen = at_rest.find_root<Root<HeapAtRest>>("root").value();
  EXPECT_EQ(at_rest.update([] {}).code(), Code::misuse);
  EXPECT_EQ(at_rest.update([] { return 1; }).status().code(), Code::misuse);
  EXPECT_TRUE(at_rest.read([&] { return seen->tree.check(); }).ok());
  EXPECT_EQ(at_rest.read([] { return Status(Code::busy, ""); }).code(), Code::busy);
  EXPECT_EQ(at_rest.update([] { return Status(); }).code(), Code::misuse);
  EXPECT_EQ(at_rest.root<Root<HeapAtRest>>("another").status().code(), Code::misuse);
  EXPECT_EQ(at_rest.read([&] { seen->sum = 7; }).code(), Code::misuse);
  EXPECT_EQ(at_rest.read([&] { seen->tree.insert(1, 1); }).code(), Code::misuse);
  EXPECT_EQ(at_rest.read([&] { seen->sum.promote(); }).code(), Code::misuse);
  EXPECT_EQ(world.heap().read([&] { return root->sum.load(); }).value(), 0U);
}

TEST(HeapAtRest, SaysWhatIsNotThereAsTheHeapDoes) {
  World world(engine_rows<NativeMachine>().front().description->name, Domain::process);
  world.heap().root<Root<World::H>>("root").status().check();
  HeapAtRest at_rest(world.heap());
  const Status missing = at_rest.find_root<Root<HeapAtRest>>("branch").status();
  EXPECT_EQ(missing.to_string(),
            world.heap().find_root<Root<World::H>>("branch").status().to_string());
  EXPECT_EQ(missing.code(), Code::not_found);
  const Status another = at_rest.find_root<Other<HeapAtRest>>("root").status();
  EXPECT_EQ(another.to_string(),
            world.heap().find_root<Other<World::H>>("root").status().to_string());
  EXPECT_EQ(another.code(), Code::type_mismatch);
}

TEST(HeapAtRest, CannotBeReadOnceTheHeapIsClosed) {
  World world(engine_rows<NativeMachine>().front().description->name, Domain::process);
  world.heap().root<Root<World::H>>("root").status().check();
  HeapAtRest at_rest(world.heap());
  world.heap().close().check();
  EXPECT_EQ(at_rest.read([] {}).code(), Code::misuse);
  EXPECT_EQ(at_rest.check().status().code(), Code::misuse);
  EXPECT_EQ(at_rest.find_root<Root<HeapAtRest>>("root").status().code(), Code::misuse);
  EXPECT_THROW(at_rest.list_roots(), Error);
}

}  // namespace
}  // namespace holdfast::heap_at_rest_test
