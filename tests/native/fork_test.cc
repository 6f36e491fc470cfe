// SPDX-License-Identifier: Apache-2.0
//
// Does a forked child leave its parent's heap alone, with every engine?
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/sanitizers.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "tests/child_process.h"
#include "tests/engine_options.h"
#include "tests/native/journal_engines.h"
#include "tests/native/test_file.h"

namespace holdfast::fork_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;

struct Root {
  static constexpr const char* kTypeName = "test.Root";
  static constexpr uint32_t kTypeVersion = 1;

  H::Field<uint64_t> word = 0;
};

/// A heap of the engine, in the domain that suits it, or with a journal.
class ForkTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!wipes_pages_at_fork()) {
      GTEST_SKIP() << "this system, an emulator, does not wipe pages at fork";
    }
  }
  void make(bool journaled) {
    const Description& engine = *AnyEngine<NativeMachine>::describe(GetParam()).value();
    native_.domain = journaled ? Domain::file : usual_domain(engine);
    native_.force = true;
    CreateOptions options;
    options.engine = GetParam();
    options.bytes = 2 << 20;
    options.max_bytes = 32 << 20;
    options.journal_bytes = journaled ? 256 << 10 : 0;
    heap_ = H::create(file_.path(), options, native_).value();
    EXPECT_TRUE(set(*heap_, 1).ok());
  }
  std::unique_ptr<H> open(const std::string& path) { return H::open(path, {}, native_).value(); }

  static Status set(H& heap, uint64_t value) {
    auto root = heap.root<Root>("root");
    return root ? heap.update([&] { (*root)->word = value; }) : root.status();
  }
  static uint64_t get(H& heap) {
    const Root* const root = heap.root<Root>("root").value();
    return heap.read([&] { return root->word.load(); }).value();
  }

  /// The child has ended its copy of the heap. The parent still has the heap and its content.
  void expect_whole() {
    EXPECT_EQ(get(*heap_), 1U);
    EXPECT_TRUE(set(*heap_, 2).ok());
    EXPECT_TRUE(heap_->close().ok());
    heap_.reset();
    heap_ = open(file_.path());
    EXPECT_EQ(get(*heap_), 2U);
  }
  void leave_to_parent() {
    EXPECT_EQ(0, end_of_child([&] {
                const bool refused = heap_->close().code() == Code::misuse;
                heap_.reset();
                return refused ? 0 : 1;
              }));
    expect_whole();
  }

  const NativeTestFile file_;
  NativeOptions native_;
  std::unique_ptr<H> heap_;
};

TEST_P(ForkTest, AChildLeavesTheHeapToItsParent) {
  make(false);
  leave_to_parent();
}

TEST_P(ForkTest, AChildHasItsOwnHeapAtTheSameAddress) {
  make(false);
  heap_.reset();
  const NativeTestFile copy;
  std::filesystem::copy_file(file_.path(), copy.path());
  heap_ = open(file_.path());
  EXPECT_EQ(0, end_of_child([&] {
              const auto own = open(copy.path());
              heap_.reset();
              return set(*own, 3).ok() && get(*own) == 3 && own->close().ok() ? 0 : 1;
            }));
  expect_whole();
}

INSTANTIATE_TEST_SUITE_P(Engines, ForkTest, testing::ValuesIn([] {
                           return names_of(engine_rows<NativeMachine>(),
                                           [](const auto&) { return true; });
                         }()),
                         name_of_test);

class JournaledForkTest : public ForkTest {};

TEST_P(JournaledForkTest, AChildLeavesTheHeapToItsParent) {
  if (HOLDFAST_THREAD_SANITIZER) {
    GTEST_SKIP() << "ThreadSanitizer does not know the parent's threads in the child";
  }
  make(true);
  leave_to_parent();
}

INSTANTIATE_TEST_SUITE_P(Engines, JournaledForkTest, testing::ValuesIn(engines_by_journal(true)),
                         name_of_test);

}  // namespace
}  // namespace holdfast::fork_test
