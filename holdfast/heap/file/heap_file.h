// SPDX-License-Identifier: Apache-2.0
//
// The file of a heap: superblocks, mapped regions, growth.
#pragma once

#include <algorithm>
#include <string>

#include "holdfast/base/random.h"
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
      machine_.medium().unmap(header_, kHeaderBytes);
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
    Superblock& s = superblock_;
    if (Status status = plan(o, description); !status.ok()) {
      return status;
    }
    if (Status status = machine_.medium().grow(s.file_bytes()); !status.ok()) {
      return status;
    }
    if (Status status = map_header(); !status.ok()) {
      return status;
    }
    if (o.base != nullptr) {
      s.base = reinterpret_cast<uint64_t>(o.base);
      return map_regions(description.layout);
    }
    for (int k = 0;; ++k) {
      std::byte* candidate = machine_.medium().base_candidate(k);
      if (candidate == nullptr) {
        return {Code::busy, "no address range of " + std::to_string(s.capacity) +
                                " bytes is free for the heap; close other heaps, lower max_bytes, "
                                "or give a base address"};
      }
      s.base = reinterpret_cast<uint64_t>(candidate);
      const Status status = map_regions(description.layout);
      if (status.ok() || status.code() != Code::busy) {
        return status;
      }
    }
  }

  /// Reads and validates the superblocks. Changes nothing.
  Status read() {
    const size_t bytes = machine_.medium().bytes();
    if (bytes < kHeaderBytes) {
      return {Code::wrong_format,
              name() + ": too short to be a Holdfast heap (" + std::to_string(bytes) + " bytes)"};
    }
    if (Status status = map_header(); !status.ok()) {
      return status;
    }
    SuperblockBytes copies[kSuperblocks];
    M::copy(copies, header_, kHeaderBytes);
    auto chosen = choose(copies[0], copies[1], name(), &healed_);
    if (!chosen) {
      return chosen.status();
    }
    superblock_ = *chosen;
    if (Status status = validate(superblock_, bytes, name()); !status.ok()) {
      return status;
    }
    if (static_cast<uint32_t>(machine_.slots()) > superblock_.slots) {
      return {Code::invalid_argument,
              name() + ": the heap has logs for " + std::to_string(superblock_.slots) +
                  " thread slots, the machine has " + std::to_string(machine_.slots())};
    }
    return {};
  }

  /// Maps the regions. In a rehearsal maps them privately, so that recovery leaves the medium
  /// unchanged.
  Status map_regions(Layout layout, bool rehearsal = false) {
    layout_ = layout;
    shared_ = rehearsal ? MapMode::copy_on_write : MapMode::shared;
    const Superblock& s = superblock_;
    auto& medium = machine_.medium();
    auto area = medium.map(s.area_offset(), s.area_bytes, nullptr, shared_);
    if (!area) {
      return area.status();
    }
    regions_.area = *area;
    regions_.area_bytes = s.area_bytes;
    regions_.capacity = s.capacity;
    auto* const base = reinterpret_cast<std::byte*>(s.base);
    auto data = medium.reserve(s.capacity, base);
    if (!data) {
      Status why = data.status();
      unmap_regions();
      return why;
    }
    regions_.data = regions_.home = *data;
    if (layout != Layout::in_place) {
      auto other = medium.reserve(layout == Layout::cells ? 2 * s.capacity : s.capacity, nullptr);
      if (!other) {
        Status why = other.status();
        unmap_regions();
        return why;
      }
      (layout == Layout::twin    ? regions_.twin
       : layout == Layout::cells ? regions_.cells
                                 : regions_.home) = *other;
    }
    return map_segments(0, s.segments);
  }

  /// Writes both superblocks. The first is durable before the second is written.
  Status publish() {
    for (size_t copy = 0; copy < kSuperblocks; ++copy) {
      ++superblock_.sequence;
      auto bytes = encode(superblock_);
      if (!bytes) {
        return bytes.status();
      }
      std::byte* to = header_ + copy * kSuperblockBytes;
      M::copy(to, bytes->data(), kSuperblockBytes);
      machine_.pwb_range(to, kSuperblockBytes, Site{"heap.superblock"});
      machine_.psync(Site{"heap.superblock.sync"});
    }
    return {};
  }

  /// Makes the data region at least `bytes` long. On failure the heap is unchanged.
  Status grow(size_t bytes) {
    Superblock& s = superblock_;
    const uint64_t most = s.capacity / s.segment_bytes;
    uint64_t segments = (bytes + s.segment_bytes - 1) / s.segment_bytes;
    if (segments > most) {
      return {Code::out_of_space,
              name() + ": the heap is full; it was created with max_bytes=" +
                  std::to_string(s.capacity) +
                  ". Delete something, or copy it into a larger heap with `holdfast convert`"};
    }
    segments = std::min(most, std::max(segments, s.segments + s.segments / 4));
    const uint64_t before = s.segments;
    s.segments = segments;
    Status status = machine_.medium().grow(s.file_bytes());
    if (status.ok()) {
      status = map_segments(before, segments);
    }
    if (!status.ok()) {
      s.segments = before;
      return status;
    }
    return publish();
  }

  std::string name() const { return machine_.medium().name(); }

  void unmap_regions() {
    auto& medium = machine_.medium();
    if (regions_.data != nullptr) {
      medium.unmap(regions_.data, regions_.capacity);
    }
    if (regions_.home != nullptr && regions_.home != regions_.data) {
      medium.unmap(regions_.home, regions_.capacity);
    }
    if (regions_.twin != nullptr) {
      medium.unmap(regions_.twin, regions_.capacity);
    }
    if (regions_.cells != nullptr) {
      medium.unmap(regions_.cells, 2 * regions_.capacity);
    }
    if (regions_.area != nullptr) {
      medium.unmap(regions_.area, regions_.area_bytes);
    }
    regions_ = Regions();
  }

 private:
  static size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

  Status plan(const CreateOptions& o, const Description& description) {
    Superblock& s = superblock_;
    constexpr size_t kMost = size_t{1} << 44;
    if (o.bytes == 0 || o.bytes > kMost || o.max_bytes > kMost || o.growth > kMost ||
        o.max_bytes < o.bytes) {
      return {Code::invalid_argument,
              "a heap has from 1 byte to 16 TiB, and max_bytes is not below bytes"};
    }
    s.segment_bytes = round_up(o.growth == 0 ? o.bytes : o.growth, kPageBytes);
    s.segments = (o.bytes + s.segment_bytes - 1) / s.segment_bytes;
    s.capacity = round_up(std::max(o.max_bytes, s.segments * s.segment_bytes), kPageBytes);
    s.chunk_bytes = o.chunk_bytes != 0 ? o.chunk_bytes : default_chunk(o.bytes);
    if (s.chunk_bytes < kMinChunkBytes || s.chunk_bytes > kMaxChunkBytes ||
        (s.chunk_bytes & (s.chunk_bytes - 1)) != 0) {
      return {Code::invalid_argument, "chunk_bytes is a power of two from 1024 to 65536"};
    }
    const int slots = std::max(machine_.slots(), o.slots);
    auto area = description.area_bytes(o.options, slots);
    if (!area) {
      return area.status();
    }
    s.area_bytes = round_up(*area, kPageBytes);
    s.copies = description.layout == Layout::twin ? 2 : description.layout == Layout::cells ? 3 : 1;
    s.engine = description.name;
    s.options = o.options;
    s.slots = static_cast<uint32_t>(slots);
    uint64_t seed = machine_.entropy();
    for (auto& byte : s.uuid) {
      byte = static_cast<uint8_t>(seed = mix64(seed));
    }
    return {};
  }

  // A small heap gets small chunks, because each of thirty size classes may need chunks of its own.
  static size_t default_chunk(size_t bytes) {
    size_t chunk = kMaxChunkBytes;
    while (chunk > kMinChunkBytes && chunk * 256 > bytes) {
      chunk /= 2;
    }
    return chunk;
  }

  Status map_header() {
    auto header = machine_.medium().map(0, kHeaderBytes, nullptr, MapMode::shared);
    if (!header) {
      return header.status();
    }
    header_ = *header;
    return {};
  }

  Status map_segments(uint64_t from, uint64_t to) {
    const Superblock& s = superblock_;
    // Without second copies, segments are contiguous in the file.
    const uint64_t step = s.copies == 1 ? to - from : 1;
    for (uint64_t i = from; i < to; i += step) {
      const size_t at = i * s.segment_bytes;
      const size_t n = step * s.segment_bytes;
      const auto mode = layout_ == Layout::working_copy ? MapMode::copy_on_write : shared_;
      Status status = map_piece(s.segment_offset(i, 0), n, regions_.data + at, mode);
      if (status.ok() && layout_ == Layout::working_copy) {
        status = map_piece(s.segment_offset(i, 0), n, regions_.home + at, shared_);
      }
      if (status.ok() && layout_ == Layout::twin) {
        status = map_piece(s.segment_offset(i, 1), n, regions_.twin + at, shared_);
      }
      if (status.ok() && layout_ == Layout::cells) {
        status = map_piece(s.segment_offset(i, 1), 2 * n, regions_.cells + 2 * at, shared_);
      }
      if (!status.ok()) {
        return status;
      }
    }
    regions_.bytes = s.data_bytes();
    return {};
  }

  Status map_piece(size_t offset, size_t bytes, std::byte* address, MapMode mode) {
    auto mapped = machine_.medium().map(offset, bytes, address, mode);
    return mapped ? Status() : mapped.status();
  }

  M& machine_;
  Superblock superblock_;
  Regions regions_;
  Layout layout_ = Layout::in_place;
  MapMode shared_ = MapMode::shared;
  std::byte* header_ = nullptr;
  bool healed_ = false;
};

}  // namespace holdfast
