// SPDX-License-Identifier: Apache-2.0
//
// The interface of Heap over ordinary memory: nothing is durable, isolated or rolled back. It is
// the baseline of comparisons ("the same structure on plain memory"). It is also the fastest heap
// for testing a structure.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/base/scoped_value.h"
#include "holdfast/base/status.h"
#include "holdfast/engines/partitions.h"

namespace holdfast {

/// A T with the methods of Field, without an engine.
template <class T>
class PlainField {
  static_assert(std::is_trivially_copyable_v<T>, "a Field holds plain bytes");

 public:
  using value_type = T;

  PlainField() = default;
  PlainField(const T& value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  PlainField& operator=(const T& value) {
    value_ = value;
    return *this;
  }
  T load() const { return value_; }
  void store(const T& value) { value_ = value; }
  operator T() const { return value_; }  // NOLINT(google-explicit-constructor)
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return value_;
  }
  template <class U>
  PlainField& operator+=(const U& by) {
    return *this = static_cast<T>(value_ + by);
  }
  template <class U>
  PlainField& operator-=(const U& by) {
    return *this = static_cast<T>(value_ - by);
  }
  void promote() const {}

 private:
  T value_;
};

/// A heap of ordinary memory. Its content ends with the object.
///
/// Thread safety: none. One thread may use one heap at a time.
///
/// Errors: an Error that leaves a body is returned as a Status; other exceptions propagate, as with
/// Heap. The body's stores stay in both cases.
///
/// Cost: blocks come from slabs with blocks of one size, as in Heap. So a comparison measures the
/// engine and not the block headers of malloc.
class PlainHeap {
 public:
  template <class T>
  using Field = PlainField<T>;

  PlainHeap() = default;
  PlainHeap(const PlainHeap&) = delete;
  PlainHeap& operator=(const PlainHeap&) = delete;
  ~PlainHeap() {
    for (void* block : large_) {
      release(block);
    }
    for (void* slab : slabs_) {
      release(slab);
    }
  }

  template <class F>
  auto update(F&& body) {
    return run(body);
  }
  template <class F>
  auto read(F&& body) {
    return run(body);
  }
  /// Partitions make no difference: the heap has one thread.
  template <class F>
  auto update(Partitions /*partitions*/, F&& body) {
    return run(body);
  }
  template <class F>
  auto read(Partitions /*partitions*/, F&& body) {
    return run(body);
  }

  template <class T, class... A>
  static T* make(A&&... args) {
    return new (allocate(sizeof(T))) T(std::forward<A>(args)...);
  }
  template <class T>
  static void destroy(T* object) {
    object->~T();
    deallocate(object, sizeof(T));
  }
  static void* allocate(size_t bytes) { return current().take(bytes); }
  static void deallocate(void* block, size_t bytes) { current().give(block, bytes); }

  /// Like Heap::root.
  template <class T, class... A>
  Result<T*> root(std::string_view name, A&&... args) {
    auto found = find_root<T>(name);
    if (found.ok() || found.status().code() != Code::not_found) {
      return found;
    }
    T* made = nullptr;
    Status status = update([&] { made = make<T>(std::forward<A>(args)...); });
    if (!status.ok()) {
      return status;
    }
    roots_.emplace(std::string(name), Root{made, typeid(T)});
    return made;
  }

  template <class T>
  Result<T*> find_root(std::string_view name) {
    const auto at = roots_.find(name);
    if (at == roots_.end()) {
      return Status(Code::not_found, "plain heap: no root named '" + std::string(name) + "'");
    }
    if (at->second.type != typeid(T)) {
      return Status(Code::type_mismatch,
                    "plain heap: root '" + std::string(name) + "' holds another type");
    }
    return static_cast<T*>(at->second.object);
  }

  /// The number and bytes of allocated blocks, for leak checks.
  size_t live_blocks() const { return live_blocks_; }
  size_t live_bytes() const { return live_bytes_; }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kSlabBytes = size_t{64} << 10;
  static constexpr size_t kLargestSmall = 4096;
  static constexpr size_t kMost = size_t{1} << 46;  // bytes of a block, as in Heap

  struct Root {
    void* object;
    std::type_index type;
  };

  static PlainHeap& current() {
    if (current_ == nullptr) {
      throw Error(Status(Code::misuse, "make, destroy and allocate need a running update()"));
    }
    return *current_;
  }

  template <class F>
  auto run(F& body) {
    using R = std::invoke_result_t<F&>;
    const bool outermost = current_ == nullptr;
    const ScopedValue<PlainHeap*> entered(current_, this);  // for make and destroy
    try {
      if constexpr (std::is_void_v<R>) {
        body();
        return Status();
      } else if constexpr (std::is_same_v<R, Status>) {
        Status status = body();
        if (!outermost) {
          status.check();  // a failed nested body dooms the outer one
        }
        return status;
      } else {
        return Result<R>(body());
      }
    } catch (const Error& error) {
      if (!outermost) {
        throw;
      }
      return BodyResult<R>(error.status());
    }
  }

  static size_t rounded(size_t bytes) {
    const size_t unit = bytes < kAlignment ? 16 : kAlignment;
    return bytes == 0 ? 16 : round_up(bytes, unit);
  }
  static void* acquire(size_t bytes) { return ::operator new(bytes, std::align_val_t{kAlignment}); }
  static void release(void* block) { ::operator delete(block, std::align_val_t{kAlignment}); }

  void* take(size_t bytes) {
    if (bytes > kMost) {
      throw Error(Status(Code::out_of_space,
                         "plain heap: no room for " + std::to_string(bytes) + " bytes"));
    }
    const size_t size = rounded(bytes);
    void* block = nullptr;
    if (size > kLargestSmall) {
      block = acquire(size);
      large_.insert(block);
    } else {
      auto& free = free_[size / 16];
      if (free.empty()) {
        auto* slab = static_cast<std::byte*>(acquire(kSlabBytes));
        slabs_.push_back(slab);
        for (size_t end = kSlabBytes / size * size; end > 0; end -= size) {
          free.push_back(slab + end - size);
        }
      }
      block = free.back();
      free.pop_back();
    }
    live_blocks_ += 1;
    live_bytes_ += bytes;
    return block;
  }

  void give(void* block, size_t bytes) {
    const size_t size = rounded(bytes);
    live_blocks_ -= 1;
    live_bytes_ -= bytes;
    if (size > kLargestSmall) {
      if (large_.erase(block) != 1) {
        throw Error(Status(Code::misuse, "plain heap: no such block to deallocate"));
      }
      release(block);
      return;
    }
    // Overwritten, so that the next check finds a use after the block was freed.
    std::memset(block, 0xdd, size);
    free_[size / 16].push_back(block);
  }

  static inline PlainHeap* current_ = nullptr;  // NOLINT(readability-identifier-naming): a member

  std::array<std::vector<void*>, kLargestSmall / 16 + 1> free_;
  std::vector<void*> slabs_;
  std::unordered_set<void*> large_;
  std::map<std::string, Root, std::less<>> roots_;
  size_t live_blocks_ = 0;
  size_t live_bytes_ = 0;
};

}  // namespace holdfast
