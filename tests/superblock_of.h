// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "holdfast/heap/file/superblock.h"

namespace holdfast {

/// Returns the superblock of a heap's image. Throws if both copies are damaged.
inline Superblock superblock_of(std::span<const std::byte> image) {
  bool healed = false;
  return choose(image.first(kHeaderBytes), "image", &healed).value();
}

/// The first bytes of the data of a heap's image, where headers are aligned as in a mapped file.
class DataOf {
 public:
  explicit DataOf(std::span<const std::byte> image, size_t bytes = SIZE_MAX) {
    const Superblock superblock = superblock_of(image);
    const std::span<const std::byte> data = image.subspan(superblock.file_offset(ExtentKind::data),
                                                          std::min(bytes, superblock.data_bytes()));
    pieces_.resize((data.size() + sizeof(Piece) - 1) / sizeof(Piece));
    std::memcpy(pieces_.data(), data.data(), data.size());
  }
  template <class Header>
  Header& header() {
    static_assert(alignof(Header) <= alignof(Piece));
    return *reinterpret_cast<Header*>(pieces_.data());
  }

 private:
  struct alignas(256) Piece {
    std::byte bytes[256];
  };
  std::vector<Piece> pieces_;
};

/// Returns the beginning of a file with these two copies.
inline std::vector<std::byte> header_of(const Superblock& first, const Superblock& second) {
  std::vector<std::byte> header(kHeaderBytes);
  const std::vector<std::byte> a = encode(first).value();
  const std::vector<std::byte> b = encode(second).value();
  std::copy(a.begin(), a.end(), header.begin());
  std::copy(b.begin(), b.end(), header.begin() + kSuperblockBytes);
  return header;
}

}  // namespace holdfast
