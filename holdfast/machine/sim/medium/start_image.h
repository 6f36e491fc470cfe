// SPDX-License-Identifier: Apache-2.0
//
// The content of a simulated medium at power-on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sim {

using Image = std::vector<std::byte>;

/// An image with which many machines begin. They read its pages where they are, and copy a page
/// when they first change it.
///
/// Thread safety: immutable.
class SharedImage {
 public:
  explicit SharedImage(const Image& image);

  /// The image, padded with zeros to whole pages.
  const Image& padded() const { return padded_; }
  size_t pages() const { return is_zero_.size(); }
  /// Returns the bytes of a page; null if all of them are zero.
  const std::byte* page(size_t index) const;

 private:
  Image padded_;
  std::vector<bool> is_zero_;  ///< by page
};

/// An image as its difference to another one.
struct ImageDelta {
  size_t bytes = 0;  ///< the medium's size, which may have grown
  std::vector<uint32_t> lines;
  std::vector<std::byte> contents;  ///< the lines' contents, in the order of `lines`
};

/// A whole image, or the difference to a shared one. It refers to its parts. They must live until
/// the machine is made, the shared image as long as the machine.
class StartImage {
 public:
  StartImage() = default;                             ///< an empty medium
  StartImage(const Image& whole) : whole_(&whole) {}  // NOLINT(google-explicit-constructor)
  StartImage(const SharedImage& base, const ImageDelta& delta) : base_(&base), delta_(&delta) {}

  /// Each is null if there is none.
  const Image* whole() const { return whole_; }
  const SharedImage* base() const { return base_; }
  const ImageDelta* delta() const { return delta_; }

 private:
  const Image* whole_ = nullptr;
  const SharedImage* base_ = nullptr;
  const ImageDelta* delta_ = nullptr;
};

}  // namespace holdfast::sim
