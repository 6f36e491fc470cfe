// SPDX-License-Identifier: Apache-2.0
//
// Does a heap's creation that ends early leave its path usable, and all other files alone?
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "holdfast/heap/file/inspect.h"
#include "holdfast/holdfast.h"
#include "tests/child_process.h"
#include "tests/file_bytes.h"
#include "tests/native/test_file.h"

namespace holdfast::creation_test {
namespace {

struct Number {
  static constexpr const char* kTypeName = "test.Number";
  static constexpr uint32_t kTypeVersion = 1;
  DefaultHeap::Field<uint64_t> value;
};

class Creation : public testing::Test {
 protected:
  Creation() {
    native_.domain = Domain::file;
    native_.sync = [](int) { return 0; };
    create_.bytes = 64 << 10;
    create_.max_bytes = 8 << 20;
    create_.max_threads = 2;
    create_.journal_bytes = 64 << 10;
  }

  Result<std::unique_ptr<DefaultHeap>> open_or_create() const {
    return holdfast::open_or_create(file_.path(), native_, create_);
  }
  const std::string& path() const { return file_.path(); }
  std::string bytes() const { return file_bytes(path()); }
  void write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  /// Makes a heap with one number, and returns the file as it is before it is closed.
  std::string with_number(uint64_t number) const {
    auto heap = open_or_create().value();
    auto* const root = heap->root<Number>("number").value();
    heap->update([&] { root->value = number; }).check();
    return file_bytes_at_one_moment(path());
  }
  static uint64_t number_in(DefaultHeap& heap) {
    auto* const root = heap.find_root<Number>("number").value();
    return heap.read([&] { return root->value.load(); }).value();
  }
  void expect_usable() const {
    auto heap = open_or_create();
    ASSERT_TRUE(heap.ok()) << heap.status().to_string();
    EXPECT_TRUE((*heap)->root<Number>("number").ok());
  }

  /// The file of a heap whose second superblock is not written yet.
  static std::string with_mark(std::string bytes) {
    bytes.replace(kSuperblockBytes, kSuperblockBytes, kSuperblockBytes, '\0');
    return bytes.replace(kSuperblockBytes, kUnfinished.size(), kUnfinished);
  }

  NativeTestFile file_{"/dev/shm"};  // where the directory's sync takes no time
  NativeOptions native_;
  CreateOptions create_;
};

TEST_F(Creation, MayBeKilledAtAnySync) {
  for (const uint64_t journal : {0, 64 << 10}) {
    create_.journal_bytes = journal;
    bool killed = true;
    for (int n = 0; killed; ++n) {
      NativeOptions dying = native_;
      dying.sync = [&, calls = 0](int) mutable {
        return calls++ == n ? kill(getpid(), SIGKILL) : 0;
      };
      const int how =
          end_of_child([&] { return DefaultHeap::create(path(), create_, dying).ok() ? 0 : 1; });
      killed = WIFSIGNALED(how);
      EXPECT_TRUE(killed || how == 0) << how;
      const bool unfinished = is_unfinished_heap(path());
      EXPECT_TRUE(unfinished || inspect_heap_file(path()).ok()) << "killed at sync " << n;
      if (unfinished) {
        const Status refused = DefaultHeap::open(path(), {}, native_).status();
        EXPECT_EQ(refused.code(), Code::wrong_format);
        EXPECT_NE(refused.message().find("creation was interrupted"), std::string::npos)
            << refused.message();
      }
      expect_usable();
      ASSERT_EQ(unlink(path().c_str()), 0);
    }
  }
}

TEST_F(Creation, MayBeKilledWhileItWritesTheFirstSuperblock) {
  std::string torn = with_mark(with_number(7));
  torn[100] = static_cast<char>(torn[100] ^ 1);
  write(torn);
  expect_usable();
}

TEST_F(Creation, TakesAnEmptyFile) {
  write("");
  expect_usable();
}

// Otherwise damage of the first copy would make the heap look unfinished.
TEST_F(Creation, KilledBeforeTheSecondSuperblockHasBothAfterTheNextOpening) {
  write(with_mark(with_number(7)));
  EXPECT_TRUE(inspect_heap_file(path()).value().healed);
  auto heap = open_or_create().value();
  EXPECT_FALSE(inspect_heap_file(path()).value().healed);
  EXPECT_EQ(number_in(*heap), 7U);
}

TEST_F(Creation, OverwritesNothingElse) {
  const std::string heap = with_number(7);
  const auto changed = [](std::string bytes, size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  std::string newer = with_mark(heap);
  newer[8] = static_cast<char>(kFormatVersion + 1);
  for (const std::string& bytes :
       {std::string("text"), std::string(4 * kSuperblockBytes, '\0'), std::string(kUnfinished),
        changed(changed(with_mark(heap), 100), kHeaderBytes - 1),
        changed(changed(with_mark(heap), 100), kSuperblockBytes), newer,
        changed(changed(heap, 100), kSuperblockBytes + 100)}) {
    write(bytes);
    EXPECT_FALSE(open_or_create().ok());
    EXPECT_FALSE(DefaultHeap::create(path(), create_, native_).ok());
    EXPECT_EQ(this->bytes(), bytes);
  }
}

TEST_F(Creation, ThatFailsRemovesItsFileOnly) {
  const std::string others = file_.directory() + "/other";
  for (const bool renamed : {false, true}) {
    NativeOptions failing = native_;
    failing.sync = [&](int) {
      if (renamed) {
        std::ofstream(others) << "other";
        EXPECT_EQ(rename(others.c_str(), path().c_str()), 0);
      }
      return EIO;
    };
    EXPECT_EQ(DefaultHeap::create(path(), create_, failing).status().code(), Code::io_error);
    EXPECT_EQ(std::filesystem::exists(path()), renamed);
  }
  EXPECT_EQ(bytes(), "other");
}

TEST_F(Creation, ThatFailsAtOnceRemovesItsFile) {
  native_.domain = Domain::pmem;
  EXPECT_EQ(open_or_create().status().code(), Code::unsupported);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(Creation, ThatGoesOnIsNotDisturbed) {
  NativeOptions beside = native_;
  int looks = 0;
  beside.sync = [&](int) {
    ++looks;
    EXPECT_EQ(open_or_create().status().code(), Code::busy);
    EXPECT_EQ(DefaultHeap::create(path(), create_, native_).status().code(),
              inspect_heap_file(path()).ok() ? Code::already_exists : Code::busy);
    return 0;
  };
  ASSERT_TRUE(DefaultHeap::create(path(), create_, beside).ok());
  EXPECT_GT(looks, 2);
}

}  // namespace
}  // namespace holdfast::creation_test
