// SPDX-License-Identifier: Apache-2.0
//
// What would survive a power cut. The rule (Px86-like): stores to one line persist in the order in
// which they became visible; a line may persist at any moment after a store to it; only a
// write-back followed by a fence makes that certain. So a legal image is, for each line
// independently, the fenced value plus some prefix of the stores since. Non-temporal stores wait in
// a write-combining buffer, which empties in no order: of those in the prefix any may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/medium/adopted_content.h"
#include "holdfast/machine/sim/support/masked_word.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

using Image = std::vector<std::byte>;

/// A write-back that has left the store buffer but is not fenced: the stores to `line` up to
/// `upto`.
struct WriteBack {
  uint32_t line;
  uint64_t upto;
};

/// What one line of the medium may hold if the power fails now. `contents` are different from each
/// other, line_bytes each, one after the other; the first is what is certain.
struct LineChoices {
  uint32_t line;
  std::vector<std::byte> contents;
  uint32_t latest = 0;  ///< index of the content with all stores
};

/// The medium: its certain contents, and for every dirty line the stores that may be lost.
class Persistence {
 public:
  Persistence(Domain domain, size_t line_bytes, size_t limit, const Image& image,
              HostPages* pages = nullptr);
  ~Persistence();

  size_t bytes() const { return bytes_; }
  void grow(size_t bytes) { bytes_ = bytes; }
  /// [offset, offset + n), whole pages never stored to, certainly holds the bytes of `file`, which
  /// outlives this object, from `content` on. Takes memory for lines that are stored to only.
  void adopt(size_t offset, size_t n, const FileContent& file, const std::byte* content);

  /// A store to byte offset word.address became visible; `same_instant`: together with the one
  /// before, as the stores of one hardware transaction do. No image parts those within a line.
  void stored(const MaskedWord& word, bool same_instant = false);
  /// The same for a non-temporal store, in domain pmem: it is a write-back as well.
  void stored_around_caches(const MaskedWord& word, std::vector<WriteBack>& pending);
  /// A write-back of the line at this offset leaves the store buffer of a thread.
  void wrote_back(size_t offset, std::vector<WriteBack>& pending);
  /// That thread's fence completes: what its write-backs covered is certain.
  void fenced(std::vector<WriteBack>& pending);
  /// A cache has written the line at this offset back, with all that was stored so far.
  void reached(size_t offset);
  /// All that was stored so far is certain (fdatasync).
  void synced();
  /// These bytes, of whole words, are certain. With a hardware design nothing else gets here: a
  /// store alone is not tracked as something that may persist.
  void put(size_t offset, const std::byte* bytes, size_t n);

  /// Copies what is visible of [offset, offset + n) to `to`, which is zero.
  void read_latest(size_t offset, size_t n, std::byte* to) const;
  /// The same for what is certain.
  void copy_certain(size_t offset, size_t n, std::byte* to) const;

  /// What the modelled caches and queues had written to the medium, and what is certain besides.
  Image surviving_image() const;
  /// Every line as old, or as new, as is legal; or each line's prefix drawn at random.
  Image earliest_image() const;
  Image latest_image() const;
  Image sample_image(Random& random) const;
  /// Calls f with legal images, the earliest first, until all were seen, `limit` were, or f returns
  /// false; returns how many. The image is valid during the call.
  uint64_t for_each_image(uint64_t limit, FunctionRef<bool(const Image&)> f) const;
  /// The number of legal images, at most kNever.
  uint64_t image_count() const;
  size_t dirty_lines() const { return dirty_.size(); }

  /// From now on the lines that are stored to are remembered, for choices().
  void watch();
  /// The legal images, line by line: every line stored to since watch(), in the order of the first
  /// store to each, with what it may hold. Any combination is legal; all other lines are as they
  /// were.
  std::vector<LineChoices> choices() const;

 private:
  /// Where the certain bytes of a page are.
  enum class Page : uint8_t { zero, own, adopted };
  struct Store {
    MaskedWord word;  ///< address: offset on the medium
    uint64_t number;  ///< of the instant, over the whole medium, for write-backs to refer to
  };
  struct Dirty {
    uint32_t line;
    std::vector<Store> stores;
    uint64_t reached = 0;          ///< stores up to this number were written back
    std::vector<uint64_t> around;  ///< numbers of the non-temporal stores
  };
  /// What an image may hold of a dirty line: the first `length` stores, without some of the
  /// non-temporal ones: bit i of `lost` is around[from + i].
  struct Choice {
    uint32_t length;
    uint32_t from;
    uint32_t lost;
  };
  /// Of more non-temporal stores to one line, unfenced, the older ones are taken to be in order: a
  /// line has eight words, and the buffer empties when it is full.
  static constexpr size_t kMostLost = 8;

  bool certain_at_once() const { return domain_ == Domain::process || domain_ == Domain::eadr; }
  void make_certain(const MaskedWord& word);
  void touched(size_t offset);
  void make_certain(uint32_t line, uint64_t upto);
  /// Each differs from the others by some store; nothing comes first, everything last.
  static std::vector<Choice> legal(const Dirty& dirty);
  /// The line's bytes in the image, which are those of `before` (or certain, for length 0), become
  /// those of `choice`.
  void apply(const Dirty& dirty, const Choice& before, const Choice& choice,
             std::byte* image) const;
  void restore(uint32_t line, std::byte* image) const;
  static void apply(const MaskedWord& word, std::byte* image);
  void clean(uint32_t index);

  Domain domain_;
  size_t line_bytes_;
  size_t limit_;
  size_t bytes_;
  ZeroedArray<std::byte> certain_;           ///< of the machine's own pages
  ZeroedArray<Page> page_;                   ///< by page
  std::unique_ptr<AdoptedContent> adopted_;  ///< null until something is
  ZeroedArray<uint32_t> index_;              ///< by line: index into dirty_ + 1, or 0 when clean
  std::vector<Dirty> dirty_;
  std::vector<std::vector<Store>> spare_;  ///< emptied lists, for reuse
  uint64_t number_ = 0;                    ///< of the latest instant
  bool watched_ = false;
  std::vector<uint32_t> touched_;  ///< lines stored to since watch()
  std::vector<bool> is_touched_;   ///< by line, as far as needed
};

}  // namespace holdfast::sim
