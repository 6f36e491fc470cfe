// SPDX-License-Identifier: Apache-2.0
//
// The content of the medium, and what of it survives a power failure.
//
// The rules are those of Px86. Stores to one line persist in the order in which they become
// visible. A line may persist at any moment after a store to it. Only a write-back followed by a
// fence makes that certain. So a legal image holds, for each line independently, the certain
// content and a prefix of the stores since. Non-temporal stores wait in a write-combining buffer
// of their thread, which empties in no order: any of those in the prefix may be missing. A fence of
// another thread does not empty it.
//
// With a journal, lines reach the medium in the order in which fences have appended them, and no
// other way. So a legal image holds the certain content and a prefix of the appended lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/random.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/medium/adopted_content.h"
#include "holdfast/machine/sim/medium/start_image.h"
#include "holdfast/machine/sim/support/masked_word.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// A write-back that has left the store buffer but is not fenced yet. It covers the stores to
/// `line` up to number `upto`.
struct WriteBack {
  uint32_t line;
  uint64_t upto;
};

/// The possible contents of one line of the medium if the power fails now. `contents` holds them
/// one after the other, line_bytes each. The first one is the certain content. Without a journal
/// they are all different.
struct LineChoices {
  uint32_t line;
  std::vector<std::byte> contents;
  uint32_t latest = 0;  ///< the index of the content with all stores
};

/// The medium: its certain content, and for each dirty line the stores that may be lost. Offsets
/// are bytes on the medium.
class Persistence {
 public:
  Persistence(Domain domain, size_t line_bytes, size_t limit, const StartImage& start,
              HostPages* pages = nullptr, bool journaled = false);
  ~Persistence();

  size_t bytes() const { return bytes_; }
  void grow(size_t bytes) { bytes_ = bytes; }
  /// The certain content of [offset, offset + n) becomes the bytes of `file` from `content` on. The
  /// range is whole pages that were never stored to, and `file` outlives this object. Only lines
  /// that are stored to later take memory.
  void adopt(size_t offset, size_t n, const FileContent& file, const std::byte* content);

  /// A store to offset word.address became visible. With `same_instant` it became visible together
  /// with the store before it, as those of one hardware transaction do. No image separates such
  /// stores within a line.
  void stored(const MaskedWord& word, bool same_instant = false);
  /// A non-temporal store of the thread in this slot became visible, in domain pmem. It counts as a
  /// write-back too.
  void stored_around_caches(const MaskedWord& word, int slot, std::vector<WriteBack>& pending);
  /// A write-back of the line at this offset leaves a thread's store buffer. `pending` are the
  /// thread's write-backs that are not fenced yet.
  void wrote_back(size_t offset, std::vector<WriteBack>& pending);
  /// A fence of the thread in this slot completes: the stores that its write-backs cover become
  /// certain, but for the non-temporal ones of other threads.
  void fenced(int slot, std::vector<WriteBack>& pending);
  /// A cache has written back the line at this offset, with all stores so far.
  void reached(size_t offset);
  /// All stores so far become certain (fdatasync). With a journal, all appended lines.
  void synced();
  /// With a journal: a fence of that thread appends the lines of its write-backs, as they are now.
  void appended(std::vector<WriteBack>& pending);
  /// With a journal: the number of lines that have been appended, and of those that are certain.
  uint64_t position() const { return position_; }
  uint64_t certain_position() const { return position_ - journal_.size(); }
  /// Makes these bytes certain; n is a multiple of the word size. With a hardware design this is
  /// the only way to the medium, because a store alone does not persist there.
  void put(size_t offset, const std::byte* bytes, size_t n);

  /// Copies the visible content of [offset, offset + n) to `to`, which is zeroed.
  void read_latest(size_t offset, size_t n, std::byte* to) const;
  /// Copies the certain content of [offset, offset + n) to `to`, which is zeroed.
  void copy_certain(size_t offset, size_t n, std::byte* to) const;

  /// The image with the bytes that the modelled caches and queues had written to the medium, and
  /// all certain ones.
  Image surviving_image() const;
  /// The legal image with no store that may be lost, with all of them, or with a choice drawn at
  /// random for each line.
  Image earliest_image() const;
  Image latest_image() const;
  Image sample_image(Random& random) const;
  /// Calls f with legal images, the earliest first, until it has seen all of them or `limit`, or f
  /// returns false. Returns how many. The image is valid during the call of f.
  uint64_t for_each_image(uint64_t limit, FunctionRef<bool(const Image&)> f) const;
  /// The number of legal images, at most kNever.
  uint64_t image_count() const;
  size_t dirty_lines() const { return dirty_.size(); }

  /// From now on, remembers the lines that are stored to, for choices().
  void watch();
  /// The legal images, line by line: each line stored to since watch(), in the order of the first
  /// store to each, with its possible contents. Any combination of them is a legal image. All other
  /// lines have not changed. Lines without a change since the last call share its LineChoices.
  std::vector<std::shared_ptr<const LineChoices>> choices() const;
  /// With a journal, no other combination of the choices is legal than these: each line begins with
  /// its first content, and takes its next one whenever its index in choices() is in this list.
  std::vector<uint32_t> order() const;
  bool journaled() const { return journaled_; }

 private:
  /// The place of a page's certain bytes: nowhere (they are zero), certain_, shared_, or adopted_.
  enum class Page : uint8_t { zero, own, shared, adopted };
  /// A store that is not certain yet.
  struct Store {
    MaskedWord word;  ///< its address is an offset on the medium
    uint64_t number;  ///< of its instant, over the whole medium; write-backs refer to it
  };
  /// A non-temporal store: its number, and the slot of its thread.
  struct Around {
    uint64_t number;
    int slot;
  };
  /// A line with stores that are not certain yet.
  struct Dirty {
    uint32_t line;
    std::vector<Store> stores;
    uint64_t reached = 0;        ///< a cache has written back the stores up to this number
    std::vector<Around> around;  ///< the non-temporal ones among them, in their order
  };
  /// A possible content of a dirty line: the first `length` stores, without some of the
  /// non-temporal ones. If bit i of `lost` is set, store around[from + i] is missing.
  struct Choice {
    uint32_t length;
    uint32_t from;
    uint32_t lost;
  };
  /// The most non-temporal stores to a line that may be missing. Older ones are taken to persist in
  /// order: a line has eight words, and the write-combining buffer empties when it is full.
  static constexpr size_t kMostLost = 8;

  void start_with(const Image& image);
  void start_with(const SharedImage& base, const ImageDelta& delta);
  bool certain_at_once() const { return caches_last(domain_); }
  /// Gives a page of its own to a page whose bytes are elsewhere. Not for adopted ones.
  void make_own(size_t page);
  void make_certain(const MaskedWord& word);
  void touched(size_t offset);
  /// The choices of the line may be others than before.
  void changed(uint32_t line);
  /// The index of a line that was stored to since watch() in touched_.
  uint32_t touched_index(uint32_t line) const { return is_touched_[line] - 1; }
  void forget_touched();
  void make_certain(uint32_t line, uint64_t upto, int slot);
  /// The possible contents of a dirty line. The first has no store, the last has all; no two have
  /// the same stores.
  static std::vector<Choice> legal(const Dirty& dirty);
  /// Changes the line's bytes in the image from those of `before` (length 0: the certain ones) to
  /// those of `choice`.
  void apply(const Dirty& dirty, const Choice& before, const Choice& choice,
             std::byte* image) const;
  void restore(uint32_t line, std::byte* image) const;
  /// Stores an appended line to the image.
  void apply(const WriteBack& appended, std::byte* image) const;
  /// Stores the first n appended lines to the image.
  void apply_first(size_t n, Image& image) const;
  LineChoices choices_of(uint32_t line) const;
  LineChoices journal_choices_of(uint32_t line) const;
  static void apply(const MaskedWord& word, std::byte* image);
  void clean(uint32_t index);

  Domain domain_;
  size_t line_bytes_;
  size_t limit_;
  size_t bytes_;
  ZeroedArray<std::byte> certain_;           ///< the certain bytes of own pages
  ZeroedArray<Page> page_;                   ///< by page
  const SharedImage* shared_;                ///< null if there is none
  std::unique_ptr<AdoptedContent> adopted_;  ///< null until adopt() is called
  ZeroedArray<uint32_t> index_;              ///< by line: index in dirty_ + 1, or 0 if clean
  std::vector<Dirty> dirty_;
  std::vector<std::vector<Store>> spare_;  ///< empty lists, for reuse
  uint64_t number_ = 0;                    ///< the number of the latest instant
  const bool journaled_;
  std::vector<WriteBack> journal_;  ///< the appended lines that are not certain
  uint64_t position_ = 0;
  bool watched_ = false;
  std::vector<uint32_t> touched_;     ///< the lines stored to since watch()
  ZeroedArray<uint32_t> is_touched_;  ///< by line: index in touched_ + 1, or 0
  /// By index in touched_: the choices since the last change of the line; null: not made since.
  mutable std::vector<std::shared_ptr<const LineChoices>> known_choices_;
};

}  // namespace holdfast::sim
