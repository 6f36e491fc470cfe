// SPDX-License-Identifier: Apache-2.0
//
// Do reads and deletions of many keys behave like those of RocksDB, and are ranges that a
// transaction reads serialisable?
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/engine/overlay_iterator.h"
#include "tests/db/durable_engines.h"
#include "tests/sanitized.h"

namespace holdfast::db::ranges_test {
namespace {

class DbRanges : public DbTest {
 protected:
  void fill(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      put(*file, key, key + "!");
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DbRanges, ::testing::ValuesIn(durable_engines()), engine_name);

std::string keys_of(const Model& model) {
  std::string keys;
  for (const auto& [key, value] : model) {
    keys += key + ' ';
  }
  return keys;
}

/// Returns the keys that an iterator shows forwards. Backwards it must show the same.
std::string walk(Iterator& at) {
  std::string forwards;
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    forwards += at.key().ToString() + ' ';
  }
  std::string backwards;
  for (at.SeekToLast(); at.Valid(); at.Prev()) {
    backwards = at.key().ToString() + ' ' + backwards;
  }
  EXPECT_EQ(forwards, backwards);
  EXPECT_TRUE(at.status().ok()) << at.status().ToString();
  return forwards;
}

TEST_P(DbRanges, MultiGetReadsOneState) {
  fill({"a", "b", "c"});
  const Snapshot* const before = file->GetSnapshot();
  put(*file, "b", "new");
  ASSERT_TRUE(file->Delete({}, "c").ok());
  std::vector<std::string> values{"dropped"};
  const std::vector<Slice> keys{"c", "b", "none", "b", "a"};
  ReadOptions options;
  auto found = file->MultiGet(options, keys, &values);
  ASSERT_EQ(found.size(), keys.size());
  ASSERT_EQ(values.size(), keys.size());
  EXPECT_TRUE(found[0].IsNotFound() && found[2].IsNotFound());
  EXPECT_TRUE(found[1].ok() && found[3].ok() && found[4].ok());
  EXPECT_EQ(values[1] + values[3] + values[4], "newnewa!");
  options.snapshot = before;
  found = file->MultiGet(options, keys, &values);
  EXPECT_TRUE(found[0].ok() && found[2].IsNotFound());
  EXPECT_EQ(values[0] + values[1], "c!b!");
  EXPECT_TRUE(file->MultiGet(options, {}, &values).empty());
  file->ReleaseSnapshot(before);
  expect_tidy(file);
}

TEST_P(DbRanges, DeleteRangeTakesTheFirstKeyAndLeavesTheEnd) {
  fill({"a", "b", "b1", "b2", "c", "d"});
  const Snapshot* const before = file->GetSnapshot();
  EXPECT_TRUE(file->DeleteRange({}, "b", "c").ok());
  EXPECT_EQ(keys_of(contents(*file)), "a c d ");
  EXPECT_EQ(keys_of(contents(*file, before)), "a b b1 b2 c d ");
  file->ReleaseSnapshot(before);
  EXPECT_TRUE(file->DeleteRange({}, "b", "c").ok()) << "an empty range";
  EXPECT_TRUE(file->DeleteRange({}, "d", "a").ok()) << "ends before it begins";
  EXPECT_EQ(keys_of(contents(*file)), "a c d ");
  EXPECT_TRUE(file->DeleteRange({}, "", "\xff").ok());
  EXPECT_TRUE(contents(*file).empty());
  expect_tidy(file);
}

TEST_P(DbRanges, DeleteRangeInATransactionIsPartOfIt) {
  fill({"a", "b", "c"});
  const Status cancelled = file->Transact([](Transaction& t) {
    t.Put("b5", "own");
    EXPECT_TRUE(t.DeleteRange("b", "z").ok());
    std::string value;
    EXPECT_TRUE(t.Get("b5", &value).IsNotFound()) << "its own write stayed";
    t.Put("y", "after");
    return Status::InvalidArgument("no");
  });
  EXPECT_TRUE(cancelled.IsInvalidArgument());
  EXPECT_EQ(keys_of(contents(*file)), "a b c ");
  const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  t->Put("b5", "own");
  EXPECT_TRUE(t->DeleteRange("b", "z").ok());
  t->Put("y", "after");
  bool committed = false;
  EXPECT_TRUE(t->Commit(&committed).ok() && committed);
  EXPECT_EQ(keys_of(contents(*file)), "a y ");
}

TEST_P(DbRanges, BoundsLimitIterators) {
  fill({"a", "b", "c", "d", "e"});
  const std::string bounds[] = {"", "a", "b5", "c", "e", "f"};
  for (const std::string& from : bounds) {
    for (const std::string& to : bounds) {
      Model inside;
      for (const std::string key : {"a", "b", "c", "d", "e"}) {
        if (from <= key && key < to) {
          inside[key] = key + "!";
        }
      }
      ReadOptions options;
      std::string lower = from;  // the iterator copies the bounds
      Slice lower_slice = lower;
      const Slice upper_slice = to;
      options.iterate_lower_bound = &lower_slice;
      options.iterate_upper_bound = &upper_slice;
      const std::unique_ptr<Iterator> at(file->NewIterator(options));
      lower = "zzzz";
      lower_slice = Slice();
      EXPECT_EQ(walk(*at), keys_of(inside)) << from << " to " << to;
      for (const std::string& target : bounds) {
        at->Seek(target);
        const auto expected = inside.lower_bound(target);
        ASSERT_EQ(at->Valid(), expected != inside.end());
        EXPECT_TRUE(!at->Valid() || at->key() == Slice(expected->first));
      }
    }
  }
}

/// A random walk of an iterator and random writes, beside a model.
template <class AnyTransaction>
void walk_and_write(AnyTransaction& t, Model& model, Random& random, int steps) {
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.below(26))); };
  const std::unique_ptr<Iterator> at(t.NewIterator());
  std::string place;
  for (int i = 0; i < steps; ++i) {
    const std::string k = key();
    auto expected = model.end();
    const bool valid = at->Valid();
    if (valid) {
      place = at->key().ToString();
    }
    switch (random.below(valid ? 10 : 7)) {
      case 0:
      case 1:
        t.Put(k, std::to_string(i));
        model[k] = std::to_string(i);
        continue;
      case 2:
        t.Delete(k);
        model.erase(k);
        continue;
      case 3:
        if (random.below(8) == 0) {
          const std::string end = key();
          ASSERT_TRUE(t.DeleteRange(k, end).ok());
          if (k < end) {
            model.erase(model.lower_bound(k), model.lower_bound(end));
          }
        }
        continue;
      case 4:
        at->SeekToFirst();
        expected = model.begin();
        break;
      case 5:
        at->SeekToLast();
        expected = model.empty() ? model.end() : std::prev(model.end());
        break;
      case 6:
        at->Seek(k);
        expected = model.lower_bound(k);
        break;
      case 7:
      case 8:
        at->Next();
        expected = model.upper_bound(place);
        break;
      case 9:
        at->Prev();
        expected = model.lower_bound(place);
        expected = expected == model.begin() ? model.end() : std::prev(expected);
        break;
    }
    ASSERT_EQ(at->Valid(), expected != model.end()) << "step " << i;
    if (at->Valid()) {
      ASSERT_EQ(at->key().ToString(), expected->first) << "step " << i;
      ASSERT_EQ(at->value().ToString(), expected->second) << "step " << i;
    }
  }
}

TEST_P(DbRanges, AnIteratorShowsItsTransactionsWrites) {
  fill({"b", "d", "f", "h", "m", "q", "t", "x"});
  Model model = contents(*file);
  for (uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) {
    Model changed;
    ASSERT_TRUE(file->Transact([&](Transaction& t) {
                      Random random(seed);
                      changed = model;
                      walk_and_write(t, changed, random, 60);
                    })
                    .ok());
    model = changed;
    ASSERT_EQ(contents(*file), model) << "seed " << seed;

    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    Random random(seed);
    walk_and_write(*t, model, random, 60);
    bool committed = false;
    ASSERT_TRUE(t->Commit(&committed).ok() && committed);
    ASSERT_EQ(contents(*file), model) << "seed " << seed;
  }
  expect_tidy(file);
}

/// Walks a range and writes outside it, while another writer changes one key. The transaction must
/// fail exactly if that key is in the range, or if it was not there and the walk has passed its
/// place.
TEST_P(DbRanges, AChangeInARangeThatWasReadIsAConflict) {
  struct Case {
    const char* first;
    int steps;  ///< backwards if negative
    const char* changed;
    bool deletes;
    bool conflict;
  };
  const Case cases[] = {
      {"c", 1, "c", false, true},  {"c", 1, "d", false, true},   {"c", 1, "e", true, true},
      {"c", 1, "f", false, false}, {"c", 1, "b", false, false},  {"c", 1, "a", true, false},
      {"c", 9, "zz", false, true}, {"c", 9, "b", false, false},  {"g", -1, "f", false, true},
      {"g", -1, "e", true, true},  {"g", -1, "h", false, false}, {"g", -1, "d", false, false},
      {"g", -9, "0", false, true}, {"g", -9, "h", false, false}, {"h", 0, "h5", false, true},
      {"h", 0, "i", true, true},   {"h", 0, "j", false, false},  {"z", 0, "zz", false, true},
      {"z", 0, "i", true, false},
  };
  for (const Case& c : cases) {
    ASSERT_TRUE(file->DeleteRange({}, "", "\xff").ok());
    fill({"a", "c", "e", "g", "i"});
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    {
      const std::unique_ptr<Iterator> at(t->NewIterator());
      at->Seek(c.first);
      for (int i = 0; i < std::abs(c.steps); ++i) {
        c.steps > 0 ? at->Next() : at->Prev();
      }
    }
    t->Put("written", "w");
    ASSERT_TRUE(
        (c.deletes ? file->Delete({}, c.changed) : file->Put({}, c.changed, "changed")).ok());
    bool committed = false;
    ASSERT_TRUE(t->Commit(&committed).ok());
    EXPECT_EQ(committed, !c.conflict) << c.first << ' ' << c.steps << ' ' << c.changed;
    EXPECT_EQ(get(*file, "written"), committed ? "w" : "(none)");
  }
  ASSERT_TRUE(file->DeleteRange({}, "", "\xff").ok());
  file->CompactRange(nullptr, nullptr);
  const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  {
    const std::unique_ptr<Iterator> at(t->NewIterator());
    at->SeekToFirst();
    EXPECT_FALSE(at->Valid());
  }
  t->Put("written", "w");
  put(*file, "any", "key");
  bool committed = true;
  EXPECT_TRUE(t->Commit(&committed).ok() && !committed) << "the database was empty";
}

TEST_P(DbRanges, TwoWalksOfATransactionAreTwoRanges) {
  struct Case {
    const char* changed;
    bool conflict;
  };
  for (const int directions : {0, 1, 2, 3}) {  // of the first walk, and of the second one
    for (const Case& c : {Case{"c", true},
                          {"d", true},
                          {"e", true},
                          {"f", false},
                          {"j", false},
                          {"k", true},
                          {"l", true},
                          {"m", true},
                          {"b", false},
                          {"n", false}}) {
      ASSERT_TRUE(file->DeleteRange({}, "", "\xff").ok());
      fill({"a", "c", "e", "g", "i", "k", "m", "o"});
      const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
      {
        const std::unique_ptr<Iterator> at(t->NewIterator());
        const auto walk_over = [&](const char* first, const char* last, bool backwards) {
          at->Seek(backwards ? last : first);
          backwards ? at->Prev() : at->Next();
          EXPECT_EQ(at->key().ToString(), backwards ? first : last);
        };
        walk_over("c", "e", (directions & 1) != 0);
        walk_over("k", "m", (directions & 2) != 0);
      }
      t->Put("written", "w");
      put(*file, c.changed, "changed");
      bool committed = false;
      ASSERT_TRUE(t->Commit(&committed).ok());
      EXPECT_EQ(committed, !c.conflict) << c.changed << ' ' << directions;
    }
  }
}

/// Two transactions read one range each, and write into the range of the other if theirs is as it
/// was. If both wrote, neither came first: each of them has missed the other's write (write skew).
class Skew {
 public:
  static constexpr int kKeys = 40;  ///< of each range, in several leaves
  using Scan = std::function<int(Iterator& at, const std::string& range)>;

  explicit Skew(DbFile& file) : db_(*file) {}

  static std::string key(const std::string& range, int i) {
    return range + std::to_string(100 + i);
  }
  void fill(DbFile& file) {
    ASSERT_TRUE(file->DeleteRange({}, "", "\xff").ok());
    for (int i = 0; i < kKeys; ++i) {
      put(*file, key("a", i), "");
      put(*file, key("b", i), "");
    }
  }

  /// Both scan; then one puts "b" + `place`, the other one "a" + `place`. The first one waits in
  /// the middle for the second one, which commits meanwhile unless the engine holds it up.
  void run(const Scan& scan, const std::string& place) {
    constexpr int kPatience = 300;
    std::atomic<bool> inside{false};
    std::atomic<bool> done{false};
    const auto transaction = [&](const std::string& own, const std::string& other, bool waits) {
      const Status status = db_.Transact([&](Transaction& t) {
        const std::unique_ptr<Iterator> at(t.NewIterator());
        const bool untouched = scan(*at, own) == 0;
        if (waits && !inside.exchange(true)) {
          for (int i = 0; i < kPatience && !done; ++i) {
            std::this_thread::yield();
          }
        }
        if (untouched) {
          t.Put(other + place, kNew);
        }
      });
      EXPECT_TRUE(status.ok()) << status.ToString();
    };
    std::thread second([&] {
      for (int i = 0; i < kPatience && !inside; ++i) {
        std::this_thread::yield();
      }
      transaction("b", "a", false);
      done = true;
    });
    transaction("a", "b", true);
    second.join();
    EXPECT_NE(get(db_, "a" + place) == kNew, get(db_, "b" + place) == kNew) << place;
  }

  /// Returns the number of new entries from `first` to `end`.
  static int count(Iterator& at, const std::string& first, const std::string& end, bool backwards) {
    int found = 0;
    if (!backwards) {
      for (at.Seek(first); at.Valid() && at.key().compare(end) < 0; at.Next()) {
        found += at.value() == Slice(kNew) ? 1 : 0;
      }
      return found;
    }
    at.Seek(end);
    for (at.Valid() ? at.Prev() : at.SeekToLast(); at.Valid() && at.key().compare(first) >= 0;
         at.Prev()) {
      found += at.value() == Slice(kNew) ? 1 : 0;
    }
    return found;
  }

 private:
  static constexpr const char* kNew = "new";
  DB& db_;
};

TEST_P(DbRanges, BodiesMissNoWriteInTheirRanges) {
  const auto row = find_row("engine", GetParam(), db_engines(), Code::not_found);
  const bool snapshots = row.value()->description->isolation == Isolation::snapshot;
  Skew skew(file);
  for (const bool backwards : {false, true}) {
    const auto whole = [&](Iterator& at, const std::string& range) {
      return Skew::count(at, range, range + "~", backwards);
    };
    skew.fill(file);
    skew.run(whole, "120 new");

    skew.fill(file);
    const Snapshot* const before = file->GetSnapshot();  // keeps the deletions in the tree
    ASSERT_TRUE(file->Delete({}, Skew::key("a", 20)).ok());
    ASSERT_TRUE(file->Delete({}, Skew::key("b", 20)).ok());
    skew.run(whole, "120");
    file->ReleaseSnapshot(before);

    // Empty ranges: between two keys of a leaf, and where two leaves meet.
    skew.fill(file);
    const bool all = snapshots && !kSanitized;
    for (int i = all ? 0 : 14; i < (all ? 32 : 15); ++i) {
      const auto gap = [&](Iterator& at, const std::string& range) {
        return Skew::count(at, Skew::key(range, i) + " m", Skew::key(range, i + 1), backwards);
      };
      skew.run(gap, Skew::key("", i) + " new");
    }
  }
  skew.fill(file);
  expect_tidy(file);
}

/// The keys of a large tree, so that a range has many leaves and a walk many fillings.
TEST_P(DbRanges, LongWalksInTransactions) {
  constexpr int kKeys = 3000;
  WriteBatch batch;
  Model model;
  const auto key = [](int i) { return std::to_string(100000 + i); };
  for (int i = 0; i < kKeys; ++i) {
    batch.Put(key(i), std::string(static_cast<size_t>(i % 50), 'v'));
    model[key(i)] = std::string(static_cast<size_t>(i % 50), 'v');
    if (i % 300 == 299) {
      ASSERT_TRUE(file->Write({}, &batch).ok());
      batch.Clear();
    }
  }
  Model seen;
  ASSERT_TRUE(file->Transact([&](Transaction& t) {
                    seen.clear();
                    const std::unique_ptr<Iterator> at(t.NewIterator());
                    for (at->SeekToFirst(); at->Valid(); at->Next()) {
                      seen.emplace(at->key().ToString(), at->value().ToString());
                    }
                    std::string backwards;
                    at->SeekToLast();
                    for (auto last = model.rbegin(); last != model.rend(); ++last, at->Prev()) {
                      ASSERT_TRUE(at->Valid());
                      ASSERT_EQ(at->key().ToString(), last->first);
                    }
                    EXPECT_FALSE(at->Valid());
                  })
                  .ok());
  EXPECT_EQ(seen, model);
  for (const int changed : {0, 1, kKeys / 2, kKeys - 1}) {
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    {
      const std::unique_ptr<Iterator> at(t->NewIterator());
      EXPECT_EQ(walk(*at), keys_of(model));
    }
    t->Put("0", "");
    put(*file, key(changed), model[key(changed)]);
    bool committed = true;
    EXPECT_TRUE(t->Commit(&committed).ok() && !committed);
  }
  const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  EXPECT_TRUE(t->DeleteRange(key(10), key(20)).ok());
  bool committed = false;
  EXPECT_TRUE(t->Commit(&committed).ok() && committed);
  EXPECT_EQ(contents(*file).size(), static_cast<size_t>(kKeys - 10));
}

TEST(DbOverlay, JumpsMissNothingThatTheTransactionPutsAgain) {
  DbFile file;
  for (char key = 'a'; key <= 'z'; ++key) {
    put(*file, std::string(1, key), "");
  }
  for (uint64_t seed = 1; seed <= 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model = contents(*file);
    Random random(seed);
    const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
    for (int round = 0; round < 4; ++round) {
      ASSERT_TRUE(t->DeleteRange("c", "x").ok());
      model.erase(model.lower_bound("c"), model.lower_bound("x"));
      walk_and_write(*t, model, random, 40);
    }
  }
}

/// Walks over the keys "00" to "99". A step meets damage once if `damaged` is set. A seek finds its
/// key, whatever was met before.
class Numbers final : public Iterator {
 public:
  explicit Numbers(bool& damaged) : damaged_(damaged) {}
  bool Valid() const override { return status_.ok() && at_ >= 0 && at_ < 100; }
  void SeekToFirst() override { move_to(0); }
  void SeekToLast() override { move_to(99); }
  void Seek(const Slice& target) override { move_to(std::stoi(target.ToString())); }
  void Next() override { step(1); }
  void Prev() override { step(-1); }
  Slice key() const override { return key_; }
  Slice value() const override { return {}; }
  Status status() const override { return status_; }

 private:
  void move_to(int at) {
    status_ = Status::OK();
    at_ = at;
    key_ = {static_cast<char>('0' + at / 10), static_cast<char>('0' + at % 10)};
  }
  void step(int by) {
    if (std::exchange(damaged_, false)) {
      status_ = Status::Corruption("damaged");
    } else {
      move_to(at_ + by);
    }
  }

  bool& damaged_;
  int at_ = -1;
  std::string key_;
  Status status_;
};

TEST(DbOverlay, AJumpForgetsNoDamage) {
  const PendingWrite deletion{true, {}};
  PendingWrites writes{ComparatorLess{BytewiseComparator()}};
  for (const char* const key : {"00", "20", "80", "99"}) {  // the entries between are shown
    writes.emplace(key, deletion);
  }
  HiddenRanges hidden(BytewiseComparator());
  hidden.add("20", "80");
  std::vector<KeyRange> crossed;
  bool damaged = false;
  OverlayIterator at(std::make_unique<Numbers>(damaged), writes, &hidden, {}, &crossed);
  for (const bool backwards : {false, true}) {
    backwards ? at.SeekToLast() : at.SeekToFirst();
    EXPECT_TRUE(at.Valid());
    EXPECT_EQ(at.key(), backwards ? "98" : "01");
    damaged = true;
    backwards ? at.SeekToLast() : at.SeekToFirst();
    EXPECT_FALSE(at.Valid());
    EXPECT_TRUE(at.status().IsCorruption());
  }
}

/// Iterators of one transaction that take steps in turn.
TEST(DbOverlay, IteratorsExtendARangeEach) {
  DbFile file;
  for (const char* const k : {"a", "b", "c", "d", "e", "f"}) {
    put(*file, k, "");
  }
  const PendingWrites writes{ComparatorLess{BytewiseComparator()}};
  HiddenRanges hidden(BytewiseComparator());
  std::vector<KeyRange> crossed;
  const auto iterate = [&] {
    return OverlayIterator(std::unique_ptr<Iterator>(file->NewIterator({})), writes, &hidden, {},
                           &crossed);
  };
  OverlayIterator forwards = iterate();
  OverlayIterator backwards = iterate();
  forwards.SeekToFirst();
  backwards.SeekToLast();
  for (int step = 0; step < 3; ++step) {
    forwards.Next();
    backwards.Prev();
  }
  ASSERT_EQ(crossed.size(), 2u);
  EXPECT_TRUE(!crossed[0].first && crossed[0].last == "d");
  EXPECT_TRUE(crossed[1].first == "c" && !crossed[1].last);
  forwards.Prev();  // back over what has been crossed
  EXPECT_EQ(crossed.size(), 3u);
  EXPECT_TRUE(crossed[2].first == "c" && crossed[2].last == "d");
}

class Counting final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    ++calls;
    return a.compare(b);
  }
  const char* Name() const override { return "counting"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  mutable std::atomic<int> calls = 0;
};

/// The calls of the comparator by a transaction that takes out one entry after the other.
struct CallsOf {
  int body;
  int commit;
};
CallsOf taking_out(int keys, bool backwards) {
  const Counting counting;
  DbFile file;
  file.options.comparator = &counting;
  WriteBatch batch;
  for (int i = 0; i < keys; ++i) {
    batch.Put(std::to_string(1000 + i), "");
  }
  EXPECT_TRUE(file->Write({}, &batch).ok());
  const std::unique_ptr<OptimisticTransaction> t(file->BeginTransaction());
  counting.calls = 0;
  for (int i = 0; i < keys; ++i) {
    const std::unique_ptr<Iterator> at(t->NewIterator());
    backwards ? at->SeekToLast() : at->SeekToFirst();
    EXPECT_EQ(at->key().ToString(), std::to_string(backwards ? 999 + keys - i : 1000 + i));
    t->Delete(at->key());
  }
  const int body = counting.calls.exchange(0);
  bool committed = false;
  EXPECT_TRUE(t->Commit(&committed).ok() && committed);
  return {body, counting.calls.load()};
}

TEST(DbCommit, LooksOnceAtAKeyThatManyWalksHaveCrossed) {
  const int few = taking_out(100, false).commit;
  EXPECT_LT(taking_out(400, false).commit, 8 * few) << "16 times as many would be quadratic";
}

TEST(DbOverlay, WalksJumpOverWhatTheTransactionHasDeleted) {
  for (const bool backwards : {false, true}) {
    const int few = taking_out(400, backwards).body;
    EXPECT_LT(taking_out(1600, backwards).body, 8 * few) << "16 times as many would be quadratic";
  }
}

TEST(DbCommit, UnitesTheRangesThatShareAKey) {
  const auto of = [](const std::vector<KeyRange>& ranges) {
    std::string text;
    for (const KeyRange& range : united(ranges, *BytewiseComparator())) {
      text += range.first.value_or("<") + '-' + range.last.value_or(">") + ' ';
    }
    return text;
  };
  using Limit = std::optional<std::string>;
  const Limit none;
  EXPECT_EQ(of({}), "");
  EXPECT_EQ(of({{none, none}}), "<-> ");
  EXPECT_EQ(of({{"c", "d"}, {"a", "b"}}), "a-b c-d ");
  EXPECT_EQ(of({{"b", "c"}, {"a", "b"}}), "a-c ");
  EXPECT_EQ(of({{"a", "d"}, {"b", "c"}, {"d1", "e"}}), "a-d d1-e ");
  EXPECT_EQ(of({{"b", none}, {"c", "d"}, {none, "a"}}), "<-a b-> ");
  EXPECT_EQ(of({{"b", "d"}, {none, "c"}, {"c", none}}), "<-> ");
  EXPECT_EQ(of({{none, "b"}, {none, "a"}, {none, "c"}, {"", "0"}}), "<-c ");
}

/// More threads than slots: reads and writes go on, and wait for each other at most. Some engines
/// have a background thread, which has a slot of its own.
TEST_P(DbRanges, MoreThreadsThanSlots) {
  file.options.max_threads = 2;
  DB& db = *file;
  constexpr int kThreads = 6;
  constexpr int kEach = 20;
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      put(db, "mine" + std::to_string(i), "");  // takes a slot, if there is one
      ++arrived;
      while (arrived < kThreads) {
        std::this_thread::yield();
      }
      for (int j = 0; j < kEach; ++j) {
        const Status status = db.Transact([](Transaction& t) {
          std::string sum = "0";
          static_cast<void>(t.Get("sum", &sum).ok());
          t.Put("sum", std::to_string(std::stoi(sum) + 1));
        });
        EXPECT_TRUE(status.ok()) << status.ToString();
        EXPECT_NE(get(db, "sum"), "(none)");
        const std::unique_ptr<Iterator> at(db.NewIterator({}));
        at->Seek("mine" + std::to_string(i));
        EXPECT_TRUE(at->Valid()) << at->status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(get(db, "sum"), std::to_string(kThreads * kEach));
  expect_tidy(file);
}

}  // namespace
}  // namespace holdfast::db::ranges_test
