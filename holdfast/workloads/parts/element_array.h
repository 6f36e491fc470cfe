// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// A durable array of elements whose size is chosen at run time. Each element begins a line, so
/// that its size alone decides the number of lines that a change of it writes.
///
/// Its functions run inside a transaction, except those of a View without fields.
template <class H>
class ElementArray {
  template <class T>
  using Field = typename H::template Field<T>;
  static constexpr uint64_t kLineWords = kLineBytes / sizeof(uint64_t);

 public:
  /// The largest element, in bytes.
  static constexpr int64_t kMostBytes = 1 << 20;

  /// The array's shape and place, which never change.
  struct View {
    uint64_t entries = 0;
    uint64_t words = 0;  ///< of each element
    Field<uint64_t>* word = nullptr;

    uint64_t stride() const { return round_up(words, kLineWords); }
    /// The first word of an element.
    Field<uint64_t>* element(uint64_t i) const { return word + i * stride(); }
  };

  /// Allocates the array and leaves its content undefined.
  ElementArray(uint64_t entries, uint64_t words)
      : entries_(entries),
        words_(words),
        word_(static_cast<Field<uint64_t>*>(H::allocate(bytes({entries, words, nullptr})))) {}

  View view() const { return {entries_, words_, word_}; }

  template <class Visitor>
  void visit_blocks(Visitor&& visit) const {
    const View now = view();
    visit(static_cast<const void*>(now.word), bytes(now));
  }

 private:
  static size_t bytes(const View& v) { return v.entries * v.stride() * sizeof(Field<uint64_t>); }

  Field<uint64_t> entries_;
  Field<uint64_t> words_;
  Field<Field<uint64_t>*> word_;
};

}  // namespace holdfast
