// SPDX-License-Identifier: Apache-2.0
//
// Do a checkpoint and a follower of the change feed get every entry, whatever its size and place?
// The data fill the copies' buffers several times.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/heap/file/inspect.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::copies_test {
namespace {

constexpr size_t kBuffer = 64 << 10;  // of a checkpoint
constexpr size_t kLargest = 3 * kBuffer + 1;

struct Shape {
  const char* name;
  std::vector<std::pair<std::string, std::string>> entries;  // in the order in which they are put
};

std::string key(size_t i) {
  std::string digits = std::to_string(i);
  return "key" + std::string(6 - digits.size(), '0') + digits;
}

/// Values that a copy cannot confuse: each has its own length and content.
std::string value(size_t i, size_t bytes) {
  std::string text = std::to_string(i) + ":";
  text.resize(std::max(bytes, text.size()), static_cast<char>('a' + i % 26));
  return text;
}

/// `count` entries of about `bytes`, with the largest one at `place` (none if it is `count`).
Shape with_largest_at(const char* name, size_t count, size_t bytes, size_t place) {
  Shape shape{name, {}};
  for (size_t i = 0; i < count; ++i) {
    shape.entries.emplace_back(key(i), value(i, i == place ? kLargest : bytes + i % 7));
  }
  return shape;
}

std::vector<Shape> shapes() {
  std::vector<Shape> list;
  list.push_back(with_largest_at("the largest first", 700, 400, 0));
  list.push_back(with_largest_at("the largest in the middle", 700, 400, 350));
  list.push_back(with_largest_at("the largest last", 700, 400, 699));
  list.push_back(with_largest_at("one entry", 1, 10, 1));
  list.push_back(with_largest_at("no entry", 0, 0, 0));
  Shape reversed = with_largest_at("put backwards", 700, 400, 3);
  std::reverse(reversed.entries.begin(), reversed.entries.end());
  list.push_back(std::move(reversed));
  // Around a full buffer: the last entry fits exactly, or is the first that does not.
  for (size_t bytes = kBuffer - 40; bytes < kBuffer + 8; bytes += 12) {
    list.push_back({"a value as large as the buffer",
                    {{"", value(0, bytes)}, {"b", ""}, {"c", value(2, bytes)}, {"d", "end"}}});
  }
  return list;
}

class DbCopies : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbCopies, ::testing::ValuesIn(durable_engines()), engine_name);

class Applied final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    state[key.ToString()] = value.ToString();
  }
  void Delete(const Slice& key) override { state.erase(key.ToString()); }
  Model state;
};

TEST_P(DbCopies, HaveEveryEntryOfTheirOrigin) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(shape.name);
    DbFile origin(GetParam());
    origin.options.change_feed_bytes = 16 << 20;
    Model expected;
    for (const auto& [k, v] : shape.entries) {
      put(*origin, k, v);
      expected[k] = v;
    }
    ASSERT_TRUE(contents(*origin) == expected);

    DbFile copy(GetParam());
    const std::string target = copy.path() + "-copy";
    ASSERT_TRUE(origin->Checkpoint(target).ok());
    DB* opened = nullptr;
    ASSERT_TRUE(DB::Open(copy.options, target, &opened).ok());
    const std::unique_ptr<DB> checkpoint(opened);
    EXPECT_TRUE(contents(*checkpoint) == expected);
    EXPECT_TRUE(checkpoint->Verify().ok());

    Applied follower;
    uint64_t last = 0;
    const Status followed =
        origin->ChangesSince(0, [&](uint64_t sequence, const WriteBatch& batch) {
          EXPECT_EQ(sequence, ++last);
          return batch.Iterate(&follower).ok();
        });
    EXPECT_TRUE(followed.ok()) << followed.ToString();
    EXPECT_EQ(last, shape.entries.size());
    EXPECT_TRUE(follower.state == expected);
  }
}

TEST_P(DbCopies, HaveTheSizesOfTheirOrigin) {
  DbFile origin(GetParam());
  origin.options.max_threads = 5;
  origin.options.max_bytes = 32 << 20;
  origin.options.engine_options = known_options(about(GetParam()), {{"records", "4096"}});
  put(*origin, "key", "value");
  const std::string copy = origin.path() + "-copy";
  ASSERT_TRUE(origin->Checkpoint(copy).ok());
  const Superblock expected = inspect_heap_file(origin.path()).value().superblock;
  const Superblock found = inspect_heap_file(copy).value().superblock;
  EXPECT_EQ(found.engine, expected.engine);
  EXPECT_EQ(found.options, expected.options);
  EXPECT_EQ(found.capacity, expected.capacity);
  EXPECT_EQ(found.slots, expected.slots);
}

// ---- the name FILE.part, and others

/// Opens a database by a name of its own, with the options of `like`.
std::unique_ptr<DB> open(const DbFile& like, const std::string& name) {
  DB* opened = nullptr;
  const Status status = DB::Open(like.options, name, &opened);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return std::unique_ptr<DB>(opened);
}

TEST_P(DbCopies, LeaveAnOpenDatabaseOfTheUnfinishedCopysName) {
  const std::string target = file.path() + "-copy";
  const std::string part = target + ".part";
  auto other = open(file, part);
  put(*other, "key", "value");
  for (DB* const origin : {file.open(), other.get()}) {
    const Status status = origin->Checkpoint(target);
    EXPECT_EQ(status.code(), Code::busy) << status.ToString();
    EXPECT_NE(status.ToString().find(part), std::string::npos) << status.ToString();
    EXPECT_FALSE(std::filesystem::exists(target));
  }
  put(*other, "key2", "value2");
  other.reset();
  other = open(file, part);
  EXPECT_EQ(get(*other, "key2"), "value2");
}

TEST_P(DbCopies, ReplaceAnUnfinishedCopy) {
  put(*file, "key", "value");
  const std::string target = file.path() + "-copy";
  std::ofstream(target + ".part") << "left by an interrupted checkpoint";
  const Status status = file->Checkpoint(target);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(std::filesystem::exists(target + ".part"));
  EXPECT_EQ(get(*open(file, target), "key"), "value");
}

/// The order of bytes. Calls the thread's hook once, at the thread's next comparison.
class Hooked final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    if (hook) {
      std::exchange(hook, nullptr)();
    }
    return a.compare(b);
  }
  const char* Name() const override { return "hooked"; }
  void FindShortestSeparator(std::string* /*start*/, const Slice& /*limit*/) const override {}
  void FindShortSuccessor(std::string* /*key*/) const override {}

  static thread_local std::function<void()> hook;
};
thread_local std::function<void()> Hooked::hook;

// In the middle of a checkpoint another one of the same name begins. If it gets so far, it waits in
// its own middle until the first one has returned.
TEST(DbCopiesOfOneName, MadeAtOnceAreOneWholeCopy) {
  const Hooked comparator;
  DbFile file;
  file.options.comparator = &comparator;
  for (size_t i = 0; i < 700; ++i) {
    put(*file, key(i), value(i, 400));
  }
  const Model expected = contents(*file);
  const std::string target = file.path() + "-copy";
  std::promise<void> second_goes_on;
  std::promise<void> first_has_returned;
  std::once_flag once;
  const auto let_first_go_on = [&] { std::call_once(once, [&] { second_goes_on.set_value(); }); };
  Status refused;
  std::thread second;
  Hooked::hook = [&] {
    second = std::thread([&] {
      Hooked::hook = [&] {
        let_first_go_on();
        first_has_returned.get_future().wait();
      };
      refused = file->Checkpoint(target);
      Hooked::hook = nullptr;
      let_first_go_on();
    });
    second_goes_on.get_future().wait();
  };
  const Status status = file->Checkpoint(target);
  EXPECT_TRUE(status.ok()) << status.ToString();
  auto copy = open(file, target);
  EXPECT_TRUE(copy != nullptr && contents(*copy) == expected);
  first_has_returned.set_value();
  second.join();
  EXPECT_EQ(refused.code(), Code::busy) << refused.ToString();
  EXPECT_FALSE(std::filesystem::exists(target + ".part"));
}

TEST(DbCopyNames, ThatNoFileCanHaveAreErrors) {
  DbFile file;
  put(*file, "key", "value");
  const std::string loop = file.path() + "-loop";
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  for (const std::string& name :
       {file.path() + std::string(300, 'x'), loop + "/copy", loop, file.path() + "/copy"}) {
    const Status status = file->Checkpoint(name);
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }
}

// ---- a damaged origin

/// Overwrites the first bytes of each place in the file that has this text.
void damage(const std::string& path, const std::string& text) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  size_t places = 0;
  for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
    file.seekp(static_cast<std::streamoff>(at));
    file << "EVIL";
    ++places;
  }
  ASSERT_GT(places, 0u);
}

class DbCopiesOfDamage : public DbTest {};
INSTANTIATE_TEST_SUITE_P(Engines, DbCopiesOfDamage, ::testing::ValuesIn(journaled_engines()),
                         engine_name);

TEST_P(DbCopiesOfDamage, AreNotMade) {
  file.options.domain = Domain::file;
  file.options.journal_bytes = 1 << 20;
  const std::string damaged = "a value that nothing else has";
  for (size_t i = 0; i < 200; ++i) {
    put(*file, key(i), i == 77 ? damaged : value(i, 200));
  }
  file.close();
  damage(file.path(), damaged);
  ASSERT_NE(get(*file, key(77)), damaged);
  const std::string copy = file.path() + "-copy";
  const Status status = file->Checkpoint(copy);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_NE(status.ToString().find("checksum"), std::string::npos) << status.ToString();
  EXPECT_FALSE(std::filesystem::exists(copy));
  EXPECT_FALSE(std::filesystem::exists(copy + ".part"));
}

}  // namespace
}  // namespace holdfast::db::copies_test
