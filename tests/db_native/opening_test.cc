// SPDX-License-Identifier: Apache-2.0
//
// Which names and domains does opening accept, and do its messages say what is wrong and what to
// do?
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "holdfast/heap/file/superblock.h"
#include "holdfast/holdfast.h"
#include "tests/db/db_file.h"
#include "tests/file_bytes.h"

namespace holdfast::db::opening_test {
namespace {

struct Names : ::testing::Test {
  Names() {
    options.domain = Domain::process;
    options.initial_bytes = 1 << 20;
    options.max_bytes = 8 << 20;
  }
  Status open(const std::string& name) {
    DB* opened = nullptr;
    const Status status = DB::Open(options, name, &opened);
    db.reset(opened);
    EXPECT_EQ(db != nullptr, status.ok());
    return status;
  }
  std::string in(const std::string& name) const { return place.directory() + "/" + name; }
  static void expect_words(const Status& status, const std::string& words) {
    EXPECT_NE(status.message().find(words), std::string::npos) << status.ToString();
  }

  const NativeTestFile place;
  Options options;
  std::unique_ptr<DB> db;
};

TEST(DbDefaults, AreThoseOfTheDocumentation) {
  const Options defaults;
  EXPECT_EQ(defaults.write_buffer_size, 4u << 20);
  EXPECT_EQ(defaults.max_open_files, 1000);
  EXPECT_EQ(defaults.block_size, 4u << 10);
  EXPECT_EQ(defaults.block_restart_interval, 16);
  EXPECT_EQ(defaults.max_file_size, 2u << 20);
  EXPECT_EQ(defaults.zstd_compression_level, 1);
  EXPECT_EQ(defaults.initial_bytes, 384u << 10);
  EXPECT_EQ(defaults.max_bytes, 0u);
  EXPECT_EQ(defaults.max_threads, 0);
  EXPECT_EQ(defaults.lag, 1024u);
  EXPECT_EQ(defaults.lag_ms, 100u);
  EXPECT_EQ(kMajorVersion, 1);
  EXPECT_EQ(kMinorVersion, 23);
}

TEST(DbStatus, HasAKindAMessageAndTheSystemsError) {
  EXPECT_EQ(Status().ToString(), "OK");
  EXPECT_EQ(Status().system_error(), 0);
  EXPECT_EQ(Status::NotFound("key", "more").ToString(), "NotFound: key: more");
  EXPECT_EQ(Status::IOError("a").message(), "a");
  DB* db = nullptr;
  const Status missing = DB::Open(Options(), "/tmp/no such database", &db);
  EXPECT_EQ(missing.system_error(), ENOENT);
  EXPECT_TRUE(missing.IsInvalidArgument());
}

TEST_F(Names, AMissingDirectoryIsNotFoundAndNamed) {
  options.create_if_missing = true;
  for (const std::string name : {"none/", "none/file"}) {
    const Status status = open(in(name));
    EXPECT_EQ(status.code(), Code::not_found) << status.ToString();
    expect_words(status, "the directory " + in("none") + " does not exist");
  }
  EXPECT_FALSE(std::filesystem::exists(in("none")));
  std::ofstream(in("file")) << "x";
  expect_words(open(in("file/")), "is not a directory");
  expect_words(open(in("file/below")), "is not a directory");
}

TEST_F(Names, ALinkToItselfIsThereAndCannotBeOpened) {
  options.create_if_missing = true;
  std::filesystem::create_symlink(in("loop"), in("loop"));
  const Status status = open(in("loop"));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.system_error(), ELOOP) << status.ToString();
  options.error_if_exists = true;
  expect_words(open(in("loop")), "exists (error_if_exists is true)");
  options.create_if_missing = false;
  options.error_if_exists = false;
  EXPECT_EQ(open(in("loop")).message().find("does not exist"), std::string::npos);
}

TEST_F(Names, AnErrorOfTheStoreNamesTheFileOnce) {
  struct Backwards final : Comparator {
    int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
    const char* Name() const override { return "backwards"; }
    void FindShortestSeparator(std::string*, const Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
  } backwards;
  options.create_if_missing = true;
  ASSERT_TRUE(open(in("file")).ok());
  db.reset();
  options.comparator = &backwards;
  EXPECT_EQ(open(in("file")).message(),
            in("file") +
                ": the database is ordered by comparator 'leveldb.BytewiseComparator', "
                "not 'backwards'; open it with that one");
}

TEST_F(Names, AZeroByteIsRefused) {
  options.create_if_missing = true;
  const std::string name = in("file") + std::string("\0more", 5);
  const Status status = open(name);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  expect_words(status, "zero byte");
  EXPECT_FALSE(std::filesystem::exists(in("file"))) << "the name was cut off";

  ASSERT_TRUE(open(in("file")).ok());
  EXPECT_TRUE(db->Checkpoint(in("copy") + std::string("\0more", 5)).IsInvalidArgument());
  EXPECT_FALSE(std::filesystem::exists(in("copy")));
  db.reset();
  EXPECT_TRUE(DestroyDB(name, options).IsInvalidArgument());
  EXPECT_TRUE(RepairDB(name, options).IsInvalidArgument());
  EXPECT_TRUE(std::filesystem::exists(in("file"))) << "another file was deleted";
}

TEST_F(Names, AHeapOfAnotherProgramIsNotDeleted) {
  CreateOptions sizes;
  sizes.bytes = options.initial_bytes;
  sizes.max_bytes = options.max_bytes;
  NativeOptions native;
  native.domain = Domain::process;
  auto heap = DefaultHeap::create(in("own"), sizes, native).value();
  heap.reset();
  EXPECT_TRUE(DestroyDB(in("own"), options).ok()) << "a creation may have ended before the root";

  for (const Domain domain : {Domain::process, Domain::file}) {
    native.domain = domain;
    heap = DefaultHeap::create(in("own"), sizes, native).value();
    ASSERT_TRUE(heap->root<DefaultHeap::Field<long>>("counter", 0).ok());
    // As a killed program leaves it.
    std::filesystem::copy_file(in("own"), in("left"));
    heap.reset();
    std::filesystem::remove(in("own"));
    const std::string bytes = file_bytes(in("left"));
    const Status status = DestroyDB(in("left"), options);
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    expect_words(status, "left: the heap holds something else than a database");
    EXPECT_TRUE(file_bytes(in("left")) == bytes) << "it was recovered, or marked";
    std::filesystem::remove(in("left"));
  }
}

TEST_F(Names, AnEmptyFileIsANewDatabase) {
  std::ofstream(in("empty")).close();
  ASSERT_EQ(::chmod(in("empty").c_str(), 0640), 0);
  expect_words(open(in("empty")), "is empty: no database is in it yet");
  options.read_only = true;
  options.create_if_missing = true;
  expect_words(open(in("empty")), "is empty: no database is in it yet");
  options.read_only = false;
  EXPECT_EQ(std::filesystem::file_size(in("empty")), 0u) << "a refusal changes nothing";

  ASSERT_TRUE(open(in("empty")).ok());
  put(*db, "key", "value");
  ASSERT_TRUE(open(in("empty")).IsIOError()) << "it is open";
  db.reset();
  struct stat info{};
  ASSERT_EQ(::stat(in("empty").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u) << "the file was replaced by another one";
  options.create_if_missing = false;
  ASSERT_TRUE(open(in("empty")).ok());
  EXPECT_EQ(get(*db, "key"), "value");
}

TEST_F(Names, AnInterruptedCreationIsANewDatabase) {
  const auto kill_creation = [&] {
    std::ofstream file(in("killed"), std::ios::trunc);
    file.seekp(kSuperblockBytes) << kUnfinished << std::string(kSuperblockBytes, '\0');
  };
  kill_creation();
  expect_words(open(in("killed")), "beginning of a heap: no database is in it yet");
  EXPECT_TRUE(std::filesystem::exists(in("killed")));
  for (const bool refuses_existing : {false, true}) {
    kill_creation();
    options.create_if_missing = true;
    options.error_if_exists = refuses_existing;
    ASSERT_TRUE(open(in("killed")).ok());
    put(*db, "key", "value");
    db.reset();
    options.error_if_exists = false;
    ASSERT_TRUE(open(in("killed")).ok());
    EXPECT_EQ(get(*db, "key"), "value");
    db.reset();
  }
  kill_creation();
  EXPECT_TRUE(DestroyDB(in("killed"), options).ok());
  EXPECT_FALSE(std::filesystem::exists(in("killed")));
}

/// Persistent memory is emulated on an ordinary file only if the caller asks for it.
TEST_F(Names, PersistentMemoryOnAnOrdinaryFileIsRefusedUnlessForced) {
  options.create_if_missing = true;
  for (const Domain domain : {Domain::pmem, Domain::eadr}) {
    options.domain = domain;
    options.force = false;
    const std::string name = in(to_string(domain));
    const Status status = open(name);
    EXPECT_TRUE(status.IsNotSupportedError()) << status.ToString();
    expect_words(status, "use domain file, or the option force");
    EXPECT_FALSE(std::filesystem::exists(name));

    options.force = true;
    ASSERT_TRUE(open(name).ok());
    put(*db, "key", "value");
    std::string value;
    ASSERT_TRUE(db->GetProperty("holdfast.domain", &value));
    EXPECT_EQ(value, std::string(to_string(domain)) + " (emulated)");
    ASSERT_TRUE(db->GetProperty("leveldb.stats", &value));
    EXPECT_NE(value.find("emulated"), std::string::npos) << value;
    ASSERT_TRUE(db->GetProperty("holdfast.prometheus", &value));
    EXPECT_NE(value.find(std::string("domain_emulated{engine=\"") + kDefaultEngine + "\"} 1\n"),
              std::string::npos);
    db.reset();

    options.force = false;
    EXPECT_TRUE(open(name).IsNotSupportedError()) << "each opening chooses";
    EXPECT_TRUE(DestroyDB(name, options).ok()) << "needs no domain";
  }
  options.domain.reset();
  ASSERT_TRUE(open(in("any")).ok());
  std::string value;
  ASSERT_TRUE(db->GetProperty("holdfast.domain", &value));
  EXPECT_EQ(value.find("emulated"), std::string::npos) << value;
  ASSERT_TRUE(db->GetProperty("leveldb.stats", &value));
  EXPECT_EQ(value.find("emulated"), std::string::npos) << value;
}

}  // namespace
}  // namespace holdfast::db::opening_test
