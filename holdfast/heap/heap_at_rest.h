// SPDX-License-Identifier: Apache-2.0
//
// Read access to an open heap while it runs no transactions. Code that only reads heaps is compiled
// once, against HeapAtRest, and not once per engine.
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
#include "holdfast/heap/file/superblock.h"
#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/roots.h"

namespace holdfast {

/// The engine of HeapAtRest's Fields: plain loads. Every change is an error.
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

  /// Returns misuse.
  static Status refusal();
  /// Throws Error(misuse).
  [[noreturn]] static void refuse();
};

/// The interface of Heap for readers, over the data of an open heap of any engine. Objects are at
/// the addresses that they have in the open heap, and Fields of both heaps hold the same bytes.
///
/// Thread safety: any number of threads may read, while no transaction of the open heap runs.
class HeapAtRest {
 public:
  using Engine = AtRest;
  template <class T>
  using Field = holdfast::Field<T, AtRest>;

  /// Refers to `open`, an open Heap of any engine, which must outlive this object.
  template <class H>
  explicit HeapAtRest(H& open)
      : name_(open.machine().medium().name()),
        ready_([&open] { return settle(open); }),
        verify_pages_([&open] { return verify_pages(open); }),
        data_bytes_([&open] { return open.superblock().data_bytes(); }),
        data_(reinterpret_cast<std::byte*>(open.superblock().base)) {}

  template <class F>
  auto read(F&& body) {
    using R = std::invoke_result_t<F&>;
    using Outcome = BodyResult<R>;
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
  /// Partitions make no difference: no transaction runs.
  template <class F>
  auto read(Partitions /*partitions*/, F&& body) {
    return read(std::forward<F>(body));
  }
  template <class F>
  auto update(Partitions /*partitions*/, F&& body) {
    return update(std::forward<F>(body));
  }
  /// Returns misuse. The functions below that would change the heap fail in the same way.
  template <class F>
  auto update(F&& /*body*/) {
    return BodyResult<std::invoke_result_t<F&>>(AtRest::refusal());
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

  /// Like Heap::find_root.
  template <class T>
  Result<T*> find_root(std::string_view name) {
    auto found = find_root(name, RootType::of<T>());
    return found.ok() ? Result<T*>(reinterpret_cast<T*>(*found)) : Result<T*>(found.status());
  }
  Result<std::vector<RootInfo>> list() {
    return read([&] { return roots().list(); });
  }
  /// Returns list(), or throws Error if the heap cannot be read.
  std::vector<RootInfo> list_roots() { return list().value(); }
  /// Like Heap::check.
  Result<HeapCheck> check(const std::function<void(const BlockVisitor&)>& reachable = nullptr);

 private:
  /// Prepares a read. An empty transaction finds out whether the heap can be used. The engine then
  /// moves the data to where plain loads find them.
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

  /// Heap::verify_pages(), if `open` has it.
  template <class H>
  static Result<uint64_t> verify_pages(H& open) {
    if constexpr (requires { open.verify_pages(); }) {
      return open.verify_pages();
    } else {
      return uint64_t{0};
    }
  }

  Roots<AtRest> roots() const { return Roots(reinterpret_cast<DataHeader<AtRest>*>(data_)); }
  Result<std::byte*> find_root(std::string_view name, const RootType& type);

  std::string name_;
  std::function<Status()> ready_;
  std::function<Result<uint64_t>()> verify_pages_;
  std::function<uint64_t()> data_bytes_;  // more after each growth
  std::byte* const data_;
};

}  // namespace holdfast
