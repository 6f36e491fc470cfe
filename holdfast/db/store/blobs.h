// SPDX-License-Identifier: Apache-2.0
//
// Long values: made, read and freed in pieces, inside transactions.
#pragma once

#include <algorithm>

#include "holdfast/db/slice.h"
#include "holdfast/db/store/store_blocks.h"
#include "holdfast/heap/file/size_classes.h"

namespace holdfast::db {

/// Operations on long values, inside transactions. A value that is too long for the engine's log is
/// appended to, and freed, in several transactions. Between these transactions it is in a list of
/// the root, so a crash loses no blocks.
template <class H>
class Blobs {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  /// The block of a piece has the largest size that shares chunks of a database: three fill 94 %
  /// of a chunk. A larger block would take a chunk of its own.
  static constexpr size_t kPieceBytes = 5120 - sizeof(Piece<H>);
  static_assert(share_chunks(5120, kMostFineChunk, shared_header_bytes(kMostFineChunk)));
  /// Databases of earlier versions have pieces of this size.
  static constexpr size_t kMostPieceBytes = 8192 - sizeof(Piece<H>);

  /// Returns a blob without pieces. Its links have no values before link().
  static Blob<H>* make() {
    auto* blob = H::template make<Blob<H>>();
    blob->first = nullptr;
    blob->last = nullptr;
    return blob;
  }

  static void append(Blob<H>* blob, Slice content) {
    const HeapBounds<H> bounds;
    while (!content.empty()) {
      const size_t n = std::min(content.size(), kPieceBytes);
      auto* piece = static_cast<Piece<H>*>(H::allocate(sizeof(Piece<H>) + n));
      piece->next = nullptr;
      piece->bytes = n;
      H::Engine::store_range(piece + 1, content.data(), n);
      if (Piece<H>* last = blob->last) {
        bounds.check(last)->next = piece;
      } else {
        blob->first = piece;
      }
      blob->last = piece;
      content.remove_prefix(n);
    }
  }

  /// Returns whether the pieces hold exactly `bytes` bytes; if not, the blob is damaged.
  static bool holds(const Blob<H>* blob, size_t bytes) {
    size_t left = bytes;
    const bool sound = for_each_piece(blob, [&](const Piece<H>* /*piece*/, size_t n) {
      const bool fits = n <= left;
      left -= fits ? n : 0;
      return fits;
    });
    return sound && left == 0;
  }
  /// Throws Error(corrupt) if the blob or one of its pieces is not in the heap.
  static void check(const Blob<H>* blob) {
    if (!for_each_piece(blob, [](const Piece<H>* /*piece*/, size_t /*n*/) { return true; })) {
      throw_damaged("a piece of a long value");
    }
  }

  /// Copies the whole value to `to`, which has room for it. The blob holds the value.
  static void load(const Blob<H>* blob, char* to) {
    for (const Piece<H>* piece = blob->first; piece != nullptr; piece = piece->next) {
      const size_t n = piece->bytes;
      H::Engine::load_range(to, piece + 1, n);
      to += n;
    }
  }

  /// Frees up to `most` pieces of a blob in `list`. Frees the blob too, and returns true, once it
  /// has no pieces.
  static bool free_some(Field<Blob<H>*>& list, Blob<H>* blob, int most) {
    const HeapBounds<H> bounds;
    Piece<H>* piece = blob->first;
    for (; piece != nullptr && most > 0; --most) {
      Piece<H>* const next = bounds.check(piece)->next;
      H::deallocate(piece, sizeof(Piece<H>) + piece->bytes.load());
      piece = next;
    }
    blob->first = piece;
    if (piece != nullptr) {
      return false;
    }
    unlink(list, blob);
    H::destroy(blob);
    return true;
  }

  static void link(Field<Blob<H>*>& list, Blob<H>* blob) {
    const HeapBounds<H> bounds;
    Blob<H>* const first = list;
    bounds.check(blob)->previous = nullptr;
    blob->next = first;
    if (first != nullptr) {
      bounds.check(first)->previous = blob;
    }
    list = blob;
  }

  /// Removes the blob from `list`. It stores to the blob's own links, too: under snapshot isolation
  /// that makes transactions conflict that remove neighbours at the same time (write skew).
  static void unlink(Field<Blob<H>*>& list, Blob<H>* blob) {
    const HeapBounds<H> bounds;
    Blob<H>* const next = bounds.check(blob)->next;
    Blob<H>* const previous = blob->previous;
    // Both neighbours must name the blob. So a walk that removes blobs from a damaged list ends.
    const bool sound =
        (next == nullptr || bounds.check(next)->previous.load() == blob) &&
        (previous == nullptr ? list.load() : bounds.check(previous)->next.load()) == blob;
    if (!sound) [[unlikely]] {
      throw_damaged("a list of long values");
    }
    if (next != nullptr) {
      next->previous = previous;
    }
    if (previous != nullptr) {
      previous->next = next;
    } else {
      list = next;
    }
    blob->next = nullptr;
    blob->previous = nullptr;
  }

  /// Calls see(address, bytes) for the blob and each piece.
  template <class Visitor>
  static void visit(const Blob<H>* blob, Visitor& see) {
    see(static_cast<const void*>(blob), sizeof(Blob<H>));
    for_each_piece(blob, [&](const Piece<H>* piece, size_t n) {
      see(static_cast<const void*>(piece), sizeof(Piece<H>) + n);
      return true;
    });
  }

 private:
  /// Calls f(piece, bytes) until it returns false. Returns false if f does, or if a piece has an
  /// impossible length. Throws Error(corrupt) if a pointer leads out of the heap or in a circle.
  template <class F>
  static bool for_each_piece(const Blob<H>* blob, F&& f) {
    const HeapBounds<H> bounds;
    CycleCheck cycle;
    for (const Piece<H>* piece = bounds.check(blob)->first; piece != nullptr; piece = piece->next) {
      cycle.arrive(bounds.check(piece));
      const size_t n = piece->bytes;
      if (n == 0 || n > kMostPieceBytes || !bounds.has_behind(piece, n) || !f(piece, n)) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace holdfast::db
