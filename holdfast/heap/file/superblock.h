// SPDX-License-Identifier: Apache-2.0
//
// The superblock of a heap file: format, features, engine, options, and where the regions lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/base/status.h"
#include "holdfast/engines/engine.h"

namespace holdfast {

inline constexpr uint32_t kFormatVersion = 2;
inline constexpr size_t kSuperblockBytes = 16384;  ///< room for one copy
inline constexpr size_t kSuperblocks = 2;
inline constexpr size_t kHeaderBytes = kSuperblocks * kSuperblockBytes;
inline constexpr size_t kMostExtents = 512;
inline constexpr int kMostThreadSlots = kMaxThreads + 8;  ///< each machine has fewer
/// Stands in the place of the second copy from the begin of a heap's creation until the first copy
/// is durable. Zeros follow. It tells an interrupted creation from a file that is no heap.
inline constexpr std::string_view kUnfinished = "The creation of a Holdfast heap has begun.\n";

/// The content of an extent. A later version adds kinds with a feature bit that says how programs
/// treat a kind that they do not know.
enum class ExtentKind : uint64_t {
  area = 1,            ///< the engine's logs, markers and state
  data = 2,            ///< a piece of the data region
  twin = 3,            ///< a piece of the second copy
  cells = 4,           ///< cells of a piece of the data region, 16 bytes for each 8 of it
  journal = 5,         ///< a journal of line images; at most one extent
  page_checksums = 6,  ///< a piece of the table with a checksum of each page
};

const char* to_string(ExtentKind kind);

/// A range of the file. The extents of one kind are the pieces of one region, in the order of the
/// list.
struct Extent {
  ExtentKind kind;
  uint64_t offset;  ///< in the file, a multiple of the page size
  uint64_t bytes;   ///< a multiple of the page size
};

/// Features of a heap that older programs may not know. A program that finds a bit that it does not
/// know ignores it (compatible), opens the heap for reading only (read_only), or refuses it
/// (incompatible).
struct Features {
  uint64_t compatible = 0;
  uint64_t read_only = 0;
  uint64_t incompatible = 0;
};
/// Incompatible: the allocator has arenas of partitions behind those of threads.
inline constexpr uint64_t kPartitionsFeature = 1;
/// Incompatible: lines of the heap may be newer in its journal than at their place.
inline constexpr uint64_t kJournalFeature = 2;
/// Incompatible: the allocator has kFineClasses.
inline constexpr uint64_t kFineClassesFeature = 4;
/// Read-only: a program that changes pages also changes their checksums.
inline constexpr uint64_t kPageChecksumsFeature = 1;
inline constexpr Features kKnownFeatures = {
    .read_only = kPageChecksumsFeature,
    .incompatible = kPartitionsFeature | kJournalFeature | kFineClassesFeature};

/// Sizes of a journal: the least has room for a few updates, the most bounds recovery.
inline constexpr uint64_t kLeastJournalBytes = uint64_t{1} << 16;
inline constexpr uint64_t kMostJournalBytes = uint64_t{1} << 34;
/// The most that the journal of a new heap on a disk takes. docs/measurements/journal.md has the
/// time of a recovery.
inline constexpr uint64_t kDefaultJournalBytes = uint64_t{64} << 20;
/// Returns the size of the extent for a journal of `bytes`.
constexpr uint64_t journal_extent_bytes(uint64_t bytes) {
  return round_up(bytes, kPageBytes);
}

/// The description of a heap in its file. The file begins with two copies. They are written one
/// after the other, the older one first, and it is durable before the newer one is overwritten. So
/// one of them is whole after any crash. docs/reference/file-format.md has the byte map.
struct Superblock {
  uint32_t format = kFormatVersion;
  uint64_t sequence = 0;  ///< the copy with the larger number is the newer one
  std::array<uint8_t, 16> uuid{};
  Features features;
  std::string engine;
  Options options;            ///< options given at creation; they decide the engine's layout
  uint64_t base = 0;          ///< address of the data region
  uint64_t capacity = 0;      ///< address space reserved for the data region
  uint64_t chunk_bytes = 0;   ///< allocator's unit
  uint64_t growth_bytes = 0;  ///< the data region grows by at least this
  uint32_t slots = 0;         ///< thread slots, the machine's own included; sizes the logs
  bool clean = false;  ///< the heap was closed, and opening it needs nothing of the engine area
  std::vector<Extent> extents;

  /// Returns the total of the extents of this kind.
  uint64_t bytes_of(ExtentKind kind) const;
  uint64_t data_bytes() const { return bytes_of(ExtentKind::data); }
  uint64_t area_bytes() const { return bytes_of(ExtentKind::area); }
  bool has_journal() const { return (features.incompatible & kJournalFeature) != 0; }
  bool has_page_checksums() const { return (features.read_only & kPageChecksumsFeature) != 0; }
  /// Returns the number of entries that the table of page checksums must have: one for each page of
  /// the file up to the end of the last region, without the journal's pages.
  uint64_t checksummed_pages() const;
  /// Makes the table of page checksums long enough, if there is one. After other extents have
  /// changed.
  void append_page_checksums();
  /// Returns the place in the file of byte `at` of the region of this kind, which has that byte.
  uint64_t file_offset(ExtentKind kind, uint64_t at = 0) const;
  /// Returns the end of the last extent.
  uint64_t file_bytes() const;
  /// Adds a piece at the end of the file to the region of this kind. Makes that region's last
  /// extent longer if that one ends there.
  void append(ExtentKind kind, uint64_t bytes);
  std::string uuid_text() const;
};

/// Returns one copy's bytes. invalid_argument: the engine's name or options are too long.
Result<std::vector<std::byte>> encode(const Superblock& superblock);

/// Reads a copy that begins `bytes`. wrong_format: it is not a heap, or has another format or
/// features that this program does not know. corrupt: it is damaged.
Result<Superblock> decode(std::span<const std::byte> bytes);

/// Finds the superblock in the first bytes of a file: kHeaderBytes of them, or the whole file if it
/// is shorter. Takes the valid copy, or the newer of two valid ones. Reads format 1 too. `name` is
/// the file, for messages. *healed: one of the copies is damaged.
Result<Superblock> choose(std::span<const std::byte> header, const std::string& name, bool* healed);

/// Returns whether a file that begins with these bytes, as for choose(), holds the beginning of a
/// heap whose creation has not ended: nothing that anybody has stored.
bool is_unfinished(std::span<const std::byte> header);

/// Checks that all values are plausible, and that a file of this size can hold the heap. Later
/// steps trust them.
Status validate(const Superblock& superblock, uint64_t file_bytes, const std::string& name);

}  // namespace holdfast
