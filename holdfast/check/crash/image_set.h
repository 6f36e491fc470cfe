// SPDX-License-Identifier: Apache-2.0
//
// The surviving images of many crash points, each kept once.
//
// The images of a small run differ in few lines from each other and from the medium before the run.
// So an image is that base and the lines in which it differs; this saves memory. Its name is a hash
// that combines the hashes of these lines and the medium's size. So the explorer knows whether an
// image is new before it builds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast::check {

using sim::ImageDelta;

/// The medium at one moment: the contents that each line may have after a crash. A line without
/// choices has its content from the start of the run, or zeros beyond the medium's end at that
/// time.
struct Moment {
  size_t bytes = 0;
  /// Moments of one run share those of lines that have not changed in between.
  std::vector<std::shared_ptr<const sim::LineChoices>> choices;
  /// With a journal, the order in which the choices are taken (sim::Persistence::order); then no
  /// other combination of them is legal. Unset: all are.
  std::optional<std::vector<uint32_t>> order = std::nullopt;

  /// Returns the number of legal images; ~0 if it does not fit. Without an order it is the product
  /// of the lines' numbers of contents. Two combinations may give equal images, and both count.
  uint64_t image_count(size_t line_bytes) const;
};

/// Enumerates, names and builds images as differences to one base.
///
/// Thread safety: immutable, so threads may call it concurrently. Each thread needs its own Random.
class ImageSet {
 public:
  ImageSet(sim::Image base, size_t line_bytes);

  const sim::Image& base() const { return base_; }
  const sim::SharedImage& shared_base() const { return shared_; }
  /// The base as its difference to itself.
  const ImageDelta& no_difference() const { return none_; }
  size_t line_bytes() const { return line_bytes_; }

  /// Returns the moment at which only this image is legal: with a hardware design each crash point
  /// has one image. The moment describes the whole image, so pass a null `delta` with it.
  Moment only(const sim::Image& image) const;
  /// Returns the whole image that `delta` describes.
  sim::Image build(const ImageDelta& delta) const;
  /// Makes `image` that image. Reuses its memory.
  void build(const ImageDelta& delta, sim::Image& image) const;

  /// Calls f(hash, pick) once for each of up to `most` images of the moment. In the image, choice i
  /// of the moment has its pick[i]-th content.
  ///
  /// With an order it picks the first and the last image, then random ones. Otherwise, if there are
  /// more images than `most`, it picks these, in this order:
  ///   the two extremes, every line at its earliest or every line at its latest content, even if
  ///     `most` is below 2;
  ///   until it has `most`, the images in which only one line is ahead of or behind the others;
  ///   random ones. It tries 2 * most times and skips repetitions, so it may end before `most`.
  ///
  /// `delta` is the image with which the run of this moment began, and `base_hash` the hash under
  /// which it was enumerated. For a run that began with the set's base pass null and 0. Returns the
  /// number of calls.
  uint64_t enumerate(const Moment& moment, const ImageDelta* delta, uint64_t base_hash,
                     uint64_t most, Random& random,
                     FunctionRef<void(uint64_t hash, const std::vector<uint32_t>& pick)> f) const;

  /// Returns an image of the moment that enumerate has picked.
  ImageDelta pick(const Moment& moment, const ImageDelta* delta,
                  const std::vector<uint32_t>& pick) const;

 private:
  /// Returns 0 if the line has its content of the base.
  uint64_t line_hash(uint32_t line, const std::byte* content) const;
  const std::byte* base_line(uint32_t line) const;

  sim::Image base_;
  size_t line_bytes_;
  std::vector<std::byte> zero_;  ///< the content of a line beyond the base's end
  sim::SharedImage shared_;      ///< the base
  ImageDelta none_;
};

}  // namespace holdfast::check
