// SPDX-License-Identifier: Apache-2.0
//
// Can damage in a database's file crash a program that reads or writes the database, or keep it
// busy for ever? Each case damages a copy of a file and uses it in a child process, with a limit on
// its time. A case ends with the right content, an error, or a wrong value. Without page checksums
// the test counts wrong values and allows them. It does not allow lost or additional keys in a
// database that Verify finds in order. Where the program asks for the checksums of a closed file,
// no value is wrong.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <tuple>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/write_batch.h"
#include "holdfast/heap/file/inspect.h"
#include "tests/child_process.h"
#include "tests/db/db_file.h"
#include "tests/file_bytes.h"
#include "tests/sanitized.h"

namespace holdfast::db::store_damage_test {
namespace {

using Bytes = std::string;

const char* const kFolder = "/dev/shm";  // where a sync is fast

constexpr unsigned kMostSeconds = 20;   // of processor time; a case takes some milliseconds
constexpr unsigned kMostWaiting = 300;  // a case that waits for ever; the computer may be busy

/// The result of a case. The child exits with it, unless a signal ends the child.
enum class Outcome { right, refused, wrong, crash, hang, unverified };
constexpr size_t kOutcomes = 6;

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

/// A database's file and its content.
struct Image {
  Bytes bytes;
  Model content;
};

std::string value_of(int key, int round) {
  const std::string text = std::to_string(key) + "." + std::to_string(round) + ";";
  const size_t bytes = key % 97 == 5 ? 20'000 : key % 13 == 0 ? 700 : 60;
  std::string value;
  while (value.size() < bytes) {
    value += text;
  }
  return value;
}

std::string key_of(int i) {
  return (i % 2 == 0 ? "key " : "a longer prefix of keys ") + std::to_string(i * 7919 % 1000);
}

/// Writes to the database, if there is one, and to the model.
void write_some(DB* db, int round, Model* model) {
  for (int i = 0; i < 500; ++i) {
    if (i % 3 == round % 3 || round == 0) {
      const std::string value = value_of(i, round);
      if (db != nullptr) {
        put(*db, key_of(i), value);
      }
      (*model)[key_of(i)] = value;
    } else if (i % 31 == round) {
      ASSERT_TRUE(db == nullptr || db->Delete({}, key_of(i)).ok());
      model->erase(key_of(i));
    }
  }
}

/// Returns the file of a database in use, with versions that an open snapshot needs, as a crash
/// leaves it; and the file after a clean close.
std::array<Image, 2> images(const std::string& engine, bool journaled, Options* options) {
  DbFile file(engine, kFolder);
  if (journaled) {
    file.options.domain = Domain::file;
    file.options.journal_bytes = 128 << 10;  // many checkpoints
  }
  file.options.initial_bytes = 512 << 10;
  file.options.max_bytes = 16 << 20;
  file.options.max_threads = 3;
  file.options.change_feed_bytes = 50'000;
  Model model;
  for (int round = 0; round < 3; ++round) {
    write_some(nullptr, round, &model);
  }
  // In a process that is killed: a copy of a file that a journal's threads write has not the state
  // of one moment.
  end_of_child([&] {
    Model mine;
    write_some(file.open(), 0, &mine);
    static_cast<void>(file->GetSnapshot());
    write_some(file.open(), 1, &mine);
    write_some(file.open(), 2, &mine);
    return raise(SIGKILL);
  });
  Image in_use{file_bytes(file.path()), model};
  EXPECT_NE(file.open(), nullptr);
  file.close();
  *options = file.options;
  options->create_if_missing = false;
  options->change_feed_bytes.reset();
  return {std::move(in_use), Image{file_bytes(file.path()), model}};
}

/// Damages one place of the file. Returns what it did.
std::string damage(Bytes& bytes, const Superblock& shape, Random& random) {
  // Each region has the same share; the data region counts three times.
  std::vector<std::pair<uint64_t, uint64_t>> regions = {{0, kHeaderBytes}};
  for (const Extent& extent : shape.extents) {
    const int times = extent.kind == ExtentKind::data ? 3 : 1;
    regions.insert(regions.end(), static_cast<size_t>(times), {extent.offset, extent.bytes});
  }
  constexpr uint64_t kBlock = 512;
  const auto [begin, length] = regions[random.below(regions.size())];
  const auto place = [&](uint64_t unit) {
    const uint64_t most = random.below(3) == 0 ? std::min<uint64_t>(length, 16384) : length;
    return begin + random.below(most / unit) * unit;
  };
  const auto used = [&](uint64_t at, uint64_t n) {
    return std::any_of(bytes.begin() + static_cast<long>(at),
                       bytes.begin() + static_cast<long>(at + n),
                       [](char byte) { return byte != 0; });
  };
  const auto used_place = [&](uint64_t unit) {
    uint64_t at = place(unit);
    for (int i = 0; i < 8 && !used(at, unit); ++i) {
      at = place(unit);
    }
    return at;
  };
  char* const data = bytes.data();
  switch (random.below(6)) {
    case 0: {
      const uint64_t at = used_place(1);
      data[at] = static_cast<char>(data[at] ^ 1 << random.below(8));
      return "bit flipped at " + std::to_string(at);
    }
    case 1: {
      const uint64_t at = used_place(kBlock);
      std::memset(data + at, 0xff, kBlock);
      return "0xff at " + std::to_string(at);
    }
    case 2: {
      const uint64_t at = used_place(kBlock);
      std::memset(data + at, 0, kBlock);
      return "zeros at " + std::to_string(at);
    }
    case 3: {
      const uint64_t at = used_place(kBlock);
      std::generate_n(data + at, kBlock, [&] { return static_cast<char>(random.below(256)); });
      return "random bytes at " + std::to_string(at);
    }
    case 4: {
      const uint64_t at = used_place(kBlock);
      const uint64_t from = used_place(kBlock);
      std::memcpy(data + at, Bytes(data + from, data + from + kBlock).data(), kBlock);
      return "block " + std::to_string(from) + " copied to " + std::to_string(at);
    }
    default: {  // pointers that lead to the wrong object, and circles of them
      const uint64_t at = used_place(8);
      const uint64_t from = used_place(8);
      std::memcpy(data + at, Bytes(data + from, data + from + 8).data(), 8);
      return "word " + std::to_string(from) + " copied to " + std::to_string(at);
    }
  }
}

/// Returns the entries that a walk in one direction shows. It may end early; see the status.
Model walked(Iterator& at, bool forwards) {
  Model seen;
  for (forwards ? at.SeekToFirst() : at.SeekToLast(); at.Valid();
       forwards ? at.Next() : at.Prev()) {
    seen[at.key().ToString()] = at.value().ToString();
  }
  return seen;
}

/// Uses a database in every way. Remembers errors and wrong answers.
class User {
 public:
  /// `torn`: damage may look like a torn write, which takes the last updates without a trace.
  User(const Options& options, std::string path, const Model& content, bool torn)
      : options_(options), path_(std::move(path)), content_(content), torn_(torn) {
    reading_.verify_checksums = options.paranoid_checks;
  }

  Outcome use() {
    DB* opened = nullptr;
    saw(DB::Open(options_, path_, &opened));
    db_.reset(opened);
    if (db_ == nullptr) {
      return Outcome::refused;
    }
    read_all();
    const bool right = right_;
    const bool read_well = !failed_;
    const bool verified = db_->Verify().ok();
    write();
    db_.reset();
    reopen();
    if (verified && !same_number_ && !torn_) {
      return Outcome::unverified;
    }
    return !read_well ? Outcome::refused : right ? Outcome::right : Outcome::wrong;
  }

 private:
  void saw(const Status& status) { failed_ = failed_ || !status.ok(); }

  void read_all() {
    std::string value;
    for (const auto& [key, wanted] : content_) {
      const Status status = db_->Get(reading_, key, &value);
      saw(status.IsNotFound() ? Status::OK() : status);
      right_ = right_ && status.ok() && value == wanted;
    }
    saw(db_->Get(reading_, "not there", &value).IsNotFound() ? Status::OK()
                                                             : Status::Corruption(""));
    const Snapshot* const snapshot = db_->GetSnapshot();
    ReadOptions in_snapshot = reading_;
    in_snapshot.snapshot = snapshot;
    const std::unique_ptr<Iterator> at(db_->NewIterator(in_snapshot));
    for (const bool forwards : {false, true}) {
      const Model seen = walked(*at, forwards);
      saw(at->status());
      right_ = right_ && seen == content_;
      same_number_ = seen.size() == content_.size();  // of the last walk
    }
    at->Seek("key 5");
    if (snapshot != nullptr) {
      db_->ReleaseSnapshot(snapshot);
    }
    for (const char* name : {"stats", "prometheus", "old-versions", "sequence"}) {
      db_->GetProperty("holdfast." + std::string(name), &value);
    }
    const Range range("", "z");
    uint64_t bytes = 0;
    db_->GetApproximateSizes(&range, 1, &bytes);
    uint64_t last = 0;
    static_cast<void>(
        db_->ChangesSince(1000, [&](uint64_t sequence, const WriteBatch& /*changes*/) {
          last = sequence;
          return true;
        }));
    const Status copied = db_->Checkpoint(path_ + ".copy");
    saw(copied);
    unlink((path_ + ".copy").c_str());
  }

  void write() {
    for (int i = 0; i < 500; i += 3) {
      saw(db_->Put({}, key_of(i), value_of(i, 9)));
    }
    for (int i = 0; i < 500; i += 7) {
      saw(db_->Delete({}, key_of(i)));
    }
    WriteBatch batch;
    for (int i = 0; i < 50; ++i) {
      batch.Put("new " + std::to_string(i), value_of(5, i));
    }
    saw(db_->Write({}, &batch));
    saw(db_->DeleteRange({}, "key 2", "key 4"));
    saw(db_->Transact([](Transaction& transaction) {
      std::string value;
      static_cast<void>(transaction.Get("new 3", &value));
      const std::unique_ptr<Iterator> at(transaction.NewIterator());
      at->Seek("key 7");
      transaction.Put("new 4", "x");
      return Status::OK();
    }));
    db_->CompactRange(nullptr, nullptr);
  }

  void reopen() {
    options_.paranoid_checks = true;
    DB* opened = nullptr;
    saw(DB::Open(options_, path_, &opened));
    db_.reset(opened);
    db_.reset();
  }

  Options options_;
  ReadOptions reading_;
  const std::string path_;
  const Model& content_;
  const bool torn_;
  bool same_number_ = true;
  std::unique_ptr<DB> db_;
  bool failed_ = false;
  bool right_ = true;
};

/// Tells where the case is stuck, and ends it. If that hangs, too, the next signal ends it.
void report_hang(int /*signal*/) {
  alarm(10);
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  _exit(static_cast<int>(Outcome::hang));
}

/// Runs `body` in a child process.
Outcome in_child(const std::function<Outcome()>& body) {
  const int how = end_of_child([&] {
    void* frame = nullptr;
    backtrace(&frame, 1);  // the first call loads a library, which a signal's handler must not do
    struct sigaction reporting{};
    reporting.sa_handler = report_hang;
    reporting.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(SIGALRM, &reporting, nullptr);
    sigaction(SIGXCPU, &reporting, nullptr);
    alarm(kMostWaiting);
    const rlimit processor{kMostSeconds, kMostSeconds + 1};
    setrlimit(RLIMIT_CPU, &processor);
    Outcome outcome = Outcome::crash;
    try {
      outcome = body();
    } catch (const std::exception& error) {  // the database returns its errors
      std::fprintf(stderr, "an exception left the database: %s\n", error.what());
    }
    return outcome;
  });
  if (WIFSIGNALED(how)) {
    const int by = WTERMSIG(how);
    return by == SIGALRM || by == SIGXCPU ? Outcome::hang : Outcome::crash;
  }
  return static_cast<Outcome>(WEXITSTATUS(how));
}

/// An engine, with a journal or without.
struct StoreDamage : testing::TestWithParam<std::tuple<std::string, bool>> {
  void run(uint64_t seed, int cases) {
    const std::string engine = std::get<0>(GetParam());
    const bool journaled = std::get<1>(GetParam());
    Options options;
    const std::array<Image, 2> good = images(engine, journaled, &options);
    const NativeTestFile file(kFolder);
    const auto case_of = [&](const Image& image, const Bytes& bytes) {
      write_file(file.path(), bytes);
      const bool torn = journaled && &image == &good[0];
      return in_child([&] { return User(options, file.path(), image.content, torn).use(); });
    };
    std::vector<Superblock> shapes;
    for (const Image& image : good) {
      ASSERT_EQ(case_of(image, image.bytes), Outcome::right);
      write_file(file.path(), image.bytes);
      shapes.push_back(inspect_heap_file(file.path()).value().superblock);
    }
    std::array<int, kOutcomes> counts{};
    for (int i = 0; i < cases; ++i) {
      Random random(seed + static_cast<uint64_t>(i));
      const size_t which = random.below(2);
      Bytes bytes = good[which].bytes;
      const std::string what = damage(bytes, shapes[which], random);
      const Outcome outcome = case_of(good[which], bytes);
      ++counts[static_cast<size_t>(outcome)];
      EXPECT_NE(outcome, Outcome::crash) << engine << " seed " << seed + i << ": " << what;
      EXPECT_NE(outcome, Outcome::hang) << engine << " seed " << seed + i << ": " << what;
      EXPECT_NE(outcome, Outcome::unverified) << engine << " seed " << seed + i << ": " << what;
    }
    EXPECT_TRUE(kSanitized || counts[static_cast<size_t>(Outcome::refused)] > 0);
    report(cases, counts);
  }

  /// Damages the closed file, and asks for checksums at the opening and with each read.
  void ask(uint64_t seed, int cases) {
    if (!std::get<1>(GetParam())) {
      GTEST_SKIP() << "without a journal there are no checksums";
    }
    Options options;
    const Image good = images(std::get<0>(GetParam()), true, &options)[1];
    options.paranoid_checks = true;
    const NativeTestFile file(kFolder);
    const auto case_of = [&](const Bytes& bytes) {
      write_file(file.path(), bytes);
      return in_child([&] { return User(options, file.path(), good.content, false).use(); });
    };
    ASSERT_EQ(case_of(good.bytes), Outcome::right);
    write_file(file.path(), good.bytes);
    const Superblock shape = inspect_heap_file(file.path()).value().superblock;
    ASSERT_TRUE(shape.has_page_checksums());
    std::array<int, kOutcomes> counts{};
    for (int i = 0; i < cases; ++i) {
      Random random(seed + static_cast<uint64_t>(i));
      Bytes bytes = good.bytes;
      const std::string what = damage(bytes, shape, random);
      const Outcome outcome = case_of(bytes);
      ++counts[static_cast<size_t>(outcome)];
      EXPECT_TRUE(outcome == Outcome::right || outcome == Outcome::refused)
          << std::get<0>(GetParam()) << " seed " << seed + i << ": " << what << ": outcome "
          << static_cast<int>(outcome);
    }
    EXPECT_GT(counts[static_cast<size_t>(Outcome::refused)], 0);
    report(cases, counts);
  }

 private:
  static void report(int cases, const std::array<int, kOutcomes>& counts) {
    const std::string engine = std::get<0>(GetParam());
    const bool journaled = std::get<1>(GetParam());
    std::printf("%s%s: %d damages: %d right, %d refused, %d wrong values, %d crashes, %d hangs\n",
                engine.c_str(), journaled ? ", journal" : "", cases, counts[0], counts[1],
                counts[2], counts[3], counts[4]);
  }
};

TEST_P(StoreDamage, IsAnErrorAndNeverACrash) {
  run(1, kSanitized ? 3 : 30);
}
TEST_P(StoreDamage, LongIsAnErrorAndNeverACrash) {
  run(1000, 500);
}
TEST_P(StoreDamage, IsNoWrongValueWhereChecksumsAreAsked) {
  ask(5000, 20);
}
TEST_P(StoreDamage, LongIsNoWrongValueWhereChecksumsAreAsked) {
  ask(6000, 2000);
}

/// Changes bytes of this value in each copy of the data.
void damage_value(Bytes& bytes, const Superblock& shape, const std::string& value) {
  const Bytes part = value.substr(0, 50);
  for (const Extent& extent : shape.extents) {
    if (extent.kind != ExtentKind::data && extent.kind != ExtentKind::twin) {
      continue;
    }
    const size_t end = extent.offset + extent.bytes;
    for (size_t at = bytes.find(part, extent.offset); at < end; at = bytes.find(part, at + 1)) {
      bytes[at + 20] = static_cast<char>(bytes[at + 20] ^ 1);
    }
  }
}

// The bytes of a value are in no structure, so nothing but a checksum shows their damage.
TEST_P(StoreDamage, OfAValueIsFoundByReadsThatAsk) {
  if (!std::get<1>(GetParam())) {
    GTEST_SKIP() << "without a journal there are no checksums";
  }
  Options options;
  const Image good = images(std::get<0>(GetParam()), true, &options)[1];
  const NativeTestFile file(kFolder);
  write_file(file.path(), good.bytes);
  const Superblock shape = inspect_heap_file(file.path()).value().superblock;
  options.read_only = true;
  for (const int i : {13, 5}) {  // a short value and a long one
    const std::string& wanted = good.content.at(key_of(i));
    Bytes bytes = good.bytes;
    damage_value(bytes, shape, wanted);
    write_file(file.path(), bytes);
    DB* opened = nullptr;
    ASSERT_TRUE(DB::Open(options, file.path(), &opened).ok());
    const std::unique_ptr<DB> db(opened);
    std::string value;
    EXPECT_TRUE(db->Get({}, key_of(i), &value).ok());
    EXPECT_NE(value, wanted);
    ReadOptions asking;
    asking.verify_checksums = true;
    const Status got = db->Get(asking, key_of(i), &value);
    EXPECT_TRUE(got.IsCorruption()) << got.ToString();
    EXPECT_NE(got.ToString().find("checksum"), std::string::npos) << got.ToString();
    const std::unique_ptr<Iterator> at(db->NewIterator(asking));
    at->Seek(key_of(i));
    EXPECT_FALSE(at->Valid());
    EXPECT_TRUE(at->status().IsCorruption()) << at->status().ToString();
    size_t right = 0;  // elsewhere in the file
    for (const auto& [key, content] : good.content) {
      const Status other = db->Get(asking, key, &value);
      EXPECT_TRUE(!other.ok() || value == content) << key;
      right += other.ok() ? 1 : 0;
    }
    EXPECT_GT(right, good.content.size() / 4);
    EXPECT_TRUE(db->Verify().IsCorruption());
  }
}

/// Reads everything in three ways, and asks for checksums. Each may find damage, and is right
/// otherwise.
Outcome read_in_each_way(const Options& options, const std::string& path, const Model& content) {
  DB* opened = nullptr;
  if (!DB::Open(options, path, &opened).ok()) {
    return Outcome::refused;
  }
  const std::unique_ptr<DB> db(opened);
  ReadOptions asking;
  asking.verify_checksums = true;
  const std::unique_ptr<Iterator> at(db->NewIterator(asking));
  bool found = false;
  for (const bool forwards : {true, false}) {
    const Model seen = walked(*at, forwards);
    if (at->status().ok() && seen != content) {
      return Outcome::wrong;
    }
    found = found || !at->status().ok();
  }
  for (const auto& [key, wanted] : content) {
    std::string value;
    const Status status = db->Get(asking, key, &value);
    if (status.ok() ? value != wanted : status.IsNotFound()) {
      return Outcome::wrong;
    }
    found = found || !status.ok();
  }
  return found ? Outcome::refused : Outcome::right;
}

// Each block is checked by the read that needs it: none is found only because another one looks.
TEST(StoreDamageOfAnyLine, IsFoundByEachReadThatNeedsIt) {
  DbFile origin(kDefaultEngine, kFolder);
  origin.options.domain = Domain::file;
  origin.options.journal_bytes = 128 << 10;
  origin.options.initial_bytes = 512 << 10;
  origin.options.max_bytes = 16 << 20;
  origin.options.max_threads = 3;
  Model content;
  for (int i = 0; i < 30; ++i) {
    content[key_of(i)] = value_of(i, 0);
    put(*origin, key_of(i), content[key_of(i)]);
  }
  origin.close();
  const Bytes good = file_bytes(origin.path());
  const Superblock shape = inspect_heap_file(origin.path()).value().superblock;
  ASSERT_TRUE(shape.has_page_checksums());
  Options options = origin.options;
  options.create_if_missing = false;
  options.read_only = true;
  ASSERT_EQ(in_child([&] { return read_in_each_way(options, origin.path(), content); }),
            Outcome::right);
  const NativeTestFile file(kFolder);
  std::array<int, kOutcomes> counts{};
  for (const Extent& extent : shape.extents) {
    for (uint64_t at = extent.offset;
         extent.kind == ExtentKind::data && at < extent.offset + extent.bytes;
         at += kLineBytes * kStep) {
      if (good.find_first_not_of('\0', at) >= at + kLineBytes) {
        continue;
      }
      for (const char fill : {'\0', '\xff'}) {
        Bytes bytes = good;
        std::fill_n(bytes.begin() + static_cast<long>(at), kLineBytes, fill);
        write_file(file.path(), bytes);
        const Outcome outcome =
            in_child([&] { return read_in_each_way(options, file.path(), content); });
        ++counts[static_cast<size_t>(outcome)];
        EXPECT_TRUE(outcome == Outcome::right || outcome == Outcome::refused)
            << "line at " << at << ", filled with " << int{fill} << ": outcome "
            << static_cast<int>(outcome);
      }
    }
  }
  EXPECT_GT(counts[static_cast<size_t>(Outcome::refused)],
            counts[static_cast<size_t>(Outcome::right)]);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, StoreDamage,
    testing::Combine(testing::Values("romulus-log", "quadra", "fur-mv", "undo"), testing::Bool()),
    [](const auto& instance) {
      std::string name = std::get<0>(instance.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name + (std::get<1>(instance.param) ? "_journal" : "");
    });

}  // namespace
}  // namespace holdfast::db::store_damage_test
