// SPDX-License-Identifier: Apache-2.0
//
// Field<T>: a member of a durable object.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "holdfast/base/bytes.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// A member of type T in an object of a heap with engine E. A Field behaves like a T: reading it
/// converts to T, and assigning to it stores through the running transaction. T is trivially
/// copyable, of any size.
///
/// A type that is no Word, such as a struct of two ints, is stored as a range of bytes.
///
/// Thread safety: transactions isolate the accesses of threads from each other.
///
/// Errors: assigning outside update(), or to a Field outside of the transaction's heap, throws
/// Error(misuse).
///
/// A default-constructed Field is uninitialised, like a scalar, unless T has a default constructor
/// that stores something, or initial values. Give members an initial value.
template <class T, class E>
class Field {
  static_assert(std::is_trivially_copyable_v<T>,
                "a Field holds plain bytes; use structures for the rest");

 public:
  using value_type = T;

  Field()
    requires std::is_trivially_default_constructible_v<T>
  = default;
  Field()
    requires(std::is_default_constructible_v<T> && !std::is_trivially_default_constructible_v<T>)
  {
    store(T());
  }
  Field(const T& value) { store(value); }  // NOLINT(google-explicit-constructor)
  Field(const Field& other) { store(other.load()); }
  ~Field() = default;

  Field& operator=(const T& value) {
    store(value);
    return *this;
  }
  Field& operator=(const Field& other) {
    if (this != &other) {
      store(other.load());
    }
    return *this;
  }

  T load() const {
    if constexpr (Word<T>) {
      return E::load(&value_);
    } else {
      std::array<std::byte, sizeof(T)> copy;
      E::load_range(copy.data(), &value_, sizeof(T));
      return std::bit_cast<T>(copy);
    }
  }

  void store(const T& value) {
    if constexpr (Word<T>) {
      E::store(&value_, value);
    } else {
      E::store_range(&value_, &value, sizeof(T));
    }
  }

  operator T() const { return load(); }  // NOLINT(google-explicit-constructor)
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return load();
  }

  template <class U>
  Field& operator+=(const U& by) {
    return *this = static_cast<T>(load() + by);
  }
  template <class U>
  Field& operator-=(const U& by) {
    return *this = static_cast<T>(load() - by);
  }

  /// Adds this field to the write set without changing it. Under snapshot isolation, a concurrent
  /// transaction that changes it then conflicts. Before writing A because of B, promote B.
  void promote() const { E::promote(bytes_at(&value_), kBytesOf<T>); }

 private:
  union {  // T's constructor would store without the engine
    T value_;
  };
};

}  // namespace holdfast
