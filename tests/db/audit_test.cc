// SPDX-License-Identifier: Apache-2.0
//
// Does the audit of a store find each kind of damage, and name it? Each case changes one thing of a
// sound store.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/check/crash/sim_heap.h"
#include "holdfast/db/store/store_audit.h"
#include "tests/db/durable_engines.h"

namespace holdfast::db::audit_test {
namespace {

using H = SimHeap;
using E = H::Engine;
using V = Version<H>;
using Audited = StoreAudit<H>;

/// Keys in order. All share more bytes than a node holds of them, and the numbers have gaps.
std::string key(int i) {
  return "a prefix of all keys " + std::to_string(200 + 2 * i);
}
constexpr int kKeys = 200;  // in several leaves
constexpr int kLong = 7;    // the key with a long value, in several pieces
constexpr int kFull = 8;    // the key with the longest short value
constexpr int kOld = 150;   // a key with old versions, as the next one
constexpr int kGone = 160;  // a deleted key

/// A store with everything that one can have.
struct World {
  World() {
    CreateOptions create;
    create.engine = kDefaultEngine;
    create.bytes = 512 << 10;
    create.max_bytes = 2 << 20;
    heap = H::create(machine, create).value();
    StoreLimits limits;
    limits.feed_bytes = 1 << 20;
    store = Store<H>::open(*heap, BytewiseComparator(), limits).value();
    for (int i = 0; i < kKeys; ++i) {
      store->write(Change{key(i), value(i)}).check();
    }
    view = store->open_view().value();
    for (const char* text : {"second", "third"}) {
      store->write(Change{key(kOld), text}).check();
      store->write(Change{key(kOld + 1), text}).check();
    }
    store->write(Change{key(kGone), {}, true}).check();
    heap->update([&] { store->write(Change{key(170), "nested"}).check(); }).check();
    heap->update([&] { store->write(Change{key(171), "nested"}).check(); }).check();
    bool plain_keys = false;
    root = find_store_root(*heap, &plain_keys).value();
    feed = heap->find_root<FeedRoot<H>>("holdfast.db.feed").value();
  }
  ~World() { close(); }
  void close() {
    if (store != nullptr) {
      store->close_view(view);
      store.reset();
    }
  }

  static std::string value(int i) {
    return std::string(i == kLong ? 20000 : i == kFull ? kMostShortValue : 20, 'v');
  }
  V* newest(int i) const {
    return Versions<H>::newest(*root->tree.find_field(Probe<H>(key(i), BytewiseComparator())));
  }
  /// The slot whose transactions have written.
  Slot<H>& slot() { return root->slots.load()[machine.self()]; }
  /// The list `filling` gets a long value that is whole.
  Blob<H>* fill() const {
    Blob<H>* const blob = Blobs<H>::make();
    Blobs<H>::append(blob, std::string(100, 'f'));
    Blobs<H>::link(root->filling, blob);
    return blob;
  }
  std::string verdict(const Comparator* comparator = BytewiseComparator()) const {
    const auto status = Audited::run(*heap, comparator);
    return status.ok() ? "sound" : status.message();
  }

  SimMachine machine{{.domain = usual_domain(*EngineFactory<E>::describe(kDefaultEngine).value())}};
  std::unique_ptr<H> heap;
  std::unique_ptr<Store<H>> store;
  Store<H>::View* view = nullptr;  ///< keeps old versions
  StoreRoot<H>* root = nullptr;
  FeedRoot<H>* feed = nullptr;
};

void change_key(V* version, size_t at, char byte) {
  E::store_range(version->key.content() + at, &byte, 1);
}

/// Adds `n` to the number that ends each key, in the version's own bytes.
void renumber(World& w, int n) {
  for (int i = 0; i < kKeys; ++i) {
    V* const version = w.newest(i);
    const std::string bytes = std::to_string(200 + 2 * i + n);
    E::store_range(version->key.content() + key(i).size() - 3, bytes.data(), 3);
  }
}

/// The tree's height.
H::Field<uint64_t>& last_word(StoreRoot<H>::Tree& tree) {
  return reinterpret_cast<H::Field<uint64_t>*>(&tree + 1)[-1];
}

struct Case {
  const char* what;
  const char* verdict;
  std::function<void(World&)> damage;
};

/// A key in an inner node of the tree.
KeyBlock<H>* separator(World& w) {
  const void* found = nullptr;
  auto visit = [&](const void* block, size_t bytes) {
    found = bytes == sizeof(KeyBlock<H>) + key(0).size() ? block : found;
  };
  w.root->tree.visit_blocks(visit);
  return static_cast<KeyBlock<H>*>(const_cast<void*>(found));
}
void change_separator(World& w, size_t at, char byte) {
  E::store_range(separator(w)->content() + at, &byte, 1);
}

template <class T>
T* wild(World& w) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(w.root) + 8);
}

const std::vector<Case>& cases() {
  static const char* const kLists = "the lists of old versions of the database: damaged";
  static const char* const kList = "a list of old versions of the database: damaged";
  static const char* const kLength = "a length of the database: damaged";
  static const char* const kValue = "the length of a value of the database: damaged";
  static const char* const kOrder = "the order of keys of the database: damaged";
  static const char* const kStamp = "a version's stamp of the database: damaged";
  static const char* const kHead = "a key's first bytes of the database: damaged";
  static const char* const kRecord = "a record of the feed of the database: damaged";
  static const char* const kNumbers = "the feed's numbers of the database: damaged";
  static const char* const kSlots = "the number of slots of the database: damaged";
  static const char* const kTwice = " is owned twice";
  static const char* const kNoBlock = " is not an allocated block";
  static const std::vector<Case> all = {
      {"nothing", "sound", [](World&) {}},
      {"a value being written", "sound", [](World& w) { w.fill(); }},
      {"no slots", kSlots, [](World& w) { w.root->slot_count = 0; }},
      {"too many slots", kSlots, [](World& w) { w.root->slot_count = kMostSlots + 1; }},
      {"more slots than their block has", " is larger than its block",
       [](World& w) { w.root->slot_count = kMostSlots; }},
      {"no array of slots", kNoBlock, [](World& w) { w.root->slots = wild<Slot<H>>(w); }},
      {"no name of a comparator", kNoBlock,
       [](World& w) { w.root->comparator = wild<KeyBlock<H>>(w); }},
      {"a long name of a comparator", kLength,
       [](World& w) { w.root->comparator.load()->bytes = 1 << 20; }},
      {"the root is a version, too", kTwice,
       [](World& w) { w.newest(kOld)->older = reinterpret_cast<V*>(w.root); }},
      {"a version of two keys", kTwice, [](World& w) { w.newest(1)->older = w.newest(0); }},
      {"a freed version", " is in use but also free",
       [](World& w) {
         V* const version = w.newest(1);
         H::deallocate(version, version->block_bytes());
       }},
      {"a newer version of the newest one", "a version's links of the database: damaged",
       [](World& w) { w.newest(1)->newer = w.newest(0); }},
      {"an older version without a newer one", "a version's links of the database: damaged",
       [](World& w) { w.newest(kOld)->older.load()->newer = nullptr; }},
      {"a stamp of no slot", kStamp,
       [](World& w) {
         w.newest(1)->stamp = Stamp::make(static_cast<int>(w.root->slot_count.load()), 0);
       }},
      {"a stamp of the future", kStamp,
       [](World& w) {
         w.newest(1)->stamp = Stamp::make(w.machine.self(), w.slot().count.load() + 1);
       }},
      {"the stamp of the last update", "sound",
       [](World& w) { w.newest(1)->stamp = Stamp::make(w.machine.self(), w.slot().count); }},
      {"a deletion with a value", "a deletion of the database: damaged",
       [](World& w) { w.newest(kGone)->blob = w.newest(kLong)->blob.load(); }},
      {"a long value of another length", kValue,
       [](World& w) { w.newest(kLong)->bytes = World::value(kLong).size() + 1; }},
      {"a short value that is too long", kValue,
       [](World& w) { w.newest(kFull)->bytes = kMostShortValue + 1; }},
      {"a short value without room", kLength, [](World& w) { w.newest(1)->bytes = 4000; }},
      {"a key without room", kLength, [](World& w) { w.newest(1)->key.bytes = 4000; }},
      {"no long value", kNoBlock, [](World& w) { w.newest(kLong)->blob = wild<Blob<H>>(w); }},
      {"no piece", kNoBlock,
       [](World& w) { w.newest(kLong)->blob.load()->first = wild<Piece<H>>(w); }},
      {"a piece without room", kLength,
       [](World& w) { w.newest(kLong)->blob.load()->first.load()->bytes = 100'000; }},
      {"a circle of pieces", kTwice,
       [](World& w) {
         Piece<H>* const first = w.newest(kLong)->blob.load()->first;
         first->next = first;
       }},
      {"another last piece", "a long value's last piece of the database: damaged",
       [](World& w) {
         Blob<H>* const blob = w.newest(kLong)->blob;
         blob->last = blob->first.load();
       }},
      {"a version that is in no list", kLists, [](World& w) { w.newest(1)->listed = 1; }},
      {"a list without its versions", kList, [](World& w) { w.slot().old = nullptr; }},
      {"a nested list without its versions", kList, [](World& w) { w.slot().nested = nullptr; }},
      {"a list that is lost", kLists,
       [](World& w) {
         w.slot().old = nullptr;
         w.slot().old_tail = nullptr;
       }},
      {"a list that ends early", kList, [](World& w) { w.slot().old_tail = w.slot().old.load(); }},
      {"a nested list that ends early", kList,
       [](World& w) { w.slot().nested_tail = w.slot().nested.load(); }},
      {"a list with a present version", kList,
       [](World& w) { w.slot().nested.load()->next = w.newest(1); }},
      {"a circle in a list", kList,
       [](World& w) { w.slot().old_tail.load()->next = w.slot().old.load(); }},
      {"another version before it", kList,
       [](World& w) {
         w.slot().old.load()->next.load()->listed = reinterpret_cast<uintptr_t>(w.newest(1));
       }},
      {"a list of an older build", "sound",
       [](World& w) { w.slot().old.load()->next.load()->listed = 1; }},
      {"an old version of another key", "the key of an old version of the database: damaged",
       [](World& w) { change_key(w.newest(kOld)->older, 20, 'x'); }},
      {"the first byte of a key", kHead, [](World& w) { change_key(w.newest(1), 0, 'x'); }},
      {"the ninth byte of a key", kHead, [](World& w) { change_key(w.newest(1), 8, 'x'); }},
      {"a key like the next one", kOrder,
       [](World& w) { change_key(w.newest(50), key(50).size() - 1, '2'); }},
      {"a key after the next one", kOrder,
       [](World& w) { change_key(w.newest(60), key(60).size() - 1, '9'); }},
      {"a separator without room", kLength, [](World& w) { separator(w)->bytes = 4000; }},
      {"the first byte of a separator", kHead, [](World& w) { change_separator(w, 0, 'x'); }},
      {"a separator after the next key", kOrder,
       [](World& w) { change_separator(w, key(0).size() - 3, '9'); }},
      {"a separator before the last key", kOrder,
       [](World& w) { change_separator(w, key(0).size() - 3, '0'); }},
      {"keys before their separators", kOrder, [](World& w) { renumber(w, -1); }},
      {"keys like the separators behind them", kOrder, [](World& w) { renumber(w, 2); }},
      {"a value being written twice", kTwice,
       [](World& w) {
         Blob<H>* const blob = w.fill();
         blob->next = blob;
       }},
      {"garbage that is in use", kTwice,
       [](World& w) { w.root->garbage = w.newest(kLong)->blob.load(); }},
      {"a block without an owner", " has no owner", [](World&) { H::allocate(64); }},
      {"a feed without its first record", kRecord, [](World& w) { w.feed->first += 1; }},
      {"a feed with another end", kNumbers, [](World& w) { w.feed->next += 1; }},
      {"a feed with another size", kNumbers, [](World& w) { w.feed->bytes += 1; }},
      {"a feed that is off may have any numbers", "sound",
       [](World& w) {
         w.feed->bytes += 1;
         w.feed->most_bytes = 0;
       }},
      {"a record of another length", kRecord,
       [](World& w) {
         Piece<H>* const piece = w.feed->tree.find(3)->blob->first;
         piece->bytes -= 1;
       }},
      {"a record without bytes", kNoBlock,
       [](World& w) {
         const FeedRecord<H> record = *w.feed->tree.find(3);
         w.feed->tree.erase(3);
         w.feed->tree.insert(3, {wild<Blob<H>>(w), record.bytes});
       }},
      {"a tree of negative height", "the tree of keys (its height is not possible)",
       [](World& w) { last_word(w.root->tree) = uint64_t{1} << 63; }},
  };
  return all;
}

TEST(DbAudit, NamesWhatIsDamaged) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.what);
    World world;
    ASSERT_EQ(world.verdict(), "sound");
    world.heap->update([&] { one.damage(world); }).check();
    EXPECT_NE(world.verdict().find(one.verdict), std::string::npos) << world.verdict();
  }
}

TEST(DbAudit, IsNotNeededToRefuseDamageThatOpeningMeets) {
  const Case refused[] = {
      {"no slots", "number of thread slots", [](World& w) { w.root->slot_count = 0; }},
      {"too many slots", "number of thread slots",
       [](World& w) { w.root->slot_count = kMostSlots + 1; }},
      {"the name of the comparator", "is ordered by comparator 'Xeveldb.",
       [](World& w) { E::store_range(w.root->comparator.load()->content(), "X", 1); }},
      {"a listed version that is in no list", "a list of old versions",
       [](World& w) { w.slot().old.load()->next.load()->listed = 0; }},
      {"a nested version that is in no list", "a list of old versions",
       [](World& w) { w.slot().nested.load()->next.load()->listed = 0; }},
      {"a circle in a list", "",
       [](World& w) { w.slot().old_tail.load()->next = w.slot().old.load(); }},
      {"a circle in a nested list", "",
       [](World& w) { w.slot().nested_tail.load()->next = w.slot().nested.load(); }},
      {"a value being written, not linked back", "a list of long values",
       [](World& w) { w.fill()->previous = w.newest(kLong)->blob.load(); }},
      {"garbage in a circle", "",
       [](World& w) {
         Blob<H>* const blob = w.fill();
         blob->first.load()->next = blob->first.load();
       }},
      {"a piece without bytes", "a piece of a long value",
       [](World& w) { w.fill()->first.load()->bytes = 0; }},
      {"a piece that is too long", "a piece of a long value",
       [](World& w) { w.fill()->first.load()->bytes = Blobs<H>::kMostPieceBytes + 1; }},
  };
  for (const Case& one : refused) {
    SCOPED_TRACE(one.what);
    World world;
    world.close();
    world.heap->update([&] { one.damage(world); }).check();
    const auto opened = Store<H>::open(*world.heap, BytewiseComparator(), {});
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.status().message().find(one.verdict), std::string::npos)
        << opened.status().to_string();
  }
}

TEST(DbAudit, PiecesOfEarlierVersionsAreReadAndFreed) {
  World world;
  const std::string content(Blobs<H>::kMostPieceBytes, 'p');
  world.heap
      ->update([&] {
        Blob<H>* const blob = world.fill();
        auto* piece = static_cast<Piece<H>*>(H::allocate(sizeof(Piece<H>) + content.size()));
        piece->next = nullptr;
        piece->bytes = content.size();
        E::store_range(piece + 1, content.data(), content.size());
        blob->last.load()->next = piece;
        blob->last = piece;
        std::string read(100 + content.size(), '\0');
        EXPECT_TRUE(Blobs<H>::holds(blob, read.size()));
        Blobs<H>::load(blob, read.data());
        EXPECT_EQ(read.substr(100), content);
      })
      .check();
  EXPECT_EQ(world.verdict(), "sound");
  world.close();
  EXPECT_TRUE(Store<H>::open(*world.heap, BytewiseComparator(), {}).ok());
  world.heap->update([&] { EXPECT_EQ(world.root->filling.load(), nullptr); }).check();
}

TEST(DbAudit, OpeningFreesWhatACrashLeaves) {
  World world;
  world.heap->update([&] { world.fill(), world.fill(); }).check();
  world.close();
  const StoreLimits some{.versions_freed = 2, .slots = kMostSlots};
  auto opened = Store<H>::open(*world.heap, BytewiseComparator(), some);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(world.verdict(), "sound");
  EXPECT_EQ((*opened)->old_versions().value(), 0u);
  world.heap
      ->update([&] {
        EXPECT_EQ(world.root->slot_count.load(), kMostSlots);
        EXPECT_EQ(world.root->filling.load(), nullptr);
        EXPECT_EQ(world.root->garbage.load(), nullptr);
      })
      .check();
  std::string value;
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ((*opened)->get(key(i), nullptr, &value).value(), i != kGone);
  }
  opened.value().reset();
  const StoreLimits many{.slots = kMostSlots + 1};
  const auto refused = Store<H>::open(*world.heap, BytewiseComparator(), many);
  EXPECT_EQ(refused.status().code(), Code::invalid_argument);
  EXPECT_NE(refused.status().message().find("slots for 256 threads, a database for 255"),
            std::string::npos);
}

TEST(DbAudit, ADamagedChangeIsNamed) {
  World world;
  WriteBatch change;
  bool found = false;
  EXPECT_TRUE(world.store->change_after(2, &change, &found).ok() && found);
  Piece<H>* piece = nullptr;
  world.heap->update([&] { piece = world.feed->tree.find(3)->blob->first; }).check();
  for (const int step : {0, 1}) {
    world.heap
        ->update([&] {
          if (step == 0) {
            piece->bytes -= 1;
          } else {
            world.feed->tree.erase(3);
          }
        })
        .check();
    const auto status = world.store->change_after(2, &change, &found);
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_EQ(status.message(), "change 3 is damaged");
  }
  EXPECT_TRUE(world.store->change_after(3, &change, &found).ok() && found);
}

struct Backwards final : Comparator {
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "backwards"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST(DbAudit, LeavesTheOrderOfAnotherComparatorAlone) {
  const Backwards backwards;
  World world;
  EXPECT_EQ(world.verdict(&backwards), "sound");
  EXPECT_EQ(world.verdict(nullptr), "sound");
  world.heap->update([&] { change_key(world.newest(60), key(60).size() - 1, '9'); }).check();
  EXPECT_EQ(world.verdict(&backwards), "sound");
  EXPECT_NE(world.verdict(), "sound");
}

struct Other {
  static constexpr const char* kTypeName = "test.Other";
  static constexpr uint32_t kTypeVersion = 1;
  H::Field<uint64_t> number = 0;
};

TEST(DbAudit, OfOtherObjects) {
  SimMachine machine{{.domain = usual_domain(*EngineFactory<E>::describe(kDefaultEngine).value())}};
  CreateOptions create;
  create.engine = kDefaultEngine;
  create.bytes = 128 << 10;
  const auto heap = H::create(machine, create).value();
  EXPECT_TRUE(Audited::run(*heap, BytewiseComparator()).ok()) << "it is empty";
  heap->root<Other>("holdfast.db.feed").value();
  EXPECT_TRUE(Audited::run(*heap, BytewiseComparator()).ok()) << "it has no store";
  heap->root<StoreRoot<H>>("holdfast.db", std::string(BytewiseComparator()->Name()), size_t{1})
      .value();
  EXPECT_EQ(Audited::run(*heap, BytewiseComparator()).code(), Code::type_mismatch);
}

TEST(DbAudit, OfAnotherStore) {
  SimMachine machine{{.domain = usual_domain(*EngineFactory<E>::describe(kDefaultEngine).value())}};
  CreateOptions create;
  create.engine = kDefaultEngine;
  create.bytes = 128 << 10;
  const auto heap = H::create(machine, create).value();
  heap->root<Other>("holdfast.db").value();
  EXPECT_EQ(Audited::run(*heap, BytewiseComparator()).code(), Code::type_mismatch);
}

}  // namespace
}  // namespace holdfast::db::audit_test
