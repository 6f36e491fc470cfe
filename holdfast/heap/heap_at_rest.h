// SPDX-License-Identifier: Apache-2.0
//
// A heap that runs no transactions, as data: what looks at heaps without changing them is compiled
// once against this instead of once for each engine.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/base/status.h"
#include "holdfast/heap/field.h"
#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/roots.h"
#include "holdfast/heap/superblock.h"

namespace holdfast {

/// What Field needs of an engine: plain loads, and no stores.
struct AtRest {
  template <class T>
  static T load(const T* p) {
    T value;
    std::memcpy(bytes_at(&value), bytes_at(p), kBytesOf<T>);
    return value;
  }
  template <class T>
  static void store(T* /*p*/, T /*value*/) {
    refuse();
  }
  static void load_range(void* to, const void* from, size_t n) { std::memcpy(to, from, n); }
  static void store_range(void* /*to*/, const void* /*from*/, size_t /*n*/) { refuse(); }
  static void promote(const void* /*p*/, size_t /*n*/) { refuse(); }

  static Status refusal();
  /// Throws Error(misuse).
  [[noreturn]] static void refuse();
};

/// The interface of Heap over the data of an open one, for readers. Objects are where that heap has
/// them, and Fields of both hold the same bytes.
///
/// Thread safety: while no transaction of the open heap runs, any number of threads.
class HeapAtRest {
 public:
  using Engine = AtRest;
  template <class T>
  using Field = holdfast::Field<T, AtRest>;

  /// Over an open Heap of any engine, which it refers to.
  template <class H>
  explicit HeapAtRest(H& open)
      : name_(open.machine().medium().name()),
        ready_([&open] { return settle(open); }),
        superblock_(open.superblock()) {}

  template <class F>
  auto read(F&& body) {
    using R = std::invoke_result_t<F&>;
    using Outcome = std::conditional_t<std::is_void_v<R>, Status, Result<NotVoid<R>>>;
    try {
      if (Status status = ready_(); !status.ok()) {
        return Outcome(std::move(status));
      }
      if constexpr (std::is_void_v<R>) {
        body();
        return Outcome();
      } else {
        return Outcome(body());
      }
    } catch (const MediumFailure& failure) {
      return Outcome(failure.status());
    } catch (const Error& error) {
      return Outcome(error.status());
    }
  }
  /// Returns misuse, as everything does that would change the heap.
  template <class F>
  auto update(F&& /*body*/) {
    using R = std::invoke_result_t<F&>;
    using Outcome = std::conditional_t<std::is_void_v<R>, Status, Result<NotVoid<R>>>;
    return Outcome(AtRest::refusal());
  }
  template <class T, class... A>
  Result<T*> root(std::string_view /*name*/, A&&... /*arguments*/) {
    return AtRest::refusal();
  }
  template <class T, class... A>
  static T* make(A&&... /*arguments*/) {
    AtRest::refuse();
  }
  template <class T>
  static void destroy(T* /*object*/) {
    AtRest::refuse();
  }
  static void* allocate(size_t /*bytes*/) { AtRest::refuse(); }
  static void deallocate(void* /*block*/, size_t /*bytes*/) { AtRest::refuse(); }

  /// As Heap::find_root.
  template <class T>
  Result<T*> find_root(std::string_view name) {
    auto found = find_root(name, RootType::of<T>());
    return found.ok() ? Result<T*>(reinterpret_cast<T*>(*found)) : Result<T*>(found.status());
  }
  Result<std::vector<RootInfo>> list() {
    return read([&] { return roots().list(); });
  }
  /// The same; throws Error when the data cannot be looked at.
  std::vector<RootInfo> list_roots() { return list().value(); }
  /// As Heap::check.
  Result<HeapCheck> check(const std::function<void(const BlockVisitor&)>& reachable = nullptr);

 private:
  /// Before every read(): whether the heap can be used, which an empty transaction finds out, and
  /// its data where plain loads find them.
  template <class H>
  static Status settle(H& open) {
    Status status = open.read([] {});
    if constexpr (requires { open.engine().settle(); }) {
      if (status.ok()) {
        status = open.engine().settle();
      }
    }
    return status;
  }

  template <class R>
  using NotVoid = std::conditional_t<std::is_void_v<R>, int, R>;

  std::byte* data() const { return reinterpret_cast<std::byte*>(superblock_.base); }
  Roots<AtRest> roots() const { return Roots(reinterpret_cast<DataHeader<AtRest>*>(data())); }
  Result<std::byte*> find_root(std::string_view name, const RootType& type);

  std::string name_;
  std::function<Status()> ready_;
  const Superblock& superblock_;
};

}  // namespace holdfast
