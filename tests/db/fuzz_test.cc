// SPDX-License-Identifier: Apache-2.0
//
// Can bytes from outside break HoldfastDB: contents of batches, names of properties, sequence
// numbers, options, and a file with damaged bytes? Each must get a result or an error. Verify must
// report any damage in the blocks of keys, versions and lists.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/heap/file/inspect.h"
#include "tests/child_process.h"
#include "tests/db/durable_engines.h"
#include "tests/file_bytes.h"
#include "tests/sanitized.h"

namespace holdfast::db::fuzz_test {
namespace {

std::string random_bytes(Random& random, size_t most) {
  std::string bytes(random.below(most + 1), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random.next());
  }
  return bytes;
}

/// Makes one to eight changes: changes a byte or a bit, removes or repeats a piece, or cuts off the
/// end.
std::string mutated(Random& random, std::string bytes) {
  for (uint64_t left = 1 + random.below(8); left > 0 && !bytes.empty(); --left) {
    const size_t at = random.below(bytes.size());
    const size_t n = 1 + random.below(std::min<size_t>(bytes.size() - at, 16));
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random.next());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 2:
        bytes.erase(at, n);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, n));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

class Counting final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override { bytes += key.size() + value.size(); }
  void Delete(const Slice& key) override { bytes += key.size(); }
  size_t bytes = 0;
};

TEST(DbFuzz, ContentsOfABatchAreTakenWholeOrNotAtAll) {
  Random random(1);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    WriteBatch batch;
    for (uint64_t left = random.below(4); left > 0; --left) {
      const std::string key = random_bytes(random, 20);
      random.below(3) == 0 ? batch.Delete(key) : batch.Put(key, random_bytes(random, 40));
    }
    const std::string bytes = random.below(4) == 0 ? random_bytes(random, 60)
                                                   : mutated(random, WriteBatchContents::of(batch));
    WriteBatch other;
    other.Put("as it", "was");
    const std::string before = WriteBatchContents::of(other);
    if (WriteBatchContents::set(&other, bytes)) {
      ++taken;
      Counting counting;
      ASSERT_TRUE(other.Iterate(&counting).ok());
      ASSERT_LE(counting.bytes, bytes.size());
      ASSERT_EQ(WriteBatchContents::of(other), bytes);
    } else {
      ASSERT_EQ(WriteBatchContents::of(other), before) << i;
    }
  }
  EXPECT_GT(taken, 1000);
}

TEST(DbFuzz, NamesOfPropertiesAreKnownOrNot) {
  DbFile file;
  put(*file, "key", "value");
  Random random(2);
  const std::vector<std::string> known{"holdfast.stats",
                                       "holdfast.engine",
                                       "holdfast.old-versions",
                                       "holdfast.prometheus",
                                       "holdfast.sequence",
                                       "holdfast.open-snapshots",
                                       "leveldb.sstables",
                                       "leveldb.stats",
                                       "leveldb.num-files-at-level0",
                                       "leveldb.num-files-at-level6",
                                       "leveldb.approximate-memory-usage"};
  std::string value;
  for (const std::string& name : known) {
    EXPECT_TRUE(file->GetProperty(name, &value)) << name;
  }
  for (const char* name :
       {"", "holdfast", "holdfast.", "leveldb.num-files-at-level", "leveldb.num-files-at-level7",
        "leveldb.num-files-at-level0x", "leveldb.num-files-at-level-1",
        "leveldb.num-files-at-level-", "leveldb.num-files-at-level10",
        "leveldb.num-files-at-level99999999999999999999"}) {
    value = "as it was";
    EXPECT_FALSE(file->GetProperty(name, &value)) << name;
    EXPECT_EQ(value, "as it was") << name;
  }
  for (int i = 0; i < 5000; ++i) {
    const std::string name = mutated(random, known[random.below(known.size())]);
    value = "as it was";
    if (!file->GetProperty(name, &value)) {
      EXPECT_EQ(value, "as it was");
    }
  }
}

TEST(DbFuzz, SequenceNumbersAtTheirExtremes) {
  for (const bool feed : {false, true}) {
    DbFile file;
    if (feed) {
      file.options.change_feed_bytes = 1 << 20;
    }
    put(*file, "a", "1");
    put(*file, "b", "2");
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    for (const uint64_t sequence : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3},
                                    uint64_t{1} << 63, kMost - 1, kMost}) {
      int seen = 0;
      const Status status = file->ChangesSince(sequence, [&](uint64_t, const WriteBatch&) {
        ++seen;
        return true;
      });
      if (!feed) {
        EXPECT_TRUE(status.IsNotSupportedError()) << sequence;
      } else {
        EXPECT_EQ(status.ok(), sequence <= 2) << sequence << " " << status.ToString();
        EXPECT_EQ(seen, sequence <= 2 ? 2 - static_cast<int>(sequence) : 0) << sequence;
      }
    }
  }
}

TEST(DbFuzz, AbsurdOptionsAreRefusedAndLeaveNoFile) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  const std::vector<std::function<void(Options&)>> absurd{
      [](Options& o) { o.comparator = nullptr; },
      [](Options& o) { o.engine = std::string(100000, 'e'); },
      [](Options& o) { o.engine += '\0'; },
      [](Options& o) { o.engine = volatile_engine(); },
      [](Options& o) { o.engine_options["combine"] = "-1"; },
      [](Options& o) { o.engine_options["combine"] = "1e9"; },
      [](Options& o) { o.engine_options[""] = ""; },
      [](Options& o) { o.initial_bytes = 0; },
      [](Options& o) { o.initial_bytes = 1; },
      [](Options& o) { o.initial_bytes = kMost; },
      [](Options& o) { o.initial_bytes = kMost / 2 + 1; },
      [](Options& o) { o.max_bytes = kMost; },
      [](Options& o) { o.max_bytes = kMost - 4095; },
      [](Options& o) { o.max_threads = -1; },
      [](Options& o) { o.max_threads = std::numeric_limits<int>::min(); },
      [](Options& o) { o.max_threads = 256; },
      [](Options& o) { o.max_threads = std::numeric_limits<int>::max(); },
  };
  for (size_t i = 0; i < absurd.size(); ++i) {
    DbFile file;
    absurd[i](file.options);
    DB* db = nullptr;
    const Status status = DB::Open(file.options, file.path(), &db);
    EXPECT_FALSE(status.ok()) << i;
    EXPECT_EQ(db, nullptr) << i;
    EXPECT_FALSE(std::filesystem::exists(file.path())) << i << ": a file was left behind";
    delete db;
  }
  // Unusual values of options are accepted.
  DbFile file;
  file.options.engine = "";
  file.options.max_threads = 0;
  file.options.write_buffer_size = kMost;
  file.options.max_open_files = -5;
  file.options.block_size = 0;
  file.options.block_restart_interval = -1;
  file.options.change_feed_bytes = kMost;
  put(*file, std::string(1, '\0'), std::string(100000, '\0'));
  expect_tidy(file);
  for (const std::string& name : {std::string(), std::string("/"), std::string("/dev/null"),
                                  std::string("/dev/full"), std::string(5000, 'n')}) {
    DB* db = nullptr;
    EXPECT_FALSE(DB::Open(file.options, name, &db).ok()) << name.substr(0, 20);
    EXPECT_EQ(db, nullptr);
  }
}

// ---- damaged files

struct Made {
  std::string bytes;
  Model model;
};

/// Returns a closed database with everything that one can have: short, long and replaced values,
/// deletions, keys that share their first bytes, and a change feed.
Made make_database(DbFile& file) {
  file.options.initial_bytes = 1 << 20;
  file.options.change_feed_bytes = 1 << 16;
  Random random(3);
  Made made;
  for (int i = 0; i < 400; ++i) {
    const std::string key =
        (i % 3 == 0 ? "a long common prefix of keys " : "k") + std::to_string(random.below(200));
    if (random.below(5) == 0) {
      EXPECT_TRUE(file->Delete({}, key).ok());
      made.model.erase(key);
    } else {
      made.model[key] = std::string(random.below(40) == 0 ? 20000 : random.below(100), 'v');
      put(*file, key, made.model[key]);
    }
  }
  file.close();
  made.bytes = file_bytes(file.path());
  return made;
}

enum class Outcome : uint8_t { sound, refused, other };

/// Runs RepairDB, and compares the content with the model. An exception that leaves the database
/// ends the process.
Outcome repair_and_look(const DbFile& file, const Model& model) noexcept {
  Options options = file.options;
  options.change_feed_bytes.reset();
  if (!RepairDB(file.path(), options).ok()) {
    return Outcome::refused;
  }
  DB* opened = nullptr;
  options.read_only = true;
  if (!DB::Open(options, file.path(), &opened).ok()) {
    return Outcome::other;
  }
  const std::unique_ptr<DB> db(opened);
  Model found;
  const std::unique_ptr<Iterator> at(db->NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    found[at->key().ToString()] = at->value().ToString();
  }
  return at->status().ok() && found.size() == model.size() ? Outcome::sound : Outcome::other;
}

/// Does so in a child process. A wild pointer would end only the child. The child has a time limit,
/// because a walk must not be endless either.
Outcome look(const DbFile& file, const Model& model) {
  const int how = end_of_child([&] {
    alarm(60);
    return repair_and_look(file, model);
  });
  EXPECT_TRUE(WIFEXITED(how)) << "signal " << WTERMSIG(how);
  return WIFEXITED(how) ? static_cast<Outcome>(WEXITSTATUS(how)) : Outcome::other;
}

/// Engines whose data are the bytes that this test damages. With cells, the newest values stand in
/// the cells, and nearly all damage to the data is harmless.
std::vector<std::string> engines_with_data_in_place() {
  auto names = durable_engines();
  std::erase_if(names, [](const std::string& name) { return about(name).layout == Layout::cells; });
  return names;
}

class DbDamage : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, DbDamage, ::testing::ValuesIn(engines_with_data_in_place()),
                         engine_name);

/// Damages one word of a good file at a time.
void damage_words(const std::string& engine, int damages) {
  DbFile file(engine);
  const Made made = make_database(file);
  ASSERT_EQ(look(file, made.model), Outcome::sound);
  // The words of the data that are in use, except the bytes of values, which have no checksum.
  const Superblock shape = inspect_heap_file(file.path()).value().superblock;
  std::vector<size_t> used;
  const size_t begin = shape.file_offset(ExtentKind::data);
  for (size_t at = begin; at < std::min(begin + shape.data_bytes(), made.bytes.size()); at += 8) {
    const std::string word = made.bytes.substr(at, 8);
    if (word != std::string(8, '\0') && word != std::string(8, 'v')) {
      used.push_back(at);
    }
  }
  const uint64_t seed = checksum(engine.data(), engine.size(), 4);  // no two have the same
  Random random(seed);
  int refused = 0;
  int sound = 0;
  for (int i = 0; i < damages; ++i) {
    std::string bytes = made.bytes;
    const size_t at = used[random.below(used.size())];
    uint64_t word = 0;
    std::memcpy(&word, &bytes[at], sizeof word);
    switch (random.below(4)) {
      case 0:
        word ^= uint64_t{1} << random.below(64);
        break;
      case 1:
        word = random.next();
        break;
      case 2:
        word = 0;
        break;
      default:  // the content of another word, such as a pointer to a wrong block
        std::memcpy(&word, &bytes[used[random.below(used.size())]], sizeof word);
    }
    std::memcpy(&bytes[at], &word, sizeof word);
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc) << bytes;
    const Outcome outcome = look(file, made.model);
    refused += outcome == Outcome::refused;
    sound += outcome == Outcome::sound;
    EXPECT_NE(outcome, Outcome::other) << "seed " << seed << ", damage " << i << " at byte " << at;
  }
  EXPECT_GT(refused, 3 * damages / 10);
  std::printf("%s: %d refused, %d harmless\n", engine.c_str(), refused, sound);
}

TEST_P(DbDamage, IsReportedOrHarmlessAndNeverACrash) {
  damage_words(GetParam(), kSanitized ? 8 : 25);
}
TEST_P(DbDamage, LongIsReportedOrHarmlessAndNeverACrash) {
  damage_words(GetParam(), 400);
}

}  // namespace
}  // namespace holdfast::db::fuzz_test
