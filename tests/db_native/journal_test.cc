// SPDX-License-Identifier: Apache-2.0
//
// Does a database with a journal keep what it has acknowledged, and do options and messages say
// what a journal needs? Has a copy the journal as well?
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "holdfast/heap/file/inspect.h"
#include "holdfast/machine/native/journal/ring.h"
#include "tests/db/durable_engines.h"
#include "tests/native/killed_process.h"

namespace holdfast::db::journal_test {
namespace {

// Small, so that checkpoints come often. It begins with 128 KiB and grows.
constexpr size_t kJournal = 256 << 10;

uint64_t journal_of(const std::string& path) {
  return inspect_heap_file(path).value().superblock.bytes_of(ExtentKind::journal);
}

uint64_t number(DB& db, const std::string& name) {
  std::string text;
  EXPECT_TRUE(db.GetProperty("holdfast.prometheus", &text));
  const size_t at = text.find("\nholdfast_db_" + name + "{");
  EXPECT_NE(at, std::string::npos) << name;
  return std::stoull(text.substr(text.find("} ", at) + 2));
}

bool is_in_memory(const std::string& folder) {
  struct statfs found{};
  return statfs(folder.c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC;
}

void expect_words(const Status& status, const std::string& words) {
  EXPECT_NE(status.message().find(words), std::string::npos) << status.ToString();
}

struct DbJournal : DbTest {
  explicit DbJournal(const std::string& directory = "/dev/shm")  // where a sync is fast
      : DbTest(directory) {
    file.options.domain = Domain::file;
    file.options.initial_bytes = 1 << 20;
    file.options.journal_bytes = kJournal;
  }
  Status open(const Options& options, const std::string& path) {
    DB* opened = nullptr;
    const Status status = DB::Open(options, path, &opened);
    delete opened;
    return status;
  }
  void kill_in_turn(int kills);
};

/// On a disk, if temporary files are on one.
struct DbJournalOnDisk : DbJournal {
  DbJournalOnDisk() : DbJournal(std::filesystem::temp_directory_path()) {}
};

INSTANTIATE_TEST_SUITE_P(Engines, DbJournal, ::testing::ValuesIn(journaled_engines()), engine_name);
INSTANTIATE_TEST_SUITE_P(Engines, DbJournalOnDisk, ::testing::ValuesIn(journaled_engines()),
                         engine_name);

TEST_P(DbJournal, TellsItsSizeAndItsWork) {
  DB& db = *file;
  const size_t heads = 2 * kPageBytes;
  EXPECT_EQ(number(db, "journal_bytes"), native::kFirstJournalBytes - heads);
  const uint64_t groups = number(db, "journal_groups_total");
  for (int i = 0; i < 100; ++i) {
    put(db, "key" + std::to_string(i), std::string(100, 'v'));
  }
  EXPECT_GE(number(db, "journal_groups_total"), groups + 100);
  EXPECT_GT(number(db, "journal_lines_total"), 100u);
  EXPECT_GT(number(db, "journal_checkpoints_total"), 0u);
  // A checkpoint in the background may have emptied it.
  for (int i = 0; number(db, "journal_held_bytes") == 0; ++i) {
    ASSERT_LT(i, 10'000);
    put(db, "key", std::string(100, 'v'));
  }
  EXPECT_LE(number(db, "journal_held_bytes"), number(db, "journal_bytes"));
  for (int i = 0; number(db, "journal_bytes") < kJournal - heads && i < 10'000; ++i) {
    put(db, "key" + std::to_string(i % 100), std::string(100, 'w'));
  }
  std::string stats;
  ASSERT_TRUE(db.GetProperty("holdfast.stats", &stats));
  for (const char* line : {"through a journal", "\njournal bytes 253952\n", "\njournal groups ",
                           "\njournal checkpoints ", "\njournal flush "}) {
    EXPECT_NE(stats.find(line), std::string::npos) << line << " is not in:\n" << stats;
  }
  file.close();
  EXPECT_EQ(journal_of(file.path()), kJournal);
}

TEST_P(DbJournal, AnotherSizeIsRefusedAndTheRecordedOneNot) {
  put(*file, "key", "value");
  file.close();
  for (const std::optional<size_t> bytes : {std::optional<size_t>(), {kJournal}, {kJournal - 1}}) {
    file.options.journal_bytes = bytes;
    EXPECT_EQ(get(*file, "key"), "value");
    EXPECT_GT(number(*file, "journal_bytes"), 0u);
    file.close();
  }
  for (const size_t bytes : {size_t{0}, 2 * kJournal}) {
    file.options.journal_bytes = bytes;
    const Status status = open(file.options, file.path());
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    expect_words(status, file.path() + " has journal_bytes=262144, not " + std::to_string(bytes));
    expect_words(status, "holdfast convert --journal-bytes " + std::to_string(bytes));
  }
}

TEST_P(DbJournal, IsTheDefaultOnADiskAndNowhereElse) {
  constexpr uint64_t kMost = 64 << 20;
  struct Place {
    std::string folder;
    std::optional<Domain> domain;
    std::optional<size_t> asked;
  };
  const std::string disk = std::filesystem::temp_directory_path();
  for (const Place& place : {Place{disk, {}, {}}, Place{disk, {}, 0}, Place{disk, Domain::file, {}},
                             Place{disk, Domain::process, {}}, Place{"/dev/shm", {}, {}}}) {
    DbFile made(GetParam(), place.folder);
    made.options.initial_bytes = Options().initial_bytes;
    made.options.domain = place.domain;
    made.options.journal_bytes = place.asked;
    put(*made, "key", "value");
    made.close();
    const bool pays = !is_in_memory(place.folder) && place.domain != Domain::process &&
                      !about(GetParam()).rewrites_heap;
    EXPECT_EQ(journal_of(made.path()), !pays || place.asked ? 0u : kMost) << place.folder;
    made.options.journal_bytes = {};
    made.options.domain = Domain::file;
    EXPECT_EQ(get(*made, "key"), "value");
    EXPECT_EQ(number(*made, "journal_bytes") != 0, pays && !place.asked);
  }
}

TEST_P(DbJournal, ADatabaseWithoutOneGetsNoneLater) {
  file.options.journal_bytes = 0;
  put(*file, "key", "value");
  EXPECT_EQ(number(*file, "journal_bytes"), 0u);
  std::string stats;
  ASSERT_TRUE(file->GetProperty("holdfast.stats", &stats));
  EXPECT_EQ(stats.find("journal"), std::string::npos) << stats;
  file.close();
  file.options.journal_bytes = kJournal;
  const Status status = open(file.options, file.path());
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  expect_words(status, "has journal_bytes=0");
}

TEST_P(DbJournal, IsForDomainFile) {
  file.options.force = true;
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    file.options.domain = domain;
    const Status status = open(file.options, file.path());
    EXPECT_TRUE(status.IsNotSupportedError()) << status.ToString();
    expect_words(status, "a journal is for domain file");
    EXPECT_FALSE(std::filesystem::exists(file.path()));
  }
}

TEST_P(DbJournal, OtherDomainsFindItsEntriesAndIgnoreIt) {
  put(*file, "key", "value");
  file.close();
  file.options.domain = Domain::process;
  EXPECT_EQ(get(*file, "key"), "value");
  put(*file, "key", "newer");
  EXPECT_EQ(number(*file, "journal_groups_total"), 0u);
  file.close();
  file.options.domain = Domain::file;
  EXPECT_EQ(get(*file, "key"), "newer");
}

TEST_P(DbJournal, ACopyHasOneToo) {
  for (int i = 0; i < 50; ++i) {
    put(*file, "key" + std::to_string(i), std::string(2000, static_cast<char>('a' + i % 26)));
  }
  const Model before = contents(*file);
  const std::string copy = file.path() + ".copy";
  const Status status = file->Checkpoint(copy);
  ASSERT_TRUE(status.ok()) << status.ToString();
  file.close();
  EXPECT_EQ(journal_of(copy), kJournal);
  std::filesystem::rename(copy, file.path());
  EXPECT_EQ(contents(*file), before);
  const uint64_t groups = number(*file, "journal_groups_total");
  put(*file, "key", "value");
  EXPECT_GT(number(*file, "journal_groups_total"), groups);
  expect_tidy(file);
}

// ---- a killed process

constexpr size_t kWriters = 4;
constexpr int kKills = 6;
constexpr int kAnswersPerLife = 600;
constexpr uint64_t kLag = 16;

std::string key(const char* kind, size_t writer, uint64_t n = 0) {
  return kind + std::to_string(writer) + "/" + std::to_string(n);
}

/// Each writer counts for ever. A write stores the number under two keys, adds a key of its own,
/// and deletes an older one. The last writer does not wait for the medium.
void write_until_killed(DB& db, const std::vector<uint64_t>& from, int answers) {
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      WriteOptions options;
      options.sync = writer + 1 < kWriters;
      for (uint64_t n = from[writer] + 1;; ++n) {
        const std::string text = std::to_string(n);
        WriteBatch batch;
        batch.Put(key("first", writer), text);
        batch.Put(key("many", writer, n), std::string(100, 'x') + text);
        if (n > 100) {
          batch.Delete(key("many", writer, n - 100));
        }
        batch.Put(key("second", writer), text);
        const char name = static_cast<char>(writer);
        std::string seen;
        if (!db.Write(options, &batch).ok() ||
            !db.Get({}, key("first", (writer + 1) % kWriters), &seen).ok() ||
            ::write(answers, &name, 1) != 1) {
          _exit(1);
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
}

void DbJournal::kill_in_turn(int kills) {
  file.options.lag = kLag;
  file.options.lag_ms = 1000 * 1000;  // no flush in the background: only the bound holds
  std::vector<uint64_t> found(kWriters);
  for (size_t writer = 0; writer < kWriters; ++writer) {
    put(*file, key("first", writer), "0");
  }
  std::string lag;
  ASSERT_TRUE(file->GetProperty("holdfast.lag", &lag));
  file.close();
  for (int life = 0; life < kills; ++life) {
    std::vector<uint64_t> answered = found;
    run_and_kill(
        kAnswersPerLife, [&](int answers) { write_until_killed(*file, found, answers); },
        [&](char writer) { ++answered[static_cast<size_t>(writer)]; });
    if (life % 2 == 0) {  // another process looks before the recovery
      Options look = file.options;
      look.read_only = true;
      EXPECT_TRUE(open(look, file.path()).ok());
    }
    for (size_t writer = 0; writer < kWriters; ++writer) {
      const std::string text = get(*file, key("first", writer));
      EXPECT_TRUE(get(*file, key("second", writer)) == text || text == "0");
      found[writer] = std::stoull(text);
      const uint64_t lost = writer + 1 < kWriters ? 0 : std::stoull(lag);
      EXPECT_GE(found[writer] + lost, answered[writer]) << "writer " << writer;
      EXPECT_LE(found[writer], answered[writer] + 1) << "writer " << writer;
      for (uint64_t n = found[writer] > 99 ? found[writer] - 99 : 1; n <= found[writer]; ++n) {
        EXPECT_EQ(get(*file, key("many", writer, n)), std::string(100, 'x') + std::to_string(n));
      }
      EXPECT_EQ(get(*file, key("many", writer, found[writer] + 1)), "(none)");
    }
    EXPECT_TRUE(file->Verify().ok());
    file.close();
  }
  expect_tidy(file);
}

TEST_P(DbJournal, HoldsWhatWasAcknowledgedAfterEachKill) {
  kill_in_turn(kKills);
}

TEST_P(DbJournalOnDisk, LongHoldsWhatWasAcknowledgedAfterEachKill) {
  kill_in_turn(170);  // a thousand for all engines
}

// ---- engines without a journal

TEST(DbJournals, AreRefusedForOtherEngines) {
  for (const std::string& engine : durable_engines()) {
    if (about(engine).check_journal().ok() || !about(engine).runs_in(Domain::file)) {
      continue;
    }
    DbFile file(engine);
    file.options.domain = Domain::file;
    file.options.journal_bytes = kJournal;
    DB* opened = nullptr;
    const Status status = DB::Open(file.options, file.path(), &opened);
    EXPECT_TRUE(status.IsNotSupportedError()) << engine << ": " << status.ToString();
    expect_words(status, "engine " + engine);
    expect_words(status, "journal_bytes=0");
    EXPECT_FALSE(std::filesystem::exists(file.path()));
    file.options.journal_bytes = {};  // on a disk, if temporary files are on one
    put(*file, "key", "value");
    file.close();
    EXPECT_EQ(journal_of(file.path()), 0u) << engine;
  }
}

}  // namespace
}  // namespace holdfast::db::journal_test
