// SPDX-License-Identifier: Apache-2.0
//
// check_header() accepts exactly the metadata whose pointers and counts are in range. Each opening
// of a heap asks it, and transactions trust what it has accepted.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "holdfast/engines/partitions.h"
#include "holdfast/heap/heap_at_rest.h"
#include "holdfast/heap/heap_check.h"

namespace holdfast::heap_header_test {
namespace {

using Header = DataHeader<AtRest>;

// The header and its arenas have no rest of a chunk of this size behind them.
constexpr uint64_t kChunk = kMaxLineBytes;
constexpr uint64_t kBase = 0x5500'0000'0000;
constexpr uint64_t kUsed = 4;  // chunks behind the header

/// A copy of the data of a sound heap, in which all space is used.
class Image {
 public:
  explicit Image(size_t arenas = 2, size_t partitions = 1, uint64_t used = kUsed)
      : lines_((Header::bytes(arenas, partitions) + used * kChunk) / sizeof(Line)) {
    superblock.chunk_bytes = kChunk;
    superblock.slots = static_cast<uint32_t>(arenas);
    superblock.features.incompatible = partitions != 0 ? kPartitionsFeature : 0;
    set(header().mark, kLayoutMark2);
    set(header().chunk_bytes, kChunk);
    set(header().arena_count, arenas);
    set(header().partitions, partitions);
    set(header().top, chunks());
    set(header().limit, chunks());
  }

  Header& header() { return *reinterpret_cast<Header*>(lines_.data()); }
  uint64_t bytes() const { return lines_.size() * sizeof(Line); }
  uint64_t chunks() const { return bytes() / kChunk; }
  uint64_t begin() { return kBase + header().chunks() * kChunk; }
  uint64_t end() const { return kBase + bytes(); }

  template <class T>
  static void set(Field<T, AtRest>& field, const std::type_identity_t<T>& value) {
    std::memcpy(static_cast<void*>(&field), &value, sizeof value);
  }
  template <class T>
  static void set(Field<T*, AtRest>& field, uint64_t address) {
    std::memcpy(static_cast<void*>(&field), &address, sizeof address);
  }

  /// The damaged part; empty if there is none.
  std::string damage(uint64_t bytes) {
    const Status status =
        check_header<AtRest>(reinterpret_cast<std::byte*>(lines_.data()),
                             reinterpret_cast<std::byte*>(kBase), bytes, superblock);
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupt) << status.to_string();
    const std::string& text = status.message();
    const size_t open = text.find('(');
    return status.ok() ? "" : text.substr(open + 1, text.find(')') - open - 1);
  }
  std::string damage() { return damage(bytes()); }

  Superblock superblock;

 private:
  struct alignas(kMaxLineBytes) Line {
    std::byte byte[kMaxLineBytes];
  };
  std::vector<Line> lines_;
};

/// The damage of an image with one change.
template <class F>
std::string damage_by(F&& change) {
  Image image;
  change(image);
  return image.damage();
}

TEST(HeapHeader, IsSoundUpToTheLastByteAndNoFurther) {
  EXPECT_EQ(Image().damage(), "");
  for (const size_t arenas : {1, 2}) {
    Image image(arenas, 0, 0);  // a heap of its metadata alone
    EXPECT_EQ(image.damage(), "");
    EXPECT_EQ(image.damage(image.bytes() - 1), arenas == 1 ? "mark" : "geometry");
  }
}

TEST(HeapHeader, HasTheMarkOfItsLayout) {
  const auto damage = [](uint64_t mark, uint64_t features) {
    return damage_by([&](Image& image) {
      Image::set(image.header().mark, mark);
      image.superblock.features.incompatible |= features;
    });
  };
  for (const uint64_t mark : {kLayoutMark1, kLayoutMark2}) {
    EXPECT_EQ(damage(mark, 0), "");
    EXPECT_EQ(damage(mark, kFineClassesFeature), "mark");
  }
  EXPECT_EQ(damage(kLayoutMark3, 0), "mark");
  EXPECT_EQ(damage(kLayoutMark3, kFineClassesFeature), "");
  EXPECT_EQ(damage(0, 0), "mark");
  // The values are part of the format.
  EXPECT_EQ(std::memcmp(&kLayoutMark1, "HDBLK1\0", 8), 0);
  EXPECT_EQ(std::memcmp(&kLayoutMark2, "HDBLK2\0", 8), 0);
  EXPECT_EQ(std::memcmp(&kLayoutMark3, "HDBLK3\0", 8), 0);
}

TEST(HeapHeader, AgreesWithTheSuperblock) {
  const auto is_wrong = [](auto change) { return damage_by(change) == "geometry"; };
  EXPECT_TRUE(is_wrong([](Image& i) { i.superblock.chunk_bytes *= 2; }));
  EXPECT_TRUE(is_wrong([](Image& i) { Image::set(i.header().arena_count, 0); }));
  EXPECT_TRUE(is_wrong([](Image& i) { i.superblock.slots -= 1; }));
  EXPECT_FALSE(is_wrong([](Image& i) { i.superblock.slots += 1; })) << "slots were added";
  EXPECT_TRUE(is_wrong([](Image& i) { Image::set(i.header().partitions, 0); }));
  EXPECT_TRUE(is_wrong([](Image& i) { i.superblock.features.incompatible = 0; }));
  EXPECT_EQ(Image(1, Partitions::kMost).damage(), "");
  EXPECT_EQ(Image(1, Partitions::kMost + 1).damage(), "geometry");
}

TEST(HeapHeader, HasPlausibleCountsOfChunks) {
  const auto is_wrong = [](auto change) { return damage_by(change) == "chunk counts"; };
  EXPECT_TRUE(is_wrong([](Image& i) { Image::set(i.header().limit, i.chunks() + 1); }));
  EXPECT_TRUE(is_wrong([](Image& i) { Image::set(i.header().limit, i.chunks() - 1); }))
      << "below the used chunks";
  const auto top = [&](int64_t behind_the_header) {
    return is_wrong([&](Image& i) {
      Image::set(i.header().top, i.header().chunks() + static_cast<uint64_t>(behind_the_header));
    });
  };
  EXPECT_TRUE(top(-1));
  EXPECT_FALSE(top(0));
  EXPECT_FALSE(top(1));
  EXPECT_FALSE(top(kUsed));
  EXPECT_TRUE(top(kUsed + 1));
}

/// Expects that a pointer of the header is accepted exactly if it may lead to a block or to the end
/// of the used space.
template <class F>
void expect_bounds(const char* name, F&& pointer_of) {
  SCOPED_TRACE(name);
  const auto damage = [&](auto address_in) {
    return damage_by([&](Image& image) { Image::set(pointer_of(image), address_in(image)); });
  };
  for (uint64_t at = 0; at <= kUsed * kChunk; at += 16) {
    EXPECT_EQ(damage([&](Image& i) { return i.begin() + at; }), "") << at;
  }
  EXPECT_EQ(damage([](Image&) { return 0; }), "");
  EXPECT_EQ(damage([](Image& i) { return i.begin() - 16; }), name);
  EXPECT_EQ(damage([](Image& i) { return i.begin() + 8; }), name);
  EXPECT_EQ(damage([](Image& i) { return i.end() + 16; }), name);
}

TEST(HeapHeader, HasNoWildPointers) {
  expect_bounds("free runs", [](Image& i) -> auto& { return i.header().free_runs; });
  for (const size_t arena : {0, 1, 2}) {  // the last one is the partition's
    for (const size_t c : {size_t{0}, kClasses - 1}) {
      const auto in = [&](Image& i) -> auto& { return i.header().any_arena(arena).classes[c]; };
      expect_bounds("arena", [&](Image& i) -> auto& { return in(i).reserve; });
      expect_bounds("arena", [&](Image& i) -> auto& { return in(i).fresh; });
      expect_bounds("arena", [&](Image& i) -> auto& { return in(i).fresh_end; });
      expect_bounds("arena", [&](Image& i) -> auto& {
        Image::set(in(i).active_count, 1);
        return in(i).active;
      });
    }
  }
  for (const size_t depot : {0, 1}) {
    for (const size_t c : {size_t{0}, kClasses - 1}) {
      expect_bounds("depot", [&](Image& i) -> auto& { return i.header().any_depot(depot)[c]; });
    }
  }
}

TEST(HeapHeader, CountsABatchOfBlocksAtMost) {
  const auto damage = [](bool list, uint64_t count) {
    return damage_by([&](Image& image) {
      auto& words = image.header().arenas()[0].classes[3];
      Image::set(words.active, list ? image.begin() : 0);
      Image::set(words.active_count, count);
    });
  };
  EXPECT_EQ(damage(true, 0), "arena");
  EXPECT_EQ(damage(true, 1), "");
  EXPECT_EQ(damage(true, Allocator<AtRest>::kBatch), "");
  EXPECT_EQ(damage(true, Allocator<AtRest>::kBatch + 1), "arena");
  EXPECT_EQ(damage(false, Allocator<AtRest>::kBatch + 1), "arena");
}

TEST(HeapHeader, NamesObjectsThatLieInTheHeap) {
  const auto damage = [](size_t root, bool named, auto address_in, uint64_t bytes) {
    return damage_by([&](Image& image) {
      auto& entry = image.header().roots[root];
      Image::set(entry.name, root_text(named ? "r" : ""));
      Image::set(entry.object, address_in(image));
      Image::set(entry.bytes, bytes);
    });
  };
  const auto begin = [](Image& i) { return i.begin(); };
  const auto null = [](Image&) { return uint64_t{0}; };
  const auto wild = [](Image&) { return uint64_t{8}; };
  for (const size_t root : {size_t{0}, kRoots - 1}) {
    EXPECT_EQ(damage(root, true, begin, kUsed * kChunk), "");
    EXPECT_EQ(damage(root, true, begin, kUsed * kChunk + 1), "roots");
    EXPECT_EQ(damage(root, true, null, 8), "roots");
    EXPECT_EQ(damage(root, true, wild, 8), "roots");
    EXPECT_EQ(damage(root, false, wild, 8), "") << "a root that was removed";
  }
}

}  // namespace
}  // namespace holdfast::heap_header_test
