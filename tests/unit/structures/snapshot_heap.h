// SPDX-License-Identifier: Apache-2.0
//
// Snapshot isolation at its worst, on one thread. Transactions that run "at the same time" all see
// the state before any of them. A transaction is refused only if it stores to, or promotes, a byte
// that an earlier one has stored to or promoted. No engine is as permissive: engines find conflicts
// by lines, and often by accident. So a structure that survives here does not depend on luck.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/base/status.h"

namespace holdfast::testing {

class SnapshotHeap {
 public:
  template <class T>
  class Field;

  /// Finds conflicts by pieces of this many bytes: 1, or 64 like hardware.
  explicit SnapshotHeap(uintptr_t granularity = 1)
      : before_(std::exchange(current_, this)), granularity_(granularity) {}
  SnapshotHeap(const SnapshotHeap&) = delete;
  SnapshotHeap& operator=(const SnapshotHeap&) = delete;
  ~SnapshotHeap() {
    for (const auto& [block, bytes] : live_) {
      release(block);
    }
    current_ = before_;
  }

  template <class F>
  auto update(F&& body) {
    using R = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<R>) {
      concurrently({[&] { body(); }});
      return Status();
    } else {
      std::optional<R> result;
      concurrently({[&] { result.emplace(body()); }});
      return BodyResult<R>(std::move(*result));
    }
  }
  template <class F>
  auto read(F&& body) {
    return update(std::forward<F>(body));
  }

  /// Runs the bodies as concurrent transactions and commits them in order. A transaction that
  /// conflicts with an earlier one runs again, alone, after the others. Returns the number of
  /// these.
  size_t concurrently(const std::vector<std::function<void()>>& bodies) {
    std::vector<Transaction> transactions(bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      execute(transactions[i], bodies[i]);
    }
    std::set<uintptr_t> written;
    std::vector<size_t> refused;
    for (size_t i = 0; i < bodies.size(); ++i) {
      if (conflicts(transactions[i], written)) {
        abandon(transactions[i]);
        refused.push_back(i);
      } else {
        commit(transactions[i], written);
      }
    }
    free_quarantine();
    for (const size_t i : refused) {
      Transaction again;
      execute(again, bodies[i]);
      std::set<uintptr_t> none;
      commit(again, none);
      free_quarantine();
    }
    return refused.size();
  }

  template <class T, class... A>
  static T* make(A&&... args) {
    return new (allocate(sizeof(T))) T(std::forward<A>(args)...);
  }
  template <class T>
  static void destroy(T* object) {
    deallocate(object, sizeof(T));
  }
  static void* allocate(size_t bytes) {
    void* block = ::operator new(bytes, std::align_val_t{64});
    std::memset(block, 0xcd, bytes);
    running().made.emplace_back(block, bytes);
    return block;
  }
  static void deallocate(void* block, size_t bytes) { running().freed.emplace_back(block, bytes); }

  template <class T, class... A>
  Result<T*> root(const std::string& name, A&&... args) {
    auto& at = roots_[name];
    if (at == nullptr) {
      update([&] { at = make<T>(std::forward<A>(args)...); }).check();
    }
    return static_cast<T*>(at);
  }
  template <class T>
  Result<T*> find_root(const std::string& name) {
    const auto at = roots_.find(name);
    return at == roots_.end() ? Result<T*>(Status(Code::not_found, "no root " + name))
                              : Result<T*>(static_cast<T*>(at->second));
  }

  size_t live_blocks() const { return live_.size(); }
  /// Faults that no correct structure has: blocks freed twice, and stores to blocks that a
  /// concurrent transaction freed.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  using Block = std::pair<void*, size_t>;
  struct Transaction {
    std::unordered_map<uintptr_t, unsigned char> stored;
    std::set<uintptr_t> held;  ///< the promoted bytes
    std::vector<Block> made;
    std::vector<Block> freed;
  };

  static Transaction& running() {
    if (current_ == nullptr || current_->running_ == nullptr) {
      throw Error(Status(Code::misuse, "no transaction is running"));
    }
    return *current_->running_;
  }
  static void release(void* block) { ::operator delete(block, std::align_val_t{64}); }

  void execute(Transaction& transaction, const std::function<void()>& body) {
    struct Restore {
      SnapshotHeap* heap;
      Transaction* before;
      ~Restore() { heap->running_ = before; }
    };
    const Restore restore{this, running_};
    running_ = running_ != nullptr ? running_ : &transaction;  // nesting is flat
    body();
  }

  bool conflicts(const Transaction& t, const std::set<uintptr_t>& written) const {
    for (const auto& [address, byte] : t.stored) {
      if (written.count(address / granularity_) != 0) {
        return true;
      }
    }
    for (const uintptr_t address : t.held) {
      if (written.count(address / granularity_) != 0) {
        return true;
      }
    }
    return false;
  }

  void commit(Transaction& t, std::set<uintptr_t>& written) {
    for (const auto& [address, byte] : t.stored) {
      *reinterpret_cast<unsigned char*>(address) = byte;
      written.insert(address / granularity_);
    }
    for (const uintptr_t address : t.held) {
      written.insert(address / granularity_);
    }
    for (const Block& block : t.made) {
      live_.insert(block);
    }
    for (const auto& [address, byte] : t.stored) {
      for (const Block& block : quarantine_) {
        const auto begin = reinterpret_cast<uintptr_t>(block.first);
        if (address >= begin && address < begin + block.second) {
          violations_.push_back("a store into a block that was freed at the same time");
        }
      }
    }
    for (const Block& block : t.freed) {
      if (live_.erase(block.first) != 1) {
        violations_.push_back("a block was freed twice");
      } else {
        quarantine_.push_back(block);
      }
    }
    t = Transaction();
  }

  static void abandon(Transaction& t) {
    for (const Block& block : t.made) {
      release(block.first);
    }
    t = Transaction();
  }

  /// Freed blocks stay mapped and are set to zero. So a structure that is broken on purpose fails
  /// its check and does not end the process; AddressSanitizer would stop it otherwise.
  void free_quarantine() {
    for (const Block& block : quarantine_) {
      std::memset(block.first, 0, block.second);
      graves_.emplace_back(static_cast<unsigned char*>(block.first), &release);
    }
    quarantine_.clear();
  }

  static inline SnapshotHeap* current_ = nullptr;  // NOLINT(readability-identifier-naming): member

  SnapshotHeap* before_;
  uintptr_t granularity_;
  Transaction* running_ = nullptr;
  std::map<void*, size_t> live_;
  std::vector<Block> quarantine_;
  std::vector<std::unique_ptr<unsigned char, void (*)(void*)>> graves_;
  std::map<std::string, void*> roots_;
  std::vector<std::string> violations_;
};

template <class T>
class SnapshotHeap::Field {
 public:
  using value_type = T;

  Field() {}  // NOLINT(modernize-use-equals-default): must not be zeroed
  Field(const T& value) { store(value); }  // NOLINT(google-explicit-constructor)
  Field& operator=(const T& value) {
    store(value);
    return *this;
  }
  T load() const {
    auto bytes = std::bit_cast<Bytes>(value_);
    if (current_ != nullptr && current_->running_ != nullptr) {
      const auto& stored = current_->running_->stored;
      const auto begin = reinterpret_cast<uintptr_t>(&value_);
      for (size_t i = 0; i < bytes.size() && !stored.empty(); ++i) {
        if (const auto at = stored.find(begin + i); at != stored.end()) {
          bytes[i] = at->second;
        }
      }
    }
    return std::bit_cast<T>(bytes);
  }
  void store(const T& value) {
    const auto bytes = std::bit_cast<Bytes>(value);
    auto& stored = running().stored;
    for (size_t i = 0; i < bytes.size(); ++i) {
      stored[reinterpret_cast<uintptr_t>(&value_) + i] = bytes[i];
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
  void promote() const {
    auto& held = running().held;
    for (size_t i = 0; i < kBytesOf<T>; ++i) {
      held.insert(reinterpret_cast<uintptr_t>(&value_) + i);
    }
  }

 private:
  using Bytes = std::array<unsigned char, kBytesOf<T>>;
  T value_;
};

}  // namespace holdfast::testing
