// SPDX-License-Identifier: Apache-2.0
//
// Do the structures stay whole under snapshot isolation, and because of their promotions? Runs
// random concurrent transactions under the most permissive snapshot isolation there is.
#include <cstdio>
#include <set>
#include <vector>

#include "tests/sanitized.h"
#include "tests/unit/structures/model.h"
#include "tests/unit/structures/snapshot_heap.h"

namespace holdfast::testing::skew_test {
namespace {

struct Shape {
  int64_t range;     ///< of keys
  int64_t window;    ///< concurrent transactions pick keys this close to each other
  int transactions;  ///< transactions at a time
  int longest;       ///< steps of a transaction
  int rounds;
};

struct Outcome {
  bool whole = true;
  std::string problem;
  size_t conflicts = 0;
};

/// One step of a transaction, chosen before it runs, because bodies may run twice.
struct Step {
  enum { insert, erase, put } kind;
  int64_t key;
  uint64_t value;
};

template <class Kind>
Step draw_step(Random& random, int64_t key, uint64_t erases) {
  const uint64_t dice = random.below(10);
  const uint64_t value =
      Kind::kStoresValues ? random.next() : ListAsMap<SnapshotHeap>::value_of(key);
  return {dice < erases ? Step::erase : (dice < 9 ? Step::insert : Step::put), key, value};
}

template <class S>
void perform(S& s, const Step& step) {
  switch (step.kind) {
    case Step::insert:
      s.insert(step.key, step.value);
      break;
    case Step::erase:
      s.erase(step.key);
      break;
    case Step::put:
      s.put(step.key, step.value);
      break;
  }
}
void perform(Model& model, const Step& step) {
  switch (step.kind) {
    case Step::insert:
      model.emplace(step.key, step.value);
      break;
    case Step::erase:
      model.erase(step.key);
      break;
    case Step::put:
      model.insert_or_assign(step.key, step.value);
      break;
  }
}

/// Runs rounds of concurrent transactions of a few steps. Every key belongs to one transaction of a
/// round, so any serial order of the committed ones gives the same contents. At times the first one
/// clears the structure instead; it must conflict with every other one that changes anything.
template <class Kind, bool kPromote>
class Trial {
  using S = typename Kind::template Type<SnapshotHeap, kPromote>;

 public:
  Trial(uint64_t seed, const Shape& shape)
      : shape_(shape), random_(seed), s_(heap_.root<S>("s").value()) {}

  Outcome run() {
    Outcome outcome;
    for (int round = 0; round < shape_.rounds && outcome.whole; ++round) {
      ::testing::AssertionResult result = ::testing::AssertionSuccess();
      try {
        // Grows and shrinks by turns.
        outcome.conflicts += heap_.concurrently(draw_round(round / 40 % 2 == 0 ? 2 : 7));
        heap_.read([&] { result = same<Kind>(*s_, model_, heap_.live_blocks(), 1); }).check();
      } catch (const Error& error) {
        result = ::testing::AssertionFailure() << error.what();
      }
      if (!result || !heap_.violations().empty()) {
        outcome.whole = false;
        outcome.problem =
            "round " + std::to_string(round) + ": " +
            (heap_.violations().empty() ? result.message() : heap_.violations().front());
      }
    }
    return outcome;
  }

 private:
  std::vector<std::function<void()>> draw_round(uint64_t erases) {
    std::vector<std::function<void()>> bodies;
    const Model before = model_;
    const bool clearing = random_.below(40) == 0;
    if (clearing) {
      bodies.emplace_back([s = s_] { s->clear(); });
      model_.clear();
    }
    const auto first = static_cast<int64_t>(
        random_.below(static_cast<uint64_t>(shape_.range - shape_.window + 1)));
    std::set<int64_t> used;
    for (int t = 0; t < shape_.transactions; ++t) {
      std::vector<Step> steps;
      const uint64_t length = 1 + random_.below(static_cast<uint64_t>(shape_.longest));
      for (uint64_t i = 0; i < length; ++i) {
        const int64_t key =
            first + static_cast<int64_t>(random_.below(static_cast<uint64_t>(shape_.window)));
        if (used.insert(key).second) {
          steps.push_back(draw_step<Kind>(random_, key, erases));
          if (clearing) {
            // Only steps that change something, as others may be ordered before the clear.
            steps.back().kind = before.count(key) == 0 ? Step::insert
                                : Kind::kStoresValues  ? Step::put
                                                       : Step::erase;
          }
          perform(model_, steps.back());
        }
      }
      bodies.emplace_back([s = s_, steps] {
        for (const Step& step : steps) {
          perform(*s, step);
        }
      });
    }
    return bodies;
  }

  Shape shape_;
  SnapshotHeap heap_;
  Random random_;
  S* s_;
  Model model_;
};

std::vector<Shape> shapes() {
  return {{12, 12, 2, 1, 80},   {40, 10, 2, 1, 120},   {40, 40, 3, 1, 120}, {60, 30, 2, 6, 120},
          {200, 30, 2, 1, 200}, {400, 400, 4, 8, 200}, {400, 20, 3, 4, 400}};
}

template <class Kind>
class StructuresSkewTest : public ::testing::Test {};
using Kinds = ::testing::Types<RbTreeKind, ParentRbTreeKind, BPlusTreeKind, DenseBPlusTreeKind,
                               HashMapKind, FixedHashMapKind, LinkedListKind>;
TYPED_TEST_SUITE(StructuresSkewTest, Kinds);

template <class Kind>
void expect_whole(uint64_t first_seed, uint64_t last_seed) {
  size_t conflicts = 0;
  for (uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    for (const Shape& shape : shapes()) {
      const Outcome outcome = Trial<Kind, true>(seed, shape).run();
      ASSERT_TRUE(outcome.whole) << "seed " << seed << ", range " << shape.range << ", "
                                 << shape.transactions << " at a time: " << outcome.problem;
      conflicts += outcome.conflicts;
    }
  }
  EXPECT_GT(conflicts, 0U) << "the transactions never met";
}

TYPED_TEST(StructuresSkewTest, ConcurrentUpdatesKeepTheStructureWhole) {
  expect_whole<TypeParam>(1, kSanitized ? 1 : 4);
}

TYPED_TEST(StructuresSkewTest, LongConcurrentUpdatesKeepTheStructureWhole) {
  expect_whole<TypeParam>(5, 60);
}

TYPED_TEST(StructuresSkewTest, WithoutPromotionsTheyBreak) {
  uint64_t seed = 1;
  Outcome outcome;
  for (; outcome.whole && seed <= 40; ++seed) {
    for (const Shape& shape : shapes()) {
      outcome = Trial<TypeParam, false>(seed, shape).run();
      if (!outcome.whole) {
        break;
      }
    }
  }
  EXPECT_FALSE(outcome.whole) << "40 seeds";
  std::printf("[   seed   ] %d: %s\n", static_cast<int>(seed - 1), outcome.problem.c_str());
}

}  // namespace
}  // namespace holdfast::testing::skew_test
