// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "holdfast/db/slice.h"
#include "holdfast/db/store/store_blocks.h"

namespace holdfast::db {

/// Long values, inside transactions. Who must stay within an engine's log appends and frees them in
/// several; in between they are in a list of the root.
template <class H>
class Blobs {
  template <class T>
  using Field = typename H::template Field<T>;

 public:
  static constexpr size_t kPieceBytes = 8192 - sizeof(Piece<H>);

  static Blob<H>* make() {
    auto* blob = H::template make<Blob<H>>();
    blob->first = nullptr;
    blob->last = nullptr;
    blob->next = nullptr;
    blob->previous = nullptr;
    return blob;
  }

  static void append(Blob<H>* blob, Slice content) {
    while (!content.empty()) {
      const size_t n = std::min(content.size(), kPieceBytes);
      auto* piece = static_cast<Piece<H>*>(H::allocate(sizeof(Piece<H>) + n));
      piece->next = nullptr;
      piece->bytes = n;
      H::Engine::store_range(piece + 1, content.data(), n);
      if (Piece<H>* last = blob->last) {
        last->next = piece;
      } else {
        blob->first = piece;
      }
      blob->last = piece;
      content.remove_prefix(n);
    }
  }

  /// Whether its pieces hold so many bytes: where they do not, it is damaged.
  static bool holds(const Blob<H>* blob, size_t bytes) {
    size_t left = bytes;
    for (const Piece<H>* piece = blob->first; piece != nullptr; piece = piece->next) {
      const size_t n = piece->bytes;
      if (n == 0 || n > kPieceBytes || n > left) {
        return false;
      }
      left -= n;
    }
    return left == 0;
  }

  /// `to` has room for all of it.
  static void load(const Blob<H>* blob, char* to) {
    for (const Piece<H>* piece = blob->first; piece != nullptr; piece = piece->next) {
      const size_t n = piece->bytes;
      H::Engine::load_range(to, piece + 1, n);
      to += n;
    }
  }

  /// Frees up to `most` pieces of a blob that is in the list, then the blob; true when it is gone.
  static bool free_some(Field<Blob<H>*>& list, Blob<H>* blob, int most) {
    Piece<H>* piece = blob->first;
    for (; piece != nullptr && most > 0; --most) {
      Piece<H>* const next = piece->next;
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
    Blob<H>* const first = list;
    blob->previous = nullptr;
    blob->next = first;
    if (first != nullptr) {
      first->previous = blob;
    }
    list = blob;
  }

  /// Skew: storing to its own links makes neighbours that leave at the same time conflict.
  static void unlink(Field<Blob<H>*>& list, Blob<H>* blob) {
    Blob<H>* const next = blob->next;
    Blob<H>* const previous = blob->previous;
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

  template <class Visitor>
  static void visit(const Blob<H>* blob, Visitor& see) {
    see(static_cast<const void*>(blob), sizeof(Blob<H>));
    for (const Piece<H>* piece = blob->first; piece != nullptr; piece = piece->next) {
      see(static_cast<const void*>(piece), sizeof(Piece<H>) + piece->bytes.load());
    }
  }
};

}  // namespace holdfast::db
