// SPDX-License-Identifier: Apache-2.0
//
// The surviving images of many crash points, each kept once. Images of one small run differ in a
// few lines from each other and from the medium before the run, so an image is that base and the
// lines in which it differs, and its name is a hash that is put together from the hashes of those
// lines: whether an image is new is known before it is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast::check {

/// An image as its difference to a base.
struct ImageDelta {
  size_t bytes = 0;  ///< of the medium, which may have grown
  std::vector<uint32_t> lines;
  std::vector<std::byte> contents;  ///< line after line
};

/// The medium at one moment: which images are legal.
struct Moment {
  size_t bytes = 0;
  std::vector<sim::LineChoices> choices;

  /// How many images are legal; at most ~0.
  uint64_t image_count(size_t line_bytes) const;
};

class ImageSet {
 public:
  ImageSet(sim::Image base, size_t line_bytes);

  const sim::Image& base() const { return base_; }
  size_t line_bytes() const { return line_bytes_; }

  /// The moment at which this image alone is legal.
  Moment only(const sim::Image& image) const;
  /// The image `delta` of the set, as a whole.
  sim::Image build(const ImageDelta& delta) const;

  /// Calls f(hash, pick) for images of the moment, each once: all if there are at most `most`, else
  /// the two extremes, those in which one line alone is ahead or behind, and random ones. Choice i
  /// of the moment has its pick[i]-th content. The base of the moment is `delta` (null: the set's
  /// base), whose hash is `base_hash`. Returns how often f was called.
  uint64_t enumerate(const Moment& moment, const ImageDelta* delta, uint64_t base_hash,
                     uint64_t most, Random& random,
                     FunctionRef<void(uint64_t hash, const std::vector<uint32_t>& pick)> f) const;

  /// The image that was picked.
  ImageDelta pick(const Moment& moment, const ImageDelta* delta,
                  const std::vector<uint32_t>& pick) const;

 private:
  /// 0 when the line is as in the base.
  uint64_t line_hash(uint32_t line, const std::byte* content) const;
  const std::byte* base_line(uint32_t line) const;

  sim::Image base_;
  size_t line_bytes_;
  std::vector<std::byte> zero_;  ///< a line beyond the base's end
  sim::Image padded_;            ///< the base, with its last line filled up
};

}  // namespace holdfast::check
