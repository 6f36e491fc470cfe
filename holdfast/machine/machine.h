// SPDX-License-Identifier: Apache-2.0
//
// The Machine concept: the whole world an engine may touch. Engines, heap, structures and workloads
// are templates over a machine and use no std::atomic, std::thread, thread_local, clock, fence or
// intrinsic of their own. Two machines exist: NativeMachine (this computer) and SimMachine
// (deterministic, with its own caches, hardware transactional memory and persistent memory).
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/phase.h"

namespace holdfast {

/// The most threads one heap can serve; limits state arrays, bit masks and log tables.
inline constexpr int kMaxThreads = 256;

/// The unit the code is laid out for. A machine may have longer lines (line_bytes()).
inline constexpr size_t kLineBytes = 64;
inline constexpr size_t kPageBytes = 4096;

/// What survives what. Chosen when a heap is opened.
enum class Domain : uint8_t {
  process,  ///< a killed process, not a power cut: no flushes at all
  file,     ///< a power cut, on any disk: fdatasync at every pfence and psync
  pmem,     ///< a power cut, on persistent memory: cache-line write-back and fence
  eadr,     ///< a power cut, with caches inside the persistence domain: fences only
};
const char* to_string(Domain domain);
Result<Domain> parse_domain(const std::string& name);

/// The place in an engine a persistence operation, or a check (Machine::skips), stands at: a label
/// like "fur.log", a literal. It costs nothing natively; the simulated machine can drop, delay or
/// swap the operation at a site.
struct Site {
  const char* name = "";
};

/// What a hardware transaction tracks (FUR 2.1): everything, or stores only (rollback-only).
enum class Tracking : uint8_t { all, stores };

enum class AbortCause : uint8_t { none, conflict, capacity, explicit_abort, interrupt, other };
inline constexpr int kAbortCauses = 6;
const char* to_string(AbortCause cause);

/// Thrown out of a body by the load or store that finds its transaction doomed. Only the engine's
/// attempt catches it; nested updates and reads let it pass.
/// Deliberately not a std::exception: `catch (const std::exception&)` in a body lets it pass.
struct TransactionAbort {};

/// That of a hardware transaction, where the hardware does not roll back registers itself. The
/// engine's attempt then calls caught().
struct HtmAbort : TransactionAbort {};

/// Thrown out of psync, pfence and waits once the medium has failed. Nothing may be stored after
/// it: what is on the medium is unknown. Every later operation on the machine throws it again.
class MediumFailure {
 public:
  explicit MediumFailure(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

struct HtmCapabilities {
  const char* backend = "none";
  bool untracked_loads = false;  ///< rollback-only transactions
  bool suspend = false;          ///< full suspend and resume
  size_t store_lines = 0;        ///< capacity, in lines
  size_t load_lines = 0;
  bool suspend_loads = false;  ///< track(): loads alone can be left untracked for a while
};

/// Counted per thread, summed on demand.
struct PersistCounters {
  uint64_t pwb = 0;
  uint64_t pfence = 0;
  uint64_t psync = 0;
  uint64_t fence = 0;
  /// Bytes stored to mapped persistent memory. Counted by the simulated machine; natively 0.
  uint64_t bytes = 0;
  uint64_t nontemporal = 0;  ///< lines, call by call, given to store_nontemporal

  PersistCounters& operator+=(const PersistCounters& o) {
    pwb += o.pwb, pfence += o.pfence, psync += o.psync, fence += o.fence, bytes += o.bytes;
    nontemporal += o.nontemporal;
    return *this;
  }
  PersistCounters operator-(const PersistCounters& o) const {
    return {pwb - o.pwb,     pfence - o.pfence, psync - o.psync,
            fence - o.fence, bytes - o.bytes,   nontemporal - o.nontemporal};
  }
};

enum class MapMode : uint8_t {
  shared,         ///< stores reach the medium (the operating system may write them back any time)
  copy_on_write,  ///< stores stay private to this process
};

/// A word the machine can access in one piece.
template <class T>
concept Word = std::is_trivially_copyable_v<T> &&
               (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// See docs/inside/architecture.md ("The seam"). In prose, what the expressions below mean:
///
/// Static, because Field<T> must find them without a machine at hand:
///   load, store       relaxed, for private, log, or already protected memory
///   load_acquire      not reordered with later loads: for data read between two looks at its
///   version store_release     for markers: not reordered by the compiler with earlier stores copy
///   word by word, relaxed atomics (dst and src must not overlap) context           one pointer per
///   machine thread: the running transaction, or null phase(p)          the thread is in phase p
///   from now on; returns the former one (natively p).
///                     Costs nothing natively; on the simulated machine it takes no simulated time,
///                     is no scheduling point, and may be called in any place, handlers of HtmAbort
///                     included. An attempt that aborts is in phase `aborted` from caught() to the
///                     next call. See PhaseScope.
///   transaction(k)    an update or a read begins, in phase execute; `none`: it is over. See
///                     TransactionScope.
///   kDirectLoads      whether load is one instruction of this processor, so that a few loads too
///                     many cost less than a branch mispredicted
/// Threads:
///   self()            slot of the calling thread, 0 <= self() < slots(); -1 when all are taken.
///                     Taken on first use, given back at thread exit.
///   active_slots()    all slots ever taken are below this; scans of state arrays stop there.
///                     Sequentially consistent, so that a scan behind a fence misses nobody
///   run_threads(n,f)  runs f(0) ... f(n-1) on n threads and waits for them
///   set_background(f) one helper thread that calls f over and over (f returns false when it found
///                     nothing to do) until replaced; set_background(nullptr) stops and joins it.
///                     It has a slot of its own. On the simulated machine it runs while
///                     run_threads does.
///   wait_while(a,old) returns a value of `a` that differed from `old`; or `old` itself, at any
///   time,
///                     when the caller's hardware transaction is doomed (so: always loop)
///   pause()           a hint inside back-off loops
///   work(c), now()    c cycles of private computation; a monotonic clock synchronised over threads
///   entropy()         a number to name things by; on the simulated machine a function of its seed
/// Memory:
///   allocate(n, a)    volatile, zeroed, shared; lives as long as the machine
///   Atomic<T>         shared volatile words (placed in memory from allocate): load, store,
///   exchange,
///                     compare_exchange(T& expected, T desired), fetch_add; with memory orders
/// Persistence (Romulus 4.1):
///   pwb(p)            begins to write back the line of p; pwb_range the lines of [p, p + n)
///   pfence, psync     order / complete the write-backs before; throw MediumFailure
///   store_nontemporal(to, from, n)
///                     copies n bytes to mapped persistent memory, around the caches where that
///                     pays: no line is read first, and none stays cached. `to`, `from` and n are
///                     multiples of 8 (else Error(misuse)); [to, to + n) lies in one mapping. Like
///                     stores with their pwb, the copy is durable when the thread's next pfence or
///                     psync is over (or read-modify-write, where these order write-backs). Until
///                     then any of its 8-byte words may be lost and any other survive, also within
///                     one line. Weakly ordered: until pfence, psync, fence or a read-modify-write
///                     of its own (that one on x86 only), other threads may see later stores of the
///                     thread before it, store_release included; its own loads see it at once. Not
///                     while a hardware transaction is open, unless it is suspended.
///   fence             full store-load fence
///   light_fence, heavy_fence
///                     an asymmetric pair: where two threads would each need a full fence between a
///                     store and a load (Dekker), one of them, the frequent one, may use
///                     light_fence if the other uses heavy_fence. Light is free or a full fence,
///                     heavy costs microseconds.
///   rmw_orders_pwb()  whether an atomic read-modify-write orders write-backs like pfence (x86)
///   skips(site)       whether to leave out the wait, check or order labelled `site`, to see
///   whether
///                     the tests notice. Natively a constant false; on the simulated machine true
///                     when a mutation drops the site. No operation otherwise: no scheduling point,
///                     no simulated time.
/// Hardware transactional memory, per thread; htm(slot):
///   begin(tracking)   returns none; or, where hardware rolls registers back, arrives again with a
///                     cause. No nesting.
///   suspend, resume   accesses in between are untracked; resume throws HtmAbort when doomed
///   track(tracking)   from here on loads are tracked, or (stores) not, where suspend_loads; throws
///                     HtmAbort when doomed
///   commit            throws HtmAbort when doomed; otherwise all stores became visible at once
///   abort()           throws HtmAbort with cause explicit_abort
///   caught()          ends an aborted transaction: drops its stores and returns the cause. Between
///                     the throw and caught() stores are dropped and loads are raw.
///   cancel()          rolls back without throwing (a user's exception passes), or arrives at begin
///   open(), doomed()
///   load, store, load_range, store_range            inside the open transaction. Suspended loads
///                     return the transaction's own stores.
///   outside_load, outside_store, and ranges         from outside: a load of a line in a running
///                     write set dooms its owner, or waits for one that is publishing; a store also
///                     dooms those that have loaded it. Within one call a range is consistent per
///                     word only.
/// Medium:
///   bytes(), grow(n)              size; grow reserves real blocks, so that no store can fail later
///   map(offset, n, address, mode) address is exact, or null for any; unmap(p, n)
///   reserve(n, address)           address space only, exact, or null for any; map() may then place
///                                 pieces into it. Code::busy when an exact address is taken.
///   base_candidate(k)             addresses worth trying for a new heap's data, k = 0, 1, ...;
///                                 null after the last
///   read_only()                   then `shared` maps are private, and nothing reaches the medium:
///                                 a heap opened read-only recovers in memory and leaves the file
///                                 alone
///   name()                        what messages call it: the file's path
///   domain(), description()       a line for people, such as "file (fdatasync)"
template <class M>
concept Machine = requires(M& m, uint64_t* p, const uint64_t* cp, void* v, const void* cv, size_t n,
                           typename M::template Atomic<uint64_t>& a, typename M::HtmThread& h,
                           typename M::Medium& medium) {
  { M::load(cp) } -> std::same_as<uint64_t>;
  { M::load_acquire(cp) } -> std::same_as<uint64_t>;
  M::store(p, uint64_t{});
  M::store_release(p, uint64_t{});
  M::copy(v, cv, n);
  { M::context() } -> std::same_as<void*>;
  M::set_context(v);
  { M::phase(Phase::execute) } -> std::same_as<Phase>;
  M::transaction(TransactionKind::update);
  { M::kDirectLoads } -> std::convertible_to<bool>;

  { m.self() } -> std::same_as<int>;
  { m.slots() } -> std::same_as<int>;
  { m.active_slots() } -> std::same_as<int>;
  m.run_threads(int{}, FunctionRef<void(int)>(std::declval<void (*)(int)>()));
  m.set_background(std::function<bool()>());
  { m.wait_while(a, uint64_t{}) } -> std::same_as<uint64_t>;
  m.pause();
  m.work(uint64_t{});
  { m.now() } -> std::same_as<uint64_t>;
  { m.entropy() } -> std::same_as<uint64_t>;
  { m.allocate(n, n) } -> std::same_as<void*>;
  { m.line_bytes() } -> std::same_as<size_t>;

  m.pwb(cv, Site{});
  m.pwb_range(cv, n, Site{});
  m.store_nontemporal(v, cv, n, Site{});
  m.pfence(Site{});
  m.psync(Site{});
  m.fence(Site{});
  m.light_fence();
  m.heavy_fence(Site{});
  { m.rmw_orders_pwb() } -> std::same_as<bool>;
  { m.skips(Site{}) } -> std::same_as<bool>;
  { m.counters() } -> std::same_as<PersistCounters>;
  { m.failed() } -> std::same_as<bool>;
  { m.failure() } -> std::same_as<Status>;

  { m.htm(int{}) } -> std::same_as<typename M::HtmThread&>;
  { m.htm_capabilities() } -> std::same_as<HtmCapabilities>;
  { h.begin(Tracking::all) } -> std::same_as<AbortCause>;
  h.suspend();
  h.resume();
  h.track(Tracking::all);
  h.commit();
  h.abort();
  { h.caught() } -> std::same_as<AbortCause>;
  h.cancel();
  { h.open() } -> std::same_as<bool>;
  { h.doomed() } -> std::same_as<bool>;
  { h.load(cp) } -> std::same_as<uint64_t>;
  h.store(p, uint64_t{});
  h.load_range(v, cv, n);
  h.store_range(v, cv, n);
  { h.outside_load(cp) } -> std::same_as<uint64_t>;
  h.outside_store(p, uint64_t{});
  h.outside_load_range(v, cv, n);
  h.outside_store_range(v, cv, n);

  { m.medium() } -> std::same_as<typename M::Medium&>;
  { medium.bytes() } -> std::same_as<size_t>;
  { medium.grow(n) } -> std::same_as<Status>;
  { medium.reserve(n, static_cast<std::byte*>(v)) } -> std::same_as<Result<std::byte*>>;
  { medium.base_candidate(int{}) } -> std::same_as<std::byte*>;
  { medium.read_only() } -> std::same_as<bool>;
  {
    medium.map(n, n, static_cast<std::byte*>(v), MapMode::shared)
  } -> std::same_as<Result<std::byte*>>;
  medium.unmap(static_cast<std::byte*>(v), n);
  { medium.domain() } -> std::same_as<Domain>;
  { medium.description() } -> std::same_as<std::string>;
  { medium.name() } -> std::convertible_to<std::string>;
};

/// Only machines with a hardware design for durability: transactions whose stores to persistent
/// memory survive a power failure together or not at all, without a log of the program's.
///   tx_start()        stores of the calling thread belong to the transaction from here
///   tx_commit()       takes its place among the thread's stores: what is stored later becomes
///                     visible after the transaction is durable
///   tx_abort()        puts back what the transaction overwrote, in memory as well
///   design()          its name; empty: none, and the three throw Error(unsupported)
/// Isolation is the program's affair. Native machines have none of this.
template <class M>
concept HardwareTransactions = requires(M& m, const M& cm) {
  m.tx_start();
  m.tx_commit();
  m.tx_abort();
  { cm.design() } -> std::convertible_to<std::string>;
};

/// Throws Error(misuse) unless store_nontemporal can copy so.
void check_nontemporal(const void* to, const void* from, size_t n);

/// An array of n objects of T in the machine's volatile shared memory, value-initialised.
template <class T, class M>
T* make_array(M& machine, size_t n) {
  static_assert(std::is_trivially_destructible_v<T>);
  auto* memory = static_cast<std::byte*>(machine.allocate(n * sizeof(T), alignof(T)));
  for (size_t i = 0; i < n; ++i) {
    new (memory + i * sizeof(T)) T();
  }
  return reinterpret_cast<T*>(memory);
}

}  // namespace holdfast
