// SPDX-License-Identifier: Apache-2.0
//
// The file of a heap: superblocks, mapped regions, growth.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/heap/file/heap_journal.h"
#include "holdfast/heap/file/heap_options.h"
#include "holdfast/heap/file/size_classes.h"
#include "holdfast/heap/file/superblock.h"

namespace holdfast {

/// Reads and writes the superblocks, maps the regions as the engine's layout needs them, and grows
/// the file.
///
/// Thread safety: one thread at a time. The heap calls it while it creates or opens the heap, or
/// with its growth lock.
template <class M>
class HeapFile {
 public:
  explicit HeapFile(M& machine) : machine_(machine) {}
  HeapFile(const HeapFile&) = delete;
  HeapFile& operator=(const HeapFile&) = delete;
  ~HeapFile() {
    unmap_regions();
    if (header_ != nullptr) {
      machine_.medium().unmap(header_, header_bytes_);
    }
  }

  const Superblock& superblock() const { return superblock_; }
  const Regions& regions() const { return regions_; }
  bool healed() const { return healed_; }

  /// Lays out a new file and maps it. publish() writes the superblocks afterwards.
  Status create(const CreateOptions& o, const Description& description) {
    if (machine_.medium().bytes() != 0) {
      return {Code::already_exists,
              name() + ": the file is not empty; delete it first or choose another name"};
    }
    if (Status status = plan(o, description); !status.ok()) {
      return status;
    }
    if (Status status = lay_out(machine_, superblock_); !status.ok()) {
      return status;
    }
    Status status = map_header();
    if (status.ok()) {
      status = start_journal(machine_, superblock_, true);  // not for the header, mapped before
    }
    if (!status.ok()) {
      return status;
    }
    // Without a limit from the caller, as much address space as there is, up to the first of these.
    for (const uint64_t most :
         {o.max_bytes, kDefaultCapacity, kDefaultCapacity / 16, kDefaultCapacity / 128}) {
      if (most != 0 && (o.max_bytes == 0 || most == o.max_bytes)) {
        status = place(std::max(most, superblock_.data_bytes()), o.base, description.layout);
        if (status.ok()) {
          break;
        }
      }
    }
    limit_ = superblock_.capacity;
    return status;
  }

  /// Reads and validates the superblocks. Changes nothing. `max_bytes` is the limit of growth until
  /// the heap is closed; 0: the recorded one. A larger one than that is recorded by publish().
  Status read(uint64_t max_bytes = 0) {
    const size_t bytes = machine_.medium().bytes();
    if (bytes == 0) {
      return choose({}, name(), &healed_).status();
    }
    if (Status status = map_header(); !status.ok()) {
      return status;
    }
    std::vector<std::byte> header(header_bytes_);
    M::copy(header.data(), header_, header_bytes_);
    auto chosen = choose(header, name(), &healed_);
    if (!chosen) {
      return chosen.status();
    }
    superblock_ = std::move(*chosen);
    if (Status status = validate(superblock_, bytes, name()); !status.ok()) {
      return status;
    }
    if (Status status = check_writable(); !status.ok()) {
      return status;
    }
    if (!machine_.medium().read_only()) {
      if (Status status = find_newest(header); !status.ok()) {
        return status;
      }
    }
    if (lacks_slots() && machine_.medium().read_only()) {
      return {Code::invalid_argument,
              name() + ": the heap has logs for " + std::to_string(superblock_.slots) +
                  " thread slots, the machine has " + std::to_string(machine_.slots()) +
                  ", and opening it read-only adds none"};
    }
    if (max_bytes > kMostBytes) {
      return too_large();
    }
    limit_ = max_bytes != 0 ? round_up(max_bytes, kPageBytes) : superblock_.capacity;
    raised_ = limit_ > superblock_.capacity;
    superblock_.capacity = std::max(superblock_.capacity, limit_);
    return {};
  }
  /// Returns whether opening has raised the limit or the number of slots, which publish() records,
  /// or has found one copy only: until there are two, the mark of a creation may stand beside it.
  bool must_publish() const { return raised_ || healed_; }
  /// Returns whether the machine has more thread slots than the heap has logs for.
  bool lacks_slots() const { return static_cast<uint32_t>(machine_.slots()) > superblock_.slots; }

  /// Lets the heap grow as far as the engine's logs reach. Returns an error if that is too little.
  Status bound_by(const Description& engine) {
    const uint64_t needed = raised_ ? limit_ : superblock_.data_bytes();
    limit_ = std::min(limit_, engine.most_bytes);
    return machine_.medium().read_only() ? Status() : engine.check_bytes(needed);
  }

  /// Returns whether the engine runs in the medium's domain. A read-only medium stores nothing, so
  /// nothing can be lost there.
  Status check_domain(const Description& engine) const {
    auto& medium = machine_.medium();
    return medium.read_only() ? Status() : engine.check_domain(medium.domain());
  }

  /// Opens the heap's journal, which brings the regions up to date, before they are mapped. OK if
  /// there is none.
  Status open_journal(const Description& engine) {
    const Status status = superblock_.has_journal() ? engine.check_journal() : Status();
    return status.ok() ? start_journal(machine_, superblock_, false) : status;
  }
  /// Brings the regions up to date at home. OK if there is no journal.
  Status close_journal() { return holdfast::close_journal(machine_); }

  /// Maps the regions. In a rehearsal maps them privately, so that recovery leaves the medium
  /// unchanged.
  Status map_regions(Layout layout, bool rehearsal = false) {
    layout_ = layout;
    shared_ = rehearsal ? MapMode::copy_on_write : MapMode::shared;
    const Status status = map_all();
    if (!status.ok()) {
      unmap_regions();
    }
    return status;
  }

  /// Makes the engine area at least `bytes` long and maps all regions anew. Only publish() records
  /// it. On failure no region is mapped, the file keeps its meaning, and this object is of no use.
  Status extend_area(uint64_t bytes) {
    const uint64_t before = superblock_.area_bytes();
    if (bytes <= before) {
      return {};
    }
    const uint64_t end = superblock_.file_bytes();
    superblock_.append(ExtentKind::area, round_up(bytes, kPageBytes) - before);
    superblock_.append_page_checksums();
    unmap_regions();
    const Status status = grow_file(machine_, superblock_, end);
    return status.ok() ? map_regions(layout_) : status;
  }

  /// Sets the number of thread slots to the machine's. publish() records it.
  void add_slots() {
    superblock_.slots = static_cast<uint32_t>(machine_.slots());
    raised_ = true;
  }

  /// Sets whether publish() declares that the heap needs nothing of the engine area.
  void set_clean(bool clean) { superblock_.clean = clean; }

  /// Makes the superblock that was read durable. It may come from a cache. After a failed sync that
  /// counts as clean, so only another store brings it to the medium.
  void keep_newest() {
    if (newest_bytes_ != 0) {
      std::vector<std::byte> bytes(newest_bytes_);
      M::copy(bytes.data(), copy(newest_), bytes.size());
      M::copy(copy(newest_), bytes.data(), bytes.size());
      machine_.pwb_range(copy(newest_), newest_bytes_, Site{"heap.superblock.newest"});
      machine_.psync(Site{"heap.superblock.newest.sync"});
      newest_bytes_ = 0;
    }
  }

  /// Writes both superblocks. The newest one stays until the other copy is durable, since that one
  /// may be damaged.
  Status publish() {
    keep_newest();
    for (const size_t number : {1 - newest_, newest_}) {
      ++superblock_.sequence;
      auto bytes = encode(superblock_);
      if (!bytes) {
        return bytes.status();
      }
      M::copy(copy(number), bytes->data(), bytes->size());
      machine_.pwb_range(copy(number), bytes->size(), Site{"heap.superblock"});
      machine_.psync(Site{"heap.superblock.sync"});
    }
    return {};
  }

  /// Makes the data region at least `bytes` long, and at least `more` if the limit and the disk
  /// allow it. On failure the heap is unchanged.
  Status grow(size_t bytes, size_t more = 0) {
    const uint64_t before = superblock_.data_bytes();
    if (bytes > limit_) {
      return {Code::out_of_space,
              name() + ": the heap is full; its limit is max_bytes=" + std::to_string(limit_) +
                  ". Delete something, or open it with a larger max_bytes"};
    }
    // In proportion, so that the number of steps and of extents stays small.
    const uint64_t share = before < kSmallBytes ? kSmallGrowthShare : kGrowthShare;
    const uint64_t step = std::max(superblock_.growth_bytes, before / share);
    const uint64_t wanted = std::max<uint64_t>({bytes, more, before + step});
    const uint64_t unit = std::max<uint64_t>(superblock_.chunk_bytes, kPageBytes);
    const uint64_t least = round_up(bytes, kPageBytes);
    uint64_t target = std::min(round_up(wanted, unit), limit_);
    Status status = grow_to(target);
    while (status.code() == Code::out_of_space && target > least && !machine_.failed()) {
      target = least + round_down((target - least) / 2, unit);  // on a full disk less may fit
      status = grow_to(target);
    }
    return status;
  }

  std::string name() const { return machine_.medium().name(); }

  void unmap_regions() {
    const auto unmap = [this](std::byte* p, size_t n) {
      if (p != nullptr) {
        machine_.medium().unmap(p, n);
      }
    };
    unmap(regions_.data, regions_.capacity);
    unmap(regions_.home != regions_.data ? regions_.home : nullptr, regions_.capacity);
    unmap(regions_.twin, regions_.capacity);
    unmap(regions_.cells, 2 * regions_.capacity);
    unmap(regions_.area, regions_.area_bytes);
    regions_ = Regions();
  }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 44;
  static constexpr uint64_t kDefaultCapacity = uint64_t{1} << 40;
  // A step leaves half of itself unused on average. The extents of a heap of kMostBytes fit into a
  // superblock, with a twin beside each.
  static constexpr uint64_t kSmallBytes = uint64_t{1} << 30;
  static constexpr uint64_t kSmallGrowthShare = 16;
  static constexpr uint64_t kGrowthShare = 8;

  static Status too_large() {
    return {Code::invalid_argument,
            "a heap has from 1 byte to 16 TiB, and max_bytes is not below bytes"};
  }

  std::byte* copy(size_t number) const { return header_ + number * kSuperblockBytes; }

  /// Finds the place of the superblock that was read.
  Status find_newest(const std::vector<std::byte>& header) {
    const auto first = decode(header);
    newest_ = first.ok() && first.value().sequence == superblock_.sequence ? 0 : 1;
    const auto bytes = encode(superblock_);
    newest_bytes_ = bytes.ok() ? bytes.value().size() : 0;
    return bytes.status();
  }

  /// Refuses to change a heap of format 1, or one with features that forbid it.
  Status check_writable() const {
    if (machine_.medium().read_only()) {
      return {};
    }
    if (superblock_.format < kFormatVersion) {
      return {Code::unsupported,
              name() + ": the heap has format " + std::to_string(superblock_.format) +
                  ", which this version only reads; open it read-only, or copy it into a new file "
                  "with `holdfast convert`"};
    }
    if ((superblock_.features.read_only & ~kKnownFeatures.read_only) != 0) {
      return {Code::unsupported,
              name() +
                  ": the heap has features that only a newer Holdfast can change; open it "
                  "read-only"};
    }
    return {};
  }

  Status plan(const CreateOptions& o, const Description& description) {
    if (Status status = check_domain(description); !status.ok()) {
      return status;
    }
    if (Status status = description.check_bytes(std::max({o.bytes, o.max_bytes, o.growth}));
        !status.ok()) {
      return status;
    }
    Superblock& s = superblock_;
    if (o.bytes == 0 || (o.max_bytes != 0 && o.max_bytes < o.bytes)) {
      return too_large();
    }
    s.growth_bytes = o.growth;
    s.chunk_bytes = o.chunk_bytes != 0 ? o.chunk_bytes : default_chunk_bytes(o.bytes);
    if (s.chunk_bytes < kMinChunkBytes || s.chunk_bytes > kMaxChunkBytes ||
        (s.chunk_bytes & (s.chunk_bytes - 1)) != 0) {
      return {Code::invalid_argument, "chunk_bytes is a power of two from 1024 to 65536"};
    }
    if (o.fine_classes && s.chunk_bytes > kMostFineChunk) {
      return {Code::invalid_argument, "fine_classes needs chunk_bytes of at most 16384"};
    }
    const int slots = std::max(machine_.slots(), o.slots);
    auto area = description.area_bytes(o.options, slots);
    if (!area) {
      return area.status();
    }
    if (*area != 0) {
      s.append(ExtentKind::area, round_up(*area, kPageBytes));
    }
    if (Status status = plan_journal(machine_, o, description, s); !status.ok()) {
      return status;
    }
    append_data(round_up(o.bytes, kPageBytes), description.layout);
    s.append_page_checksums();
    s.engine = description.name;
    s.options = o.options;
    s.slots = static_cast<uint32_t>(slots);
    s.features.incompatible |= o.partitions != 0 ? kPartitionsFeature : 0;
    s.features.incompatible |= o.fine_classes ? kFineClassesFeature : 0;
    uint64_t seed = machine_.entropy();
    for (auto& byte : s.uuid) {
      byte = static_cast<uint8_t>(seed = mix64(seed));
    }
    return {};
  }

  /// Adds a piece to the data region, and to the region beside it.
  void append_data(uint64_t bytes, Layout layout) {
    superblock_.append(ExtentKind::data, bytes);
    if (layout == Layout::twin) {
      superblock_.append(ExtentKind::twin, bytes);
    } else if (layout == Layout::cells) {
      superblock_.append(ExtentKind::cells, 2 * bytes);
    }
  }

  /// Finds an address range for the data, or takes `base`, and maps the regions.
  Status place(uint64_t capacity, std::byte* base, Layout layout) {
    Superblock& s = superblock_;
    s.capacity = round_up(capacity, kPageBytes);
    if (base != nullptr) {
      s.base = reinterpret_cast<uint64_t>(base);
      return map_regions(layout);
    }
    for (int k = 0;; ++k) {
      std::byte* candidate = machine_.medium().base_candidate(k, s.capacity);
      if (candidate == nullptr) {
        return {Code::busy, "no address range of " + std::to_string(s.capacity) +
                                " bytes is free for the heap; close other heaps, lower max_bytes, "
                                "or give a base address"};
      }
      if (!machine_.medium().is_free(candidate, s.capacity)) {
        continue;
      }
      s.base = reinterpret_cast<uint64_t>(candidate);
      const Status status = map_regions(layout);
      if (status.ok() || status.code() != Code::busy) {
        return status;
      }
    }
  }

  /// Makes the data region exactly `bytes` long. On failure the heap is unchanged.
  Status grow_to(uint64_t bytes) {
    Superblock& s = superblock_;
    const uint64_t before = s.data_bytes();
    const std::vector<Extent> extents = s.extents;
    const uint64_t end = s.file_bytes();
    append_data(bytes - before, layout_);
    s.append_page_checksums();
    try {
      Status status = encode(s).status();  // the list of extents may be full
      status = status.ok() ? grow_file(machine_, s, end) : status;
      status = status.ok() ? map_data(before) : status;
      status = status.ok() ? publish() : status;
      if (status.ok()) {
        return status;
      }
      s.extents = extents, regions_.bytes = before;
      return status;
    } catch (...) {  // no memory, or the medium has failed
      s.extents = extents, regions_.bytes = before;
      throw;
    }
  }

  Status map_header() {
    const uint64_t file = round_up(machine_.medium().bytes(), kPageBytes);
    header_bytes_ = std::min<uint64_t>(kHeaderBytes, file);
    auto header = machine_.medium().map(0, header_bytes_, nullptr, MapMode::shared);
    if (!header) {
      return header.status();
    }
    header_ = *header;
    return {};
  }

  Status reserve(uint64_t bytes, std::byte* address, std::byte** to) {
    auto range = machine_.medium().reserve(bytes, address);
    if (range) {
      *to = *range;
    }
    return range.status();
  }

  Status map_all() {
    const Superblock& s = superblock_;
    regions_.capacity = s.capacity;
    regions_.closed = s.clean;
    Status status = reserve(s.capacity, reinterpret_cast<std::byte*>(s.base), &regions_.data);
    regions_.home = regions_.data;
    regions_.area_bytes = s.area_bytes();
    if (status.ok() && regions_.area_bytes != 0) {
      status = reserve(regions_.area_bytes, nullptr, &regions_.area);
      if (status.ok()) {
        status = map_extents(ExtentKind::area, regions_.area, 0, shared_);
      }
    }
    if (status.ok() && layout_ == Layout::twin) {
      status = reserve(s.capacity, nullptr, &regions_.twin);
    } else if (status.ok() && layout_ == Layout::cells) {
      status = reserve(2 * s.capacity, nullptr, &regions_.cells);
    } else if (status.ok() && layout_ == Layout::working_copy) {
      status = reserve(s.capacity, nullptr, &regions_.home);
    }
    return status.ok() ? map_data(0) : status;
  }

  /// Maps the data region from byte `from` on, and the regions beside it.
  Status map_data(uint64_t from) {
    const bool working = layout_ == Layout::working_copy;
    Status status = map_extents(ExtentKind::data, regions_.data, from,
                                working ? MapMode::copy_on_write : shared_);
    if (status.ok() && working) {
      status = map_extents(ExtentKind::data, regions_.home, from, shared_);
    }
    if (status.ok() && layout_ == Layout::twin) {
      status = map_extents(ExtentKind::twin, regions_.twin, from, shared_);
    }
    if (status.ok() && layout_ == Layout::cells) {
      status = map_extents(ExtentKind::cells, regions_.cells, 2 * from, shared_);
    }
    if (status.ok()) {
      regions_.bytes = superblock_.data_bytes();
    }
    return status;
  }

  /// Maps a region, from its byte `from` on, into the reservation at `address`.
  Status map_extents(ExtentKind kind, std::byte* address, uint64_t from, MapMode mode) {
    uint64_t at = 0;  // of the extent in the region
    for (const Extent& extent : superblock_.extents) {
      if (extent.kind != kind) {
        continue;
      }
      const uint64_t skip = from > at ? std::min(from - at, extent.bytes) : 0;
      if (skip < extent.bytes) {
        auto mapped = machine_.medium().map(extent.offset + skip, extent.bytes - skip,
                                            address + at + skip, mode);
        if (!mapped) {
          return mapped.status();
        }
      }
      at += extent.bytes;
    }
    return {};
  }

  M& machine_;
  Superblock superblock_;
  Regions regions_;
  Layout layout_ = Layout::in_place;
  MapMode shared_ = MapMode::shared;
  std::byte* header_ = nullptr;
  uint64_t header_bytes_ = 0;
  size_t newest_ = 1;        ///< the copy with the newest superblock
  size_t newest_bytes_ = 0;  ///< its length while it may not be durable, else 0
  uint64_t limit_ = 0;       ///< the data region grows no further
  bool raised_ = false;
  bool healed_ = false;
};

}  // namespace holdfast
