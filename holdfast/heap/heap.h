// SPDX-License-Identifier: Apache-2.0
//
// Heap: durable objects in one file, changed by transactions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/base/published.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/engine_call.h"
#include "holdfast/engines/parts/durability/lag/position_lag.h"
#include "holdfast/heap/allocator.h"
#include "holdfast/heap/compaction.h"
#include "holdfast/heap/engine_factory.h"
#include "holdfast/heap/file/heap_file.h"
#include "holdfast/heap/heap_check.h"
#include "holdfast/heap/roots.h"
#include "holdfast/heap/running.h"

namespace holdfast {

/// A durable heap: objects made of Field<T> in one file, changed by transactions.
///
/// Durability. When update() returns ok, its changes are durable, in the sense of the persistence
/// domain that the heap was opened with and of the engine's `durability`. After a crash the heap
/// holds exactly the committed transactions. Only code inside update() may store to a Field.
///
/// Lag. An engine that can lag (option `lag`) may answer an update before it is durable. So may
/// each engine over a journal. Then a crash may take the last updates, at most as many as the
/// option says, and always the last ones of the commit order. A durable commit, fence() and close()
/// end that.
///
/// Bodies. The engine may run a body several times, and on another thread (flat combining). So the
/// body assigns to the variables it captures, never accumulates, and does nothing that cannot be
/// repeated. An exception that leaves the body rolls the transaction back and propagates to the
/// caller; a holdfast::Error is returned as a Status instead. An allocation or store without room
/// ends the transaction even if the body swallows its exception. If the transaction aborts inside a
/// destructor or a noexcept function that touches a Field, the program ends. A thread may not be
/// cancelled (pthread_cancel) in a call of the heap, and a body may not end its thread
/// (pthread_exit): other threads may wait for it for ever.
///
/// Nesting is flat: an inner update or read is part of the outer transaction. An exception that
/// leaves the inner one dooms the outer one. update inside read is an error.
///
/// Partitions. A body may name the partitions that it uses (Partitions). It then uses only objects
/// that transactions naming the same partitions have made; each partition has an allocator of its
/// own. CreateOptions::partitions is their number. An engine that knows partitions (HasPartitions)
/// runs transactions of different ones beside each other; others isolate all transactions as ever.
///
/// Thread safety. Any thread may call update and read at any time before close(). A thread counts
/// from its first call until it ends. With more than max_threads threads, the further ones wait for
/// each other's transactions. Beside an engine's background thread, so does the last one of
/// max_threads; if max_threads is 1, further threads get too_many_threads then. Any thread may call
/// fence and compact. Only one at a time may call other functions that do not say otherwise. After
/// fork() the child gets misuse, and may destroy its copy of the heap.
///
/// Errors. After a failed write to the medium the heap is poisoned: every call returns io_error, or
/// out_of_space if the disk was full, until the heap is opened again.
template <class E>
class Heap {
 public:
  using Engine = E;
  using Machine = typename E::Machine;
  template <class T>
  using Field = holdfast::Field<T, E>;

  /// Creates a heap on the machine's medium, which must be empty.
  static Result<std::unique_ptr<Heap>> create(Machine& machine, const CreateOptions& options);

  /// Opens a heap and recovers it. Reports damage before it changes anything.
  static Result<std::unique_ptr<Heap>> open(Machine& machine, const OpenOptions& options = {});

  /// Create and open a heap in a file, on the native machine. create() takes an empty file, and one
  /// whose creation was interrupted. `native` says how (domain, read_only, ...). Opening with
  /// native.max_threads above the recorded number raises that one, unless the opening is read-only;
  /// a smaller one has no effect.
  template <class NativeOptions>
  static Result<std::unique_ptr<Heap>> create(const std::string& path, const CreateOptions& options,
                                              NativeOptions native);
  template <class NativeOptions>
  static Result<std::unique_ptr<Heap>> open(const std::string& path, const OpenOptions& options,
                                            NativeOptions native);

  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() { static_cast<void>(close()); }

  /// Brings the file up to date and ends the use of the heap, on any thread, even beyond
  /// max_threads. Later calls return misuse. Call it while no transaction runs: it waits for none,
  /// and a crash may take an update that ends after it has begun. The destructor calls it and
  /// ignores errors. misuse: in a transaction of this heap.
  Status close();

  /// Runs body as one transaction. Returns a Status if the body returns void or a Status, else a
  /// Result. A failed Status of the body rolls back, as an exception does. `commit` says whether it
  /// waits for its durability. The word of an inner update does not count.
  template <class F>
  auto update(F&& body, Commit commit = Commit::unsaid) {
    return transaction<Context::Mode::update>(Partitions::all(), body, commit);
  }
  /// As update(body), for a body that uses these partitions alone. misuse: the heap has no such
  /// partition; or a transaction runs on this thread, and has named others.
  template <class F>
  auto update(Partitions partitions, F&& body, Commit commit = Commit::unsaid) {
    return transaction<Context::Mode::update>(partitions, body, commit);
  }
  /// Runs body as one transaction that stores to no Field.
  template <class F>
  auto read(F&& body) {
    return transaction<Context::Mode::read>(Partitions::all(), body);
  }
  template <class F>
  auto read(Partitions partitions, F&& body) {
    return transaction<Context::Mode::read>(partitions, body);
  }
  /// The number of partitions that the heap was made with. They are numbered from 0.
  int partitions() const { return partitions_; }

  /// Returns when every update that had returned before is durable. Other transactions go on.
  /// misuse: inside a transaction.
  Status fence();
  /// The promise that the engine makes with the options in force.
  const Promise& promise() const { return promise_; }
  /// Returns the updates that have returned and are not durable, approximately while others run.
  PendingUpdates pending();
  /// Returns when every update is durable, and at one instant meanwhile no transaction runs.
  /// misuse: inside a transaction, or read-only. unsupported: the engine has no barrier.
  Status barrier();

  /// Makes an object in the heap of the running update transaction. If the heap cannot grow,
  /// update() returns out_of_space. T's members are Fields; T's alignment is at most 64.
  template <class T, class... A>
  static T* make(A&&... arguments) {
    static_assert(alignof(T) <= kLineBytes && (alignof(T) <= 16 || sizeof(T) >= kLineBytes));
    void* const block = allocate(sizeof(T));
    if constexpr (sizeof...(A) == 0) {
      return new (block) T;  // not T(): that would zero the members without the engine
    } else {
      return new (block) T(std::forward<A>(arguments)...);
    }
  }

  /// Destroys an object made with make<T>; null is allowed. The block is free for reuse once the
  /// transaction has committed.
  template <class T>
  static void destroy(T* object) {
    if (object != nullptr) {
      object->~T();
      deallocate(object, sizeof(T));
    }
  }

  /// Allocates a raw block, aligned to 16 bytes, or to 64 bytes from a size of 64 up. Its content
  /// is not initialised.
  static void* allocate(size_t bytes);
  /// Frees a block. `bytes` is the size that was passed to allocate.
  static void deallocate(void* block, size_t bytes);

  /// Frees a block and allocates one of `wanted` bytes: the same block, with fewer stores, if the
  /// sizes differ little.
  static void* exchange(void* block, size_t bytes, size_t wanted);

  /// Returns the object of root `name`. If there is no such root, makes the object from
  /// `arguments`, in a transaction of its own.
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

  /// Makes the new form of a root's object from the form of an older version. The heap calls it
  /// inside an update transaction. invalid_argument: what it returns is no object of the heap.
  template <class T>
  using Migration = std::function<T*(void* old, uint64_t version, uint64_t bytes)>;

  /// Returns the object of root `name`. not_found: there is no such root. type_mismatch: it holds
  /// another type, or another version of the type and there is no migration.
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

  /// Removes a root, inside update(). Its object stays allocated.
  void remove_root(std::string_view name) {
    static_cast<void>(updating());
    use_metadata<E>();
    if (Root<E>* root = roots().find(name)) {
      roots().remove(root);
    }
  }

  std::vector<RootInfo> list_roots();

  /// Validates the allocator's metadata and compares it with the blocks that `reachable` reports: a
  /// block that no structure owns is a leak. Then verify_pages(). Call it while no transaction
  /// runs. Reads the whole heap and changes nothing.
  Result<HeapCheck> check(const std::function<void(const BlockVisitor&)>& reachable = nullptr) {
    HeapCheck result;
    const Status status = read([&] {
      use_metadata<E>();
      result = check_heap<E>(regions().data, regions().bytes, reachable, roots().list());
    });
    result.add_pages(verify_pages());
    return status.ok() ? Result<HeapCheck>(std::move(result)) : Result<HeapCheck>(status);
  }

  /// Compares the pages of the file with their checksums, and returns how many. 0: the file has
  /// none (a heap without a journal). corrupt: a page differs. Updates may run meanwhile, but the
  /// heap does not grow.
  Result<uint64_t> verify_pages() { return holdfast::verify_pages(machine_, superblock()); }
  /// As verify_pages(), for the pages with the n bytes at p. Any thread, at any time.
  Status verify_data(const std::byte* p, size_t n) {
    return holdfast::verify_data(machine_, superblock(), regions(), p, n);
  }

  /// Returns how the bytes of the data region are used. Reads the header of every chunk.
  Result<HeapSpace> space() {
    HeapSpace found;
    const Status status =
        compacting([&](auto& compaction) { found = compaction.space(superblock().data_bytes()); });
    return status.ok() ? Result<HeapSpace>(found) : Result<HeapSpace>(status);
  }

  /// Gives space that no object uses back to the file system, and returns the number of bytes.
  /// Takes many small transactions; others may run meanwhile, but it waits for each that began
  /// before. Objects do not move, so a chunk with one object stays. It returns 0 on a machine or
  /// file system that takes nothing back, and with layout `cells`; the space serves later
  /// allocations of any size all the same. Threads take turns in order. misuse: in a transaction.
  Result<uint64_t> compact();

  /// Returns whether p points into this heap's data.
  bool contains(const void* p) const {
    const auto* b = static_cast<const std::byte*>(p);
    return b >= regions().data && b < regions().data + regions().bytes;
  }

  Machine& machine() { return machine_; }
  E& engine() { return *engine_; }
  const Description& description() const { return *description_; }
  /// As of the last growth that has ended. Any thread may read it; it stays until the heap ends.
  const Superblock& superblock() const { return published_.newest(); }
  const RecoveryReport& recovery() const { return recovery_; }
  /// Returns whether opening has found one copy of the superblock damaged and used the other.
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
      : machine_(machine), file_(machine), turns_(make_object<Turns>(machine)), running_(machine) {}

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

  class Alone;
  class Turn;
  template <class F>
  Status compacting(F&& use, Commit commit = Commit::durable);
  Status free_chunks(std::optional<Turn>& turn, Commit commit);
  void discard(std::byte* p, size_t n);

  Status start(const Description* description, const std::string& engine, const Options& options,
               int threads) {
    description_ = description;
    published_.publish(file_.superblock());
    start_lag(options);
    auto made = EngineFactory<E>::make(machine_, engine, regions(), options, threads);
    if (!made) {
      return made.status();
    }
    engine_ = std::move(*made);
    return {};
  }
  void start_lag(const Options& options);

  Status fill(const CreateOptions& options);
  bool adopt(std::byte* to, const std::byte* content, size_t n);
  Status check_area(const Description* description, const Options& options) const;
  Status map_and_recover(const Description* description, const Options& options);
  Result<bool> add_slots(const Description* description, const Options& options);
  Status rehearse(const Description* description, const Options& options);
  Status recover(const Description* description, const Options& options);
  void wipe_area();
  Status renew_area(const Description* description, const Options& options, const char* text);
  Status metadata(std::byte* copy) const;
  void count_partitions();
  Status announce_growth();
  /// Returns whether a transaction may begin on a thread with a slot. It is on the hot path;
  /// why_not_ready finds the reason.
  bool is_open(Context::Mode mode) const {
    bool forked = false;
    if constexpr (requires { machine_.forked_child(); }) {
      forked = machine_.forked_child();
    }
    const bool writable = mode == Context::Mode::read || !read_only_;
    return !forked && !machine_.failed() && !closed_ && writable;
  }
  Status why_not_ready(Context::Mode mode);
  static constexpr bool kBorrows = requires(E& e, const Loan& loan) { e.lend(loan); };
  struct Turns {
    Atomic<uint64_t> growing{};    // 1 while a thread makes the heap larger
    Atomic<uint64_t> numbers{};    // how many threads have come to free chunks without blocks
    Atomic<uint64_t> served{};     // how many of them are done, which is the number of the next one
    Atomic<uint64_t> compacted{};  // 1 once compact() has been called
  };
  class Lending;
  /// The room that the last run of a body lacked.
  struct Lack {
    size_t data = 0;     ///< bytes that the data region must have; 0: it is large enough
    uint64_t log = 0;    ///< bytes that the engine borrows; 0: none
    bool freed = false;  ///< free_chunks() is not to be called for the body (again)
  };
  bool make_room(Lack& lack, std::optional<Turn>& turn, Partitions partitions,
                 FunctionRef<void()> body, Commit commit);
  Status grow(size_t bytes);
  size_t with_reserve(size_t bytes);
  Status grow_alone(size_t bytes, size_t wanted);
  void announce_room();
  Status update_with_loan(Partitions partitions, FunctionRef<void()> body, uint64_t bytes);

  // The parts of root() and find_root() that do not depend on the type.
  using RootMigration = FunctionRef<std::byte*(const RootInfo& old)>;
  std::optional<RootInfo> describe(std::string_view name) const;
  Result<std::byte*> find_root(std::string_view name, const RootType& type,
                               const RootMigration* migrate = nullptr);
  Status add_root(std::string_view name, const RootType& type, FunctionRef<std::byte*()> make);

  template <Context::Mode kMode, class F>
  auto transaction(Partitions partitions, F& body, Commit commit = Commit::unsaid) {
    using R = std::invoke_result_t<F&>;
    if constexpr (std::is_void_v<R>) {
      return execute<kMode>(partitions, FunctionRef<void()>(body), commit);
    } else if constexpr (std::is_same_v<R, Status>) {
      auto checked = [&] { body().check(); };
      return execute<kMode>(partitions, FunctionRef<void()>(checked), commit);
    } else {
      std::optional<R> result;
      auto keep = [&] { result.emplace(body()); };
      Status status = execute<kMode>(partitions, FunctionRef<void()>(keep), commit);
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): ok says that the body has run
      return status.ok() ? Result<R>(std::move(*result)) : Result<R>(std::move(status));
    }
  }

  template <Context::Mode kMode>
  Status execute(Partitions partitions, FunctionRef<void()> body, Commit commit) {
    if (auto* outer = static_cast<Context*>(Machine::context())) [[unlikely]] {
      return nested(*outer, kMode, partitions, body);
    }
    if (!partitions.is_all()) [[unlikely]] {
      return execute_named<kMode>(partitions, body, commit);
    }
    return execute_outermost<kMode>(partitions, body, commit);
  }

  template <Context::Mode kMode>
  Status execute_named(Partitions partitions, FunctionRef<void()> body, Commit commit);

  template <Context::Mode kMode>
  [[gnu::always_inline]] Status execute_outermost(Partitions partitions, FunctionRef<void()> body,
                                                  Commit commit) {
    if (!is_open(kMode) || machine_.self() < 0) [[unlikely]] {
      return execute_as_guest<kMode>(partitions, body, commit);
    }
    return run<kMode>(partitions, body, commit);
  }

  /// Executes the body on a thread without a slot, if the machine has one for guests.
  template <Context::Mode kMode>
  [[gnu::noinline]] Status execute_as_guest(Partitions partitions, FunctionRef<void()> body,
                                            Commit commit) {
    if constexpr (requires { typename Machine::GuestSlot; }) {
      if (is_open(kMode)) {
        const typename Machine::GuestSlot guest(machine_);
        if (guest.taken()) {
          return run<kMode>(partitions, body, commit);
        }
      }
    }
    return why_not_ready(kMode);
  }

  template <Context::Mode kMode>
  [[gnu::always_inline]] Status run(Partitions partitions, FunctionRef<void()> body, Commit commit,
                                    Lack lack = {}) {
    const StoreScope<Machine, kMode == Context::Mode::update> storing(machine_);
    std::optional<Turn> turn;
    for (;;) {
      try {
        const bool lacks = lack.data + lack.log != 0;
        if (lacks && !make_room(lack, turn, partitions, body, commit)) [[unlikely]] {
          return {};
        }
        const typename RunningTransactions<E>::Stay stay(running_);
        if constexpr (kMode == Context::Mode::update) {
          if (lag_) [[unlikely]] {
            lag_->begin(commit);
          }
          call_update(*engine_, partitions, body, commit);
          if (lag_) [[unlikely]] {
            lag_->answer(commit);
          }
        } else {
          call_read(*engine_, partitions, body);
        }
        return {};
      } catch (const GrowthNeeded& need) {
        lack.data = need.bytes;
      } catch (const LoanNeeded& need) {
        lack.log = need.bytes;
      } catch (const MediumFailure& failure) {
        return failure.status();
      } catch (const Error& error) {
        return named(error.status());
      }
    }
  }

  /// Returns the status with the file's name in front, if it reports damage.
  Status named(const Status& status) const;

  Status exist(Partitions partitions) const;
  Status nested(Context& outer, Context::Mode mode, Partitions partitions,
                FunctionRef<void()> body);

  template <class F>
  Status outside(const char* name, F&& f);
  template <class F>
  Status with_slot(F&& f);

  std::unique_ptr<Machine> owned_;  // declared first, so that it outlives the other members
  Machine& machine_;
  HeapFile<Machine> file_;
  Published<Superblock> published_;  // a heap grows in proportion, so there are few copies
  const Description* description_ = nullptr;
  std::unique_ptr<E> engine_;
  std::unique_ptr<PositionLag<Machine>> lag_;  // null: the engine waits, or lags by itself
  Turns* turns_;
  RunningTransactions<E> running_;
  RecoveryReport recovery_;
  bool closed_ = true;
  int partitions_ = 0;
  Promise promise_;
  const bool read_only_ = machine_.medium().read_only();
};

}  // namespace holdfast

#include "holdfast/heap/heap-inl.h"
#include "holdfast/heap/heap_blocks-inl.h"
#include "holdfast/heap/heap_growth-inl.h"
#include "holdfast/heap/heap_in_file-inl.h"
#include "holdfast/heap/heap_lag-inl.h"
#include "holdfast/heap/heap_partitions-inl.h"
