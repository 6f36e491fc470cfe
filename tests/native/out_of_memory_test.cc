// SPDX-License-Identifier: Apache-2.0
//
// Does an update fail alone if it gets no memory, with each engine? Each allocation of an update
// fails once, from the begin of its body to the end of its commit. The body may swallow that. And
// are a creation and an opening without memory an error that leaves nothing behind?
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine_options.h"
#include "tests/failing_memory.h"
#include "tests/native/journal_engines.h"
#include "tests/native/test_file.h"

namespace holdfast::out_of_memory_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;

/// Each on a line of its own. So many that an update of all of them makes lists grow a few times.
constexpr size_t kWords = 100;
constexpr size_t kFewWords = 20;  // where fences take long

/// Updates of one word before the large one: a few, or so many that they fill a small log.
constexpr size_t kFew = 4;
constexpr size_t kMany = 150;

using Values = std::array<uint64_t, kWords>;

struct Words {
  static constexpr const char* kTypeName = "test.Words";
  static constexpr uint32_t kTypeVersion = 1;
  struct Line {
    H::Field<uint64_t> word;
    H::Field<uint64_t> unused[7];
  };
  Words() {}  // NOLINT(modernize-use-equals-default): stores nothing, so that no list grows yet
  Line lines[kWords];
};

/// How a heap of the engine is made.
struct Variant {
  std::string name;
  std::string engine;
  Options options;
  size_t words = kWords;  // of the large update
  size_t small_updates = kFew;
  bool journaled = false;
  Commit commit = Commit::unsaid;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const auto& row : engine_rows<NativeMachine>()) {
    const Description& about = *row.description;
    const std::string engine = about.name;
    if (about.needs_design) {
      continue;
    }
    const Options small = known_options(about, {{"log_bytes", "65536"}});
    all.push_back({test_name(engine), engine, small});
    // Little room, so that commits make some; and no hardware transaction.
    Options little = {{"background", "0"}, {"retries", "0"}};
    if (!about.any_size) {
      little.insert({{"log_bytes", "8192"}, {"records", "128"}});
    }
    const Options tiny = with_tiny(about, known_options(about, little));
    all.push_back({test_name(engine) + "_tiny", engine, tiny, kWords, kMany});
    if (about.check_journal().ok() && about.runs_in(Domain::file)) {
      all.push_back({test_name(engine) + "_journaled", engine, small, kFewWords, kFew, true});
    }
    if (about.lags) {
      Options lagging = small;
      lagging["lag"] = "4";
      lagging["lag_ms"] = "1";
      all.push_back(
          {test_name(engine) + "_lagging", engine, lagging, kWords, kFew, false, Commit::later});
    }
  }
  return all;
}

class OutOfMemoryTest : public testing::TestWithParam<Variant> {
 protected:
  OutOfMemoryTest() {
    native_.domain = GetParam().journaled ? Domain::file : Domain::process;
    native_.sync = [](int) { return 0; };
    create_.engine = GetParam().engine;
    create_.options = GetParam().options;
    create_.bytes = 256 << 10;
    create_.max_threads = 3;
    if (GetParam().journaled) {
      create_.journal_bytes = 64 << 10;
    }
  }

  /// Creates a heap in place of the one before, which has ended.
  std::unique_ptr<H> create() const {
    std::filesystem::remove(file_.path());
    return H::create(file_.path(), create_, native_).value();
  }

  static Values values_of(H& heap, const Words* words) {
    Values values;
    heap.read([&] {
          for (size_t i = 0; i < kWords; ++i) {
            values[i] = words->lines[i].word;
          }
        })
        .check();
    return values;
  }

  /// Adds 1 to the words from `first` up to `end`, in an update. Returns whether it was successful.
  bool add(H& heap, Words* words, size_t first, size_t end) const {
    bool swallowed = false;
    const auto body = [&] {
      swallowed = false;
      for (size_t i = first; i < end; ++i) {
        try {
          words->lines[i].word = words->lines[i].word + 1;
        } catch (const std::bad_alloc&) {
          if (!swallows_) {
            throw;
          }
          swallowed = true;
        }
      }
    };
    try {
      const bool successful = heap.update(body, GetParam().commit).ok();
      EXPECT_FALSE(successful && swallowed) << "a load or store is lost";
      return successful;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  static void expect_added(Values& values, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      ++values[i];
    }
  }

  void fail_each() {
    uint64_t n = 0;
    while (fail(n) && !HasFailure()) {
      ++n;
    }
    EXPECT_FALSE(HasFailure()) << "at allocation " << n;
  }

  bool swallows_ = false;  ///< the bodies swallow what loads and stores throw

 private:
  /// Makes allocation number `n` of some updates fail. Returns false if they have fewer.
  bool fail(uint64_t n) {
    Values expected;
    Values with_failed;  // if the failed update counts
    bool failed = false;
    bool in_doubt = false;  // the medium has failed: each later call tells, and none hangs
    {
      auto heap = create();
      Words* words = heap->root<Words>("words").value();
      if (GetParam().commit == Commit::later) {  // opened anew, an engine has no thread yet
        heap->close().check();
        heap.reset();
        heap = H::open(file_.path(), {}, native_).value();
        words = heap->find_root<Words>("words").value();
      }
      expected = values_of(*heap, words);
      failing_memory::until_failure = n;
      for (size_t i = 0; i <= GetParam().small_updates && !failed; ++i) {
        const bool is_small = i < GetParam().small_updates;
        const size_t first = is_small ? i % kWords : 0;
        const size_t end = is_small ? first + 1 : GetParam().words;
        const bool successful = add(*heap, words, first, end);
        failed = failing_memory::until_failure == failing_memory::kNever;
        EXPECT_TRUE(successful || failed);
        if (!successful) {
          with_failed = expected;
          expect_added(with_failed, first, end);
        } else {
          expect_added(expected, first, end);
        }
      }
      failing_memory::until_failure = failing_memory::kNever;
      in_doubt = heap->machine().failed();
      std::thread([&] {
        if (!in_doubt) {
          EXPECT_EQ(values_of(*heap, words), expected);
        }
        const bool successful = add(*heap, words, 0, GetParam().words);
        EXPECT_NE(successful, in_doubt);
        if (successful) {
          expect_added(expected, 0, GetParam().words);
          EXPECT_EQ(values_of(*heap, words), expected);
        }
        while (!in_doubt && heap->pending().count != 0) {  // until the engine's thread has its turn
          std::this_thread::yield();
        }
      }).join();
      const Status closed = heap->close();
      EXPECT_NE(closed.ok(), in_doubt) << closed.to_string();
    }
    auto heap = H::open(file_.path(), {}, native_).value();
    const Values found = values_of(*heap, heap->find_root<Words>("words").value());
    EXPECT_TRUE(found == expected || (in_doubt && found == with_failed));
    return failed;
  }

  NativeTestFile file_;
  NativeOptions native_;
  CreateOptions create_;
};

TEST_P(OutOfMemoryTest, AnUpdateFailsAlone) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has operators of its own";
  }
  fail_each();
}

TEST_P(OutOfMemoryTest, AnUpdateWhoseBodySwallowsItFails) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has operators of its own";
  }
  swallows_ = true;
  fail_each();
}

TEST_P(OutOfMemoryTest, ACompactionThatFailsKeepsNoSpaceFromTheNextOne) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has operators of its own";
  }
  bool failed = true;
  for (uint64_t n = 0; failed && !HasFailure(); ++n) {
    const auto heap = create();
    heap->compact().status().check();
    const uint64_t used = heap->space().value().used;
    failing_memory::until_failure = n;
    try {
      static_cast<void>(heap->compact());
    } catch (const std::bad_alloc&) {
      // as intended
    }
    failed = failing_memory::until_failure == failing_memory::kNever;
    failing_memory::until_failure = failing_memory::kNever;
    if (!heap->machine().failed()) {
      heap->compact().status().check();
      EXPECT_EQ(heap->space().value().used, used) << "allocation " << n;
    }
  }
}

TEST(OutOfMemory, IsAnErrorOfCreationsAndOpenings) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has operators of its own";
  }
  const NativeTestFile file("/dev/shm");
  NativeOptions native;
  native.domain = Domain::file;
  native.sync = [](int) { return 0; };
  CreateOptions create;
  create.engine = engines_by_journal(true).front();
  create.bytes = 256 << 10;
  create.journal_bytes = 64 << 10;
  create.max_threads = 3;
  const auto fail_each = [&](auto&& call, auto&& see) {
    bool failed = true;
    for (uint64_t n = 0; failed && !HasFailure(); ++n) {
      failing_memory::until_failure = n;
      const Status status = call().status();
      failed = failing_memory::until_failure == failing_memory::kNever;
      failing_memory::until_failure = failing_memory::kNever;
      EXPECT_TRUE(status.ok() || failed) << "allocation " << n << ": " << status.to_string();
      see(status.ok());
    }
  };
  fail_each([&] { return H::create(file.path(), create, native); },
            [&](bool made) { EXPECT_EQ(std::filesystem::remove(file.path()), made); });
  H::create(file.path(), create, native).value()->close().check();
  fail_each([&] { return H::open(file.path(), {}, native); }, [](bool /*opened*/) {});
}

INSTANTIATE_TEST_SUITE_P(Engines, OutOfMemoryTest, testing::ValuesIn(variants()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace holdfast::out_of_memory_test
