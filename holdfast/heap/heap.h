// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/heap/allocator.h"
#include "holdfast/heap/engine_factory.h"
#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/heap_file.h"
#include "holdfast/heap/roots.h"

namespace holdfast {

/// A durable heap: objects made of Field<T> in one file, changed by transactions.
///
/// Contract. When update() returns ok, its changes are durable in the sense of the persistence
/// domain the heap was opened with, and of the engine's `durability`; after a crash at any
/// instruction the heap holds exactly the committed transactions. A Field may only be stored to
/// inside update().
///
/// Bodies. A body may run several times, and on another thread (flat combining): it must assign to
/// what it captures, never accumulate, and do nothing that cannot be repeated. An exception leaving
/// a body rolls the transaction back and propagates to the caller; holdfast::Error is returned as a
/// Status instead. Nesting is flat: an inner update or read is part of the outer one, and an
/// exception leaving it dooms the outer one. update inside read is an error. Destructors and
/// noexcept functions that touch a Field end the program if the transaction aborts there.
///
/// Thread safety: any thread may call update and read, up to max_threads at the same time; one more
/// gets too_many_threads. The rest is for one thread. After a failed write to the medium the heap
/// is poisoned: every call returns io_error until the heap is opened anew.
///
/// After fork() the child may not use the heap; it gets misuse.
template <class E>
class Heap {
 public:
  using Engine = E;
  using Machine = typename E::Machine;
  template <class T>
  using Field = holdfast::Field<T, E>;

  /// A new heap on the machine's medium, which must be empty.
  static Result<std::unique_ptr<Heap>> create(Machine& machine, const CreateOptions& options);

  /// Opens a heap and recovers it. Damage is reported before anything is changed.
  static Result<std::unique_ptr<Heap>> open(Machine& machine, const OpenOptions& options = {});

  /// On this computer: the same for a file. `NativeOptions` says how it is opened (domain,
  /// read_only, ...).
  template <class NativeOptions>
  static Result<std::unique_ptr<Heap>> create(const std::string& path, const CreateOptions& options,
                                              NativeOptions native);
  template <class NativeOptions>
  static Result<std::unique_ptr<Heap>> open(const std::string& path, const OpenOptions& options,
                                            NativeOptions native);

  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() { static_cast<void>(close()); }

  /// Brings the file up to date and ends the heap's use. Called by the destructor, which cannot
  /// report.
  Status close() {
    if (closed_) {
      return {};
    }
    closed_ = true;
    machine_.set_background(nullptr);
    if (machine_.failed()) {
      return machine_.failure();
    }
    try {
      return engine_->close();
    } catch (const MediumFailure& failure) {
      return failure.status();
    } catch (const Error& error) {
      return error.status();
    }
  }

  /// Runs body as one transaction. Returns Status for a body without result, else Result.
  template <class F>
  auto update(F&& body) {
    return transaction<Context::Mode::update>(body);
  }
  template <class F>
  auto read(F&& body) {
    return transaction<Context::Mode::read>(body);
  }

  /// A new object in the heap of the running update transaction. Throws Error(out_of_space) through
  /// update() when the heap cannot grow. T's members are Fields; T's alignment is at most 64.
  template <class T, class... A>
  static T* make(A&&... arguments) {
    static_assert(alignof(T) <= kLineBytes && (alignof(T) <= 16 || sizeof(T) >= kLineBytes));
    void* const block = allocate(sizeof(T));
    if constexpr (sizeof...(A) == 0) {
      return new (block) T;  // not T(): that would first zero the members, past the engine
    } else {
      return new (block) T(std::forward<A>(arguments)...);
    }
  }

  /// Ends an object made with make<T>; null is allowed. The block is free for reuse once the
  /// transaction has committed.
  template <class T>
  static void destroy(T* object) {
    if (object != nullptr) {
      object->~T();
      deallocate(object, sizeof(T));
    }
  }

  /// Raw blocks, 16-byte aligned; 64-byte aligned from 64 bytes up. Content is not initialised.
  static void* allocate(size_t bytes) {
    const Context& c = updating();
    return Allocator<E>(c.data).allocate(bytes, c.slot);
  }
  /// `bytes` as given to allocate.
  static void deallocate(void* block, size_t bytes) {
    const Context& c = updating();
    Allocator<E>(c.data).deallocate(block, bytes, c.slot);
  }

  /// The object of root `name`, made from `arguments` if there is none yet (in a transaction of its
  /// own).
  template <class T, class... A>
  Result<T*> root(std::string_view name, A&&... arguments) {
    auto found = find_root<T>(name);
    if (found || found.status().code() != Code::not_found) {
      return found;
    }
    T* object = nullptr;
    auto made = [&] {
      object = make<T>(arguments...);
      return reinterpret_cast<std::byte*>(object);
    };
    Status status = add_root(name, RootType::of<T>(), made);
    return status.ok() ? Result<T*>(object) : Result<T*>(std::move(status));
  }

  /// Builds the new form of a root of an older version, inside an update transaction.
  template <class T>
  using Migration = std::function<T*(void* old, uint64_t version, uint64_t bytes)>;

  /// not_found: there is no such root. type_mismatch: it holds another type, or another version of
  /// it and there is no migration.
  template <class T>
  Result<T*> find_root(std::string_view name) {
    auto found = find_root(name, RootType::of<T>());
    return found.ok() ? Result<T*>(reinterpret_cast<T*>(*found)) : Result<T*>(found.status());
  }
  template <class T>
  Result<T*> find_root(std::string_view name, const Migration<T>& migrate) {
    T* object = nullptr;
    auto moved = [&](const RootInfo& old) {
      object = migrate(old.object, old.version, old.bytes);
      return reinterpret_cast<std::byte*>(object);
    };
    const RootMigration migration(moved);
    auto found = find_root(name, RootType::of<T>(), migrate ? &migration : nullptr);
    return found.ok() ? Result<T*>(reinterpret_cast<T*>(*found)) : Result<T*>(found.status());
  }

  /// Removes a root; its object stays allocated. Inside update().
  void remove_root(std::string_view name) {
    static_cast<void>(updating());
    if (Root<E>* root = roots().find(name)) {
      roots().remove(root);
    }
  }

  std::vector<RootInfo> list_roots() {
    std::vector<RootInfo> list;
    read([&] { list = roots().list(); }).check();
    return list;
  }

  /// Walks the allocator, and compares it with the blocks `reachable` reports: what no structure
  /// owns is a leak. Call it while no transaction runs. Reads everything; changes nothing.
  Result<HeapCheck> check(const std::function<void(const BlockVisitor&)>& reachable = nullptr) {
    HeapCheck result;
    const Status status = read([&] {
      result = check_heap<E>(regions().data, regions().bytes, reachable, roots().list());
    });
    return status.ok() ? Result<HeapCheck>(std::move(result)) : Result<HeapCheck>(status);
  }

  /// Whether p lies in this heap's data.
  bool contains(const void* p) const {
    const auto* b = static_cast<const std::byte*>(p);
    return b >= regions().data && b < regions().data + regions().bytes;
  }

  Machine& machine() { return machine_; }
  E& engine() { return *engine_; }
  const Description& description() const { return *description_; }
  const Superblock& superblock() const { return file_.superblock(); }
  const RecoveryReport& recovery() const { return recovery_; }
  /// A damaged superblock copy was found and the other one used.
  bool healed() const { return file_.healed(); }

  Statistics statistics() const {
    Statistics s = engine_->statistics();
    s.persist = machine_.counters();
    return s;
  }

 private:
  template <class T>
  using Atomic = typename Machine::template Atomic<T>;

  explicit Heap(Machine& machine)
      : machine_(machine), file_(machine), growing_(make_array<Atomic<uint64_t>>(machine, 1)) {}

  const Regions& regions() const { return file_.regions(); }
  DataHeader<E>* header() const { return reinterpret_cast<DataHeader<E>*>(regions().data); }
  Roots<E> roots() const { return Roots<E>(header()); }

  static const Context& updating() {
    const auto* c = static_cast<const Context*>(Machine::context());
    if (c == nullptr || c->mode != Context::Mode::update) {
      throw Error(Status(Code::misuse,
                         "objects are made and destroyed inside heap.update([&]{ ... }) only"));
    }
    return *c;
  }

  Status start(const Description* description, const std::string& engine, const Options& options,
               int threads) {
    description_ = description;
    auto made = EngineFactory<E>::make(machine_, engine, regions(), options, threads);
    if (!made) {
      return made.status();
    }
    engine_ = std::move(*made);
    return {};
  }

  Status fill(const CreateOptions& options);
  bool adopt(std::byte* to, const std::byte* content, size_t n);
  Status map_and_recover(const Description* description, const Options& options);
  Status rehearse(const Description* description, const Options& options);
  Status recover(const Description* description, const Options& options);
  Status metadata(std::byte* data) const;
  Status announce_growth();
  /// What has to hold before a transaction may begin: cheap, and on the hot path.
  bool is_ready(Context::Mode mode) {
    const bool forked = [&] {
      if constexpr (requires { machine_.forked_child(); }) {
        return machine_.forked_child();
      } else {
        return false;
      }
    }();
    const bool writable = mode == Context::Mode::read || !read_only_;
    return !forked && !machine_.failed() && !closed_ && writable && machine_.self() >= 0;
  }
  Status why_not_ready(Context::Mode mode);
  Status grow(size_t bytes);

  // Of root() and find_root(), what does not depend on the type.
  using RootMigration = FunctionRef<std::byte*(const RootInfo& old)>;
  std::optional<RootInfo> describe(std::string_view name) const;
  Result<std::byte*> find_root(std::string_view name, const RootType& type,
                               const RootMigration* migrate = nullptr);
  Status add_root(std::string_view name, const RootType& type, FunctionRef<std::byte*()> make);

  template <Context::Mode kMode, class F>
  auto transaction(F& body) {
    using R = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<R>) {
      return execute<kMode>(FunctionRef<void()>(body));
    } else {
      std::optional<R> result;
      auto keep = [&] { result.emplace(body()); };
      Status status = execute<kMode>(FunctionRef<void()>(keep));
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): ok says that the body has run
      return status.ok() ? Result<R>(std::move(*result)) : Result<R>(std::move(status));
    }
  }

  template <Context::Mode kMode>
  Status execute(FunctionRef<void()> body) {
    if (auto* outer = static_cast<Context*>(Machine::context())) [[unlikely]] {
      return nested(*outer, kMode, body);
    }
    if (!is_ready(kMode)) [[unlikely]] {
      return why_not_ready(kMode);
    }
    for (;;) {
      try {
        if constexpr (kMode == Context::Mode::update) {
          engine_->update(body);
        } else {
          engine_->read(body);
        }
        return {};
      } catch (const GrowthNeeded& need) {
        if (Status status = grow(need.bytes); !status.ok()) {
          return status;
        }
      } catch (const MediumFailure& failure) {
        return failure.status();
      } catch (const Error& error) {
        return error.status();
      }
    }
  }

  Status nested(Context& outer, Context::Mode mode, FunctionRef<void()> body);

  std::unique_ptr<Machine> owned_;  // outlives the rest: declared first
  Machine& machine_;
  HeapFile<Machine> file_;
  const Description* description_ = nullptr;
  std::unique_ptr<E> engine_;
  Atomic<uint64_t>* growing_;  // 1 while one thread makes the heap larger
  RecoveryReport recovery_;
  bool closed_ = true;
  const bool read_only_ = machine_.medium().read_only();
};

}  // namespace holdfast

#include "holdfast/heap/heap-inl.h"
