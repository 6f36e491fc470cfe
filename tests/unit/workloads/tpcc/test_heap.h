// SPDX-License-Identifier: Apache-2.0
//
// A heap for tests of the TPC-C workload: ordinary memory with roll-back. Every body runs twice,
// and the first run is rolled back. So a body that depends on running once fails at once.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/engines/partitions.h"
#include "holdfast/heap/field.h"
#include "holdfast/workloads/tpcc/tpcc.h"

namespace holdfast::tpcc_test {

/// The interface of an engine that Field<T> needs, plus the undo log of the running transaction.
class UndoEngine {
 public:
  template <class T>
  static T load(const T* p) {
    return *p;
  }
  template <class T>
  static void store(T* p, T value) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer, which is then the value
    store_range(static_cast<void*>(p), static_cast<const void*>(&value), sizeof(T));
  }
  static void load_range(void* to, const void* p, size_t n) { std::memcpy(to, p, n); }
  static void store_range(void* p, const void* from, size_t n) {
    if (!updating) {
      throw Error(Status(Code::misuse, "a store outside update()"));
    }
    const auto* old = static_cast<const std::byte*>(p);
    records.push_back({static_cast<std::byte*>(p), bytes.size(), n});
    bytes.insert(bytes.end(), old, old + n);
    std::memcpy(p, from, n);
  }
  static void promote(const void* /*p*/, size_t /*n*/) {}

  static void begin() { updating = true; }
  static void commit() {
    for (const auto& block : freed) {
      release(block.p);
    }
    end();
  }
  static void roll_back() {
    for (; !records.empty(); records.pop_back()) {
      std::memcpy(records.back().p, bytes.data() + records.back().old, records.back().n);
    }
    for (void* p : allocated) {
      release(p);
    }
    end();
  }

  static void* allocate(size_t n) {
    void* p = ::operator new(n, std::align_val_t{64});
    std::memset(p, 0xcd, n);  // makes a column visible that is never assigned
    allocated.push_back(p);
    live[p] = n;
    return p;
  }
  static void deallocate(void* p, size_t n) {
    const auto at = live.find(p);
    if (at == live.end() || at->second != n) {
      throw Error(Status(Code::misuse, "a block freed that is not allocated, or of another size"));
    }
    freed.push_back({static_cast<std::byte*>(p), 0, n});
  }

  static inline std::map<void*, size_t> live;

 private:
  struct Record {
    std::byte* p;
    size_t old;  // place of its old bytes in `bytes`
    size_t n;
  };
  static void release(void* p) {
    live.erase(p);
    ::operator delete(p, std::align_val_t{64});
  }
  static void end() {
    records.clear();
    bytes.clear();
    allocated.clear();
    freed.clear();
    updating = false;
  }

  static inline bool updating = false;
  static inline std::vector<Record> records;
  static inline std::vector<std::byte> bytes;
  static inline std::vector<void*> allocated;
  static inline std::vector<Record> freed;
};

/// Runs one transaction at a time, on one thread.
class UndoHeap {
 public:
  template <class T>
  using Field = holdfast::Field<T, UndoEngine>;

  UndoHeap() = default;
  UndoHeap(const UndoHeap&) = delete;
  UndoHeap& operator=(const UndoHeap&) = delete;
  ~UndoHeap() {
    for (const auto& [p, n] : UndoEngine::live) {
      ::operator delete(p, std::align_val_t{64});
    }
    UndoEngine::live.clear();
  }

  /// A transaction that names partitions runs as any other.
  template <class F>
  auto update(const Partitions& /*partitions*/, F&& body) {
    return update(std::forward<F>(body));
  }
  template <class F>
  auto read(const Partitions& /*partitions*/, F&& body) {
    return read(std::forward<F>(body));
  }
  template <class F>
  auto update(F&& body) {
    return run(body, [&](auto& attempt) {
      try_once(attempt, false);
      try_once(attempt, true);
    });
  }
  template <class F>
  auto read(F&& body) {
    return run(body, [&](auto& attempt) {
      attempt();
      attempt();
    });
  }

  template <class T, class... A>
  static T* make(A&&... arguments) {
    return new (allocate(sizeof(T))) T(std::forward<A>(arguments)...);
  }
  template <class T>
  static void destroy(T* object) {
    object->~T();
    deallocate(object, sizeof(T));
  }
  static void* allocate(size_t n) { return UndoEngine::allocate(n); }
  static void deallocate(void* p, size_t n) { UndoEngine::deallocate(p, n); }

  template <class T>
  Result<T*> root(std::string_view name) {
    if (roots_.count(std::string(name)) == 0) {
      auto made = update([] { return make<T>(); });
      if (!made) {
        return made.status();
      }
      roots_[std::string(name)] = *made;
    }
    return find_root<T>(name);
  }
  template <class T>
  Result<T*> find_root(std::string_view name) {
    const auto at = roots_.find(std::string(name));
    if (at == roots_.end()) {
      return Status(Code::not_found, "no such root");
    }
    return static_cast<T*>(at->second);
  }

  /// The content of the heap, byte for byte.
  static std::map<void*, std::string> image() {
    std::map<void*, std::string> image;
    for (const auto& [p, n] : UndoEngine::live) {
      image.emplace(p, std::string(static_cast<const char*>(p), n));
    }
    return image;
  }
  static size_t live_blocks() { return UndoEngine::live.size(); }

 private:
  template <class F>
  void try_once(F& attempt, bool keep) {
    UndoEngine::begin();
    try {
      attempt();
    } catch (...) {
      UndoEngine::roll_back();
      if (!keep) {
        return;  // the second attempt throws again
      }
      throw;
    }
    keep ? UndoEngine::commit() : UndoEngine::roll_back();
  }

  /// Returns the same types as Heap's update and read.
  template <class F, class Execute>
  auto run(F& body, Execute&& execute) {
    using R = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<R>) {
      try {
        execute(body);
      } catch (const Error& error) {
        return error.status();
      }
      return Status();
    } else {
      std::optional<R> result;
      auto keep = [&] { result.emplace(body()); };
      try {
        execute(keep);
      } catch (const Error& error) {
        return BodyResult<R>(error.status());
      }
      if (!result) {
        return BodyResult<R>(Status(Code::misuse, "the body did not run"));
      }
      return BodyResult<R>(std::move(*result));
    }
  }

  std::map<std::string, void*> roots_;
};

/// A database in a heap of its own. With `small`, a population of a few hundred rows.
class Fixture {
 public:
  using Workload = Tpcc<UndoHeap>;

  static std::map<std::string, std::string> small() {
    return {{"items", "60"}, {"customers", "30"}, {"orders", "20"}, {"districts", "3"}};
  }

  explicit Fixture(const std::map<std::string, std::string>& parameters, int workers = 1)
      : tpcc(heap, Parameters::make(Workload::static_info(), parameters).value()) {
    tpcc.set_up(workers, kSeed).check();
  }

  /// Runs a transaction that a test makes up.
  template <class F>
  void change(F&& body) {
    heap.update(body).check();
  }
  const tpcc::Catalog<UndoHeap>& catalog() const { return tpcc.catalog(); }

  static constexpr uint64_t kSeed = 20'261'120;
  UndoHeap heap;
  Workload tpcc;
};

}  // namespace holdfast::tpcc_test
