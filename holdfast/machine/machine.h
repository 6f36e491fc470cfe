// SPDX-License-Identifier: Apache-2.0
//
// The Machine concept: every operation of the world below that an engine may use. Engines, heap,
// structures and workloads are templates over a machine. They use no std::atomic, std::thread,
// thread_local, clock, fence or intrinsic of their own, so that one text runs on both machines:
//
//   NativeMachine   this computer; operations compile to plain instructions
//   SimMachine      a deterministic simulated computer with its own caches, hardware transactions
//                   and persistent memory
//
// Machine is the conjunction of five parts: MemoryOps, Threads, Persistence, HtmThread, Medium.
// Each part begins with the rules for all its operations: thread safety, errors, cost. The comment
// above an expression is the contract of that operation. uint64_t stands for any Word.
//
// Cost on the simulated machine. Some operations are *scheduling points*: before them the machine
// may let other threads run, and on a timed machine they take virtual time. These are accesses to
// shared memory, fences, write-backs, waits, the steps of hardware transactions, and pause, work
// and now. All other operations do neither.
//
// docs/glossary.md defines the terms.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/phase.h"
#include "holdfast/machine/types.h"

namespace holdfast {
namespace machine_parts {

/// Loads and stores of words, and volatile shared memory.
///
/// The loads, stores and copy are static, because a Field<T> calls them without a machine at hand.
///
/// Thread safety: any thread. Each access is atomic, so concurrent accesses are no data race. They
/// order nothing else unless the comment says so.
///
/// Inside an open hardware transaction, data that other threads share are accessed through
/// HtmThread. An access from here belongs to the transaction on hardware and on the simulated
/// machine, but not on `soft`; on the simulated machine it may throw HtmAbort.
///
/// Cost: natively one plain instruction for each aligned word. On the simulated machine one memory
/// operation, or a plain host access outside the machine's memory (a thread's stack, for example).
template <class M>
concept MemoryOps = requires(M& m, uint64_t* p, const uint64_t* cp, uint64_t value, void* to,
                             const void* from, size_t n, size_t alignment,
                             typename M::template Atomic<uint64_t>& a,
                             const typename M::template Atomic<uint64_t>& ca, uint64_t& expected,
                             std::memory_order order, Probe probe) {
  /// Loads *cp, relaxed. For private memory, logs, and memory that a lock or a protocol protects.
  { M::load(cp) } -> std::same_as<uint64_t>;

  /// Loads *cp before any later access of the thread. For data that a reader loads between two
  /// looks at their version.
  { M::load_acquire(cp) } -> std::same_as<uint64_t>;

  /// Stores to *p, relaxed. The store may become visible after later stores of the thread, as far
  /// as compiler and processor reorder.
  M::store(p, value);

  /// Stores to *p after all earlier loads and stores of the thread. For markers: stores to one line
  /// persist in the order in which they become visible. So earlier stores to the marker's line are
  /// on the medium before the marker is.
  M::store_release(p, value);

  /// Copies n bytes, word by word, with relaxed loads and stores. Any alignment; the ranges do not
  /// overlap.
  M::copy(to, from, n);

  /// True if load is one instruction of this processor. A few extra loads then cost less than one
  /// mispredicted branch.
  { M::kDirectLoads } -> std::convertible_to<bool>;

  /// Returns n zeroed bytes of volatile memory that all threads share. They live as long as the
  /// machine. Throws std::bad_alloc natively, and Error(out_of_space) on the simulated machine. Not
  /// for hot paths: natively it takes a mutex.
  { m.allocate(n, alignment) } -> std::same_as<void*>;

  /// Atomic<T>: a shared volatile word in memory from allocate(); elsewhere the simulated machine
  /// throws Error(misuse). Operations take a memory order and are sequentially consistent by
  /// default. compare_exchange is strong; when it fails, `expected` holds the value found. On the
  /// simulated machine (total store order) every load is an acquire and every store a release.
  { ca.load(order) } -> std::same_as<uint64_t>;
  a.store(value, order);
  { a.exchange(value, order) } -> std::same_as<uint64_t>;
  { a.compare_exchange(expected, value, order) } -> std::same_as<bool>;
  { a.fetch_add(value, order) } -> std::same_as<uint64_t>;

  /// Notes that the thread takes a rare path. The simulated machine counts it; that is no step of
  /// the schedule and takes no simulated time. Natively it is a load and a branch, and counts if
  /// the machine was opened for that. So it stands on no path that each access takes.
  M::reach(probe);

  /// The bytes of a cache line: the unit of write-backs, and on hardware of transactions. A
  /// constant of the machine, 64 or 128.
  { m.line_bytes() } -> std::same_as<size_t>;
};

/// Threads, their slots, waiting and time.
///
/// Thread safety: any thread, set_background excepted.
template <class M>
concept Threads = requires(M& m, void* context, typename M::template Atomic<uint64_t>& a,
                           uint64_t old, uint64_t cycles, int n, FunctionRef<void(int)> f,
                           std::function<bool()> background) {
  /// The calling thread's pointer to its running transaction; null outside transactions. It is the
  /// only thread-local word of the system, and static because Field<T> needs it. Cost: natively one
  /// thread-local load.
  { M::context() } -> std::same_as<void*>;
  M::set_context(context);

  /// Tells the machine that the calling thread enters a phase; returns the phase it leaves. See
  /// PhaseScope. An attempt that aborts is in phase `aborted` from caught() to the next call.
  /// Natively it does nothing and returns its argument. It is allowed anywhere, handlers of
  /// HtmAbort included.
  { M::phase(Phase::execute) } -> std::same_as<Phase>;

  /// Tells the machine that an update or a read begins, in phase `execute`, or with `none` that it
  /// is over. See TransactionScope. Cost and place are those of phase().
  M::transaction(TransactionKind::update);

  /// The calling thread's slot, with 0 <= self() < slots(); -1 if all slots are taken. The thread
  /// takes the slot at its first call and returns it when it ends. Cost: natively two loads and a
  /// compare.
  { m.self() } -> std::same_as<int>;

  /// The number of slots, a constant of the machine. Arrays of per-thread state have that size.
  { m.slots() } -> std::same_as<int>;

  /// All slots ever taken are below this number; scans of state arrays stop here. Sequentially
  /// consistent: a scan behind a full fence misses no thread that had published its state before.
  { m.active_slots() } -> std::same_as<int>;

  /// Runs f(0) ... f(n - 1) on n threads and returns when all have ended. Rethrows the first
  /// exception that left an f. Natively the threads are new and pinned to processors. The simulated
  /// machine throws SimStuck if no thread can go on, Error(too_many_threads) if it has fewer than n
  /// threads, and Error(misuse) inside another run_threads.
  m.run_threads(n, f);

  /// Starts the background thread, which calls the function over and over. The function returns
  /// false if it has found nothing to do; the thread then rests. The call first stops and joins the
  /// former thread; with a null function it does only that. The thread has a slot of its own. One
  /// thread at a time may call this. On the simulated machine the background thread runs during
  /// run_threads, and when the main thread waits or pauses outside it. Natively the call throws
  /// std::system_error without a thread, and Error while a guest (GuestSlot) has the slot.
  m.set_background(background);
  /// Keeps its slot free (if slots() > 2) for a later start beside other threads; null ends that.
  m.expect_background();

  /// Waits while `a` holds `old`; returns a value that differs. Stores before the awaited store are
  /// visible then (acquire). Callers always loop, because the call may return `old` early: in a
  /// hardware transaction that is doomed, or that `rtm` or `power` runs. Throws MediumFailure once
  /// the medium has failed. Natively the thread spins for some microseconds, then yields in each
  /// iteration. On the simulated machine it sleeps until a store to the line becomes visible; if no
  /// thread can end the wait, the machine throws SimStuck.
  { m.wait_while(a, old) } -> std::same_as<uint64_t>;

  /// One step of a back-off loop; other threads should get a chance to run.
  m.pause();

  /// Charges the thread with cycles of private computation. Natively it does nothing.
  m.work(cycles);

  /// A monotonic clock that all threads share. Units: ticks natively (ns_per_tick() converts);
  /// picoseconds on a timed simulated machine; operations so far on a functional one.
  { m.now() } -> std::same_as<uint64_t>;

  /// The milliseconds in units of now(). A functional simulated machine counts 100 operations for
  /// each, so that short programs reach time limits.
  { m.ticks_of_ms(cycles) } -> std::same_as<uint64_t>;

  /// A random number to name things by. The simulated machine derives it from its seed.
  { m.entropy() } -> std::same_as<uint64_t>;
};

/// Operations that make stores durable (Romulus 4.1), and fences.
///
/// A thread makes a store durable by pwb for its line, then pfence or psync. When that fence
/// returns, the store survives every failure that the persistence domain survives. Until then the
/// store may survive or not: a cache may evict the line at any moment. Therefore order between
/// stores to different lines needs a fence before the later *store*, not before its pwb.
///
/// Thread safety: any thread. A fence is only good for write-backs of its own thread.
///
/// Errors: once the medium has failed, pfence and psync throw MediumFailure. So does await_durable
/// for a position that is not durable.
///
/// Cost, natively (the simulated machine charges what its description says):
///
///   domain    pwb                          pfence, psync
///   process   none                         none
///   file      none                         an fdatasync, shared by threads that ask meanwhile
///   pmem      one write-back instruction   one fence instruction, which waits for the write-backs
///   eadr      none                         one fence instruction
///
/// Everywhere they are barriers to the compiler. The Site labels the operation and costs nothing.
template <class M>
concept Persistence = requires(M& m, const void* p, void* to, const void* from, size_t n, int slots,
                               uint64_t position, uint64_t age_ms, Site site) {
  /// Begins to write back the line that p lies in, and does not wait. Inside a hardware transaction
  /// that is not suspended it may abort the transaction, and does so on the simulated machine
  /// (domain `pmem`): the processors' instructions do (Intel SDM 1, 16.3.8).
  m.pwb(p, site);

  /// Begins to write back each line of [p, p + n).
  m.pwb_range(p, n, site);

  /// Orders the thread's write-backs before it ahead of its stores and write-backs after it.
  m.pfence(site);

  /// Returns when the thread's write-backs before it are durable.
  m.psync(site);

  /// A psync in two steps, for engines that let others go on while a medium works. begin_psync
  /// orders as pfence does, and returns a position. await_durable(position) returns when everything
  /// that the psync would have made durable is durable. Any thread may call it. Positions grow; a
  /// crash keeps all stores up to some position, and what the fences before it have ordered. A
  /// machine that defers nothing waits in begin_psync and returns 0, which is always durable.
  { m.begin_psync(site) } -> std::same_as<uint64_t>;
  m.await_durable(position, site);
  { m.durable(position) } -> std::same_as<bool>;

  /// False if begin_psync always waits. Constant from the mapping of the heap on. Where it is true,
  /// memory begins with what is durable, after a killed process too.
  { m.defers_psync() } -> std::same_as<bool>;

  /// Returns a position that covers each fence that has happened before; 0 if nothing is deferred.
  { m.position() } -> std::same_as<uint64_t>;

  /// Where psyncs can be deferred, all of them are from here on: psync and begin_psync order as
  /// pfence does, and begin_psync returns 0. So no thread waits but in await_durable, for a
  /// position(). Each fence becomes durable within so many milliseconds (on the simulated machine,
  /// at any time). Any thread may call it. A thread whose psync has not waited sees all stores of
  /// the caller before the call.
  m.let_psyncs_lag(age_ms);

  /// Copies n bytes to mapped persistent memory and begins to write them back. Where that pays it
  /// bypasses the caches: no line is read first, and none stays cached.
  ///
  /// The copy is durable when the thread's next pfence or psync returns, or its next atomic
  /// read-modify-write if rmw_orders_pwb(). Until then any of its 8-byte words may be lost and any
  /// other may survive, even within one line.
  ///
  /// It is weakly ordered: other threads may see later stores of the thread first, store_release
  /// included. The thread's next pfence, psync or fence ends that; on x86 an atomic
  /// read-modify-write does too. The thread's own loads see the copy at once.
  ///
  /// [to, to + n) lies in one mapping; to, from and n are multiples of 8 (else Error(misuse)). Not
  /// inside a hardware transaction, unless it is suspended.
  m.store_nontemporal(to, from, n, site);

  /// Full fence: stores before it are visible to other threads before loads after it are performed.
  /// It says nothing about the medium.
  m.fence(site);

  /// An asymmetric pair of fences, for two threads that each need a full fence between a store and
  /// a load (as in Dekker's algorithm). The frequent one may use light_fence if the other one uses
  /// heavy_fence. The light fence is free or a full fence; the heavy one takes microseconds.
  m.light_fence();
  m.heavy_fence(site);

  /// True if an atomic read-modify-write completes the thread's write-backs, as pfence does. x86
  /// does, except in domain `file`.
  { m.rmw_orders_pwb() } -> std::same_as<bool>;

  /// True if the caller has to leave out the wait, check or order that the site labels: a planted
  /// bug, which the tests must notice. Natively constant false, so the branch vanishes. On the
  /// simulated machine true if a mutation drops the site.
  { m.skips(site) } -> std::same_as<bool>;

  /// The active slots below `slots`, for a loop over per-thread state: see active_slots(). On the
  /// simulated machine a mutation of the site leaves out all of them, the first or the last.
  { m.scan(slots, site) } -> std::same_as<SlotRange>;

  /// Operations so far, summed over all threads. Approximate while threads run.
  { m.counters() } -> std::same_as<PersistCounters>;

  /// True once the medium has failed; it stays so. failure() gives the reason, and ok before.
  { m.failed() } -> std::same_as<bool>;
  { m.failure() } -> std::same_as<Status>;
};

/// The hardware transactions of one thread, found by machine.htm(slot). `soft` gives them in
/// software on processors that have none.
///
/// A transaction runs from begin() to commit(). Its stores stay invisible until commit() makes all
/// of them visible at one instant. Conflicts are found line by line, and the requester wins: the
/// access of another thread dooms this transaction.
///
/// Abort. A doomed transaction aborts in one of two ways:
///
///   `soft`, simulated   The operation that finds the transaction doomed throws HtmAbort. The
///                       engine catches it and calls caught(). In between, stores are dropped and
///                       loads return the content of memory, so that destructors change nothing.
///   `rtm`, `power`      The processor restores registers and memory as they were at begin(), and
///                       begin() returns a second time, with the cause. Nothing is thrown.
///
/// Thread safety: only the thread with that slot uses the object.
///
/// Errors: calls out of turn (begin() twice, commit() without begin(), an operation that
/// htm_capabilities() rules out) are bugs of the engine. The simulated machine throws
/// Error(misuse), `soft` asserts, hardware does not check. A machine with a hardware design has no
/// hardware transactions: begin() throws Error(unsupported).
///
/// Cost: with `rtm` and `power` the instructions and a branch. With `soft` an untracked load is a
/// table look-up and a load, a store to a new line one compare-exchange, a commit with stores two
/// atomic read-modify-writes.
template <class H>
concept HtmThread = requires(H& h, Tracking tracking, AbortCode code, uint64_t* p,
                             const uint64_t* cp, uint64_t value, void* to, const void* from,
                             size_t n) {
  /// Begins a transaction and returns `none`. On hardware it returns again with a cause when the
  /// transaction has aborted; the caller's frame must still exist then. Transactions do not nest.
  /// Tracking::stores needs untracked_loads or suspend_loads; `rtm` tracks all accesses in any
  /// case.
  { h.begin(tracking) } -> std::same_as<AbortCause>;

  /// These enclose accesses that are not part of the transaction. Loads in between still see the
  /// transaction's own stores. Stores in between take effect at once, and doom the transaction if
  /// it has stored to their line. resume() throws HtmAbort if the transaction is doomed. Both need
  /// the capability `suspend`. Engines call them through run_suspended().
  h.suspend();
  h.resume();

  /// From here on loads are tracked (all) or not (stores); stores always are. Throws HtmAbort if
  /// the transaction is doomed. Needs the capability `suspend_loads`. track(stores) is a full
  /// fence: the transaction's stores have taken their lines before its later loads. Let one thread
  /// store x and then load y untracked, and another one store y, fence and load x. Then one sees
  /// the other's store, or the transaction is doomed.
  h.track(tracking);

  /// Makes all stores visible at one instant and ends the transaction, or throws HtmAbort if it is
  /// doomed. It makes nothing durable.
  h.commit();

  /// Aborts the transaction with cause explicit_abort and this code. Does not return.
  h.abort(code);

  /// Ends an aborted transaction, drops its stores and returns the cause. Called after catching
  /// HtmAbort, or on hardware after begin() has returned a cause.
  { h.caught() } -> std::same_as<AbortCause>;

  /// The code of abort(), after caught() has returned explicit_abort.
  { h.caught_code() } -> std::same_as<AbortCode>;

  /// Rolls the transaction back because an exception of the user leaves the body; nothing if none
  /// is open. Throws nothing. On hardware it does not return: begin() returns with cause `other`.
  h.cancel();

  /// Whether a transaction is open: since begin(), and until commit(), caught() or cancel().
  { h.open() } -> std::same_as<bool>;

  /// Whether the transaction is known to be doomed. False is no promise: `rtm` cannot tell, and
  /// `power` only while the transaction is suspended.
  { h.doomed() } -> std::same_as<bool>;

  /// Accesses inside the open transaction. Unless it is suspended, they throw HtmAbort if it is
  /// doomed. Ranges have any alignment, and may cross lines.
  { h.load(cp) } -> std::same_as<uint64_t>;
  h.store(p, value);
  h.load_range(to, from, n);
  h.store_range(to, from, n);

  /// Accesses from outside a transaction. A load of a line that a running transaction has stored to
  /// dooms that transaction; if the transaction is committing, the load waits until it has
  /// published the line. A store also dooms the transactions that have loaded the line. A range is
  /// consistent word by word only.
  { h.outside_load(cp) } -> std::same_as<uint64_t>;
  h.outside_store(p, value);
  h.outside_load_range(to, from, n);
  h.outside_store_range(to, from, n);
};

/// The medium: a range of bytes that a heap lives on, and its mappings. Natively a file.
///
/// Offsets and addresses are multiples of kPageBytes. Mappings and reservations are not empty, and
/// their sizes are rounded up to pages.
///
/// Thread safety: any thread. Errors: a Status. Cost: natively grow, reserve, map and unmap are
/// system calls, so they do not belong inside a hardware transaction.
template <class D>
concept Medium = requires(D& medium, size_t n, size_t offset, std::byte* address, MapMode mode,
                          int k) {
  /// The size in bytes.
  { medium.bytes() } -> std::same_as<size_t>;

  /// Makes the medium at least n bytes long; new bytes are zero. It reserves real blocks, so that
  /// no later store can fail for want of space. The new size is durable at return, except in domain
  /// `process`. After an error the size is as before.
  { medium.grow(n) } -> std::same_as<Status>;

  /// Reserves n bytes of address space at exactly this address, or anywhere if it is null. map()
  /// may place pieces there later. Code::busy if the exact range is taken.
  { medium.reserve(n, address) } -> std::same_as<Result<std::byte*>>;

  /// The address number k = 0, 1, ... to try for n bytes of data of a new heap; null after the
  /// last.
  { medium.base_candidate(k, n) } -> std::same_as<std::byte*>;

  /// True if the range was free a moment ago. Cheaper than a reserve() that fails, whose message
  /// names the file that has the range.
  { medium.is_free(address, n) } -> std::same_as<bool>;

  /// Maps n bytes of the medium from `offset` on, at exactly this address or anywhere if it is
  /// null. Returns the address. Code::invalid_argument if the range does not lie on the medium.
  /// Code::busy if the exact address range is taken by anything but a reservation. The simulated
  /// machine maps a page shared in one place at a time (else Code::unsupported).
  { medium.map(offset, n, address, mode) } -> std::same_as<Result<std::byte*>>;

  /// Ends the mapping of these n bytes, or a reservation.
  medium.unmap(address, n);

  /// True if the medium is open read-only. Mappings are private then, even `shared` ones, and
  /// nothing reaches the medium: a heap recovers in memory and leaves the file alone.
  { medium.read_only() } -> std::same_as<bool>;

  { medium.domain() } -> std::same_as<Domain>;

  /// The domain as a line for people, such as "file (fdatasync)".
  { medium.description() } -> std::same_as<std::string>;

  /// The name of the medium in messages: the path of the file.
  { medium.name() } -> std::convertible_to<std::string>;
};

}  // namespace machine_parts

/// A machine: everything an engine may use. See the parts above, and "The seam" in
/// docs/inside/architecture.md.
template <class M>
concept Machine =
    machine_parts::MemoryOps<M> && machine_parts::Threads<M> && machine_parts::Persistence<M> &&
    machine_parts::HtmThread<typename M::HtmThread> && machine_parts::Medium<typename M::Medium> &&
    requires(M& m, int slot) {
      /// The transactions of the thread with this slot.
      { m.htm(slot) } -> std::same_as<typename M::HtmThread&>;
      { m.htm_capabilities() } -> std::same_as<HtmCapabilities>;
      { m.medium() } -> std::same_as<typename M::Medium&>;
    };

/// A machine with a hardware design for durability: transactions whose stores to persistent memory
/// survive a power failure together or not at all, without a log in the program. Isolation remains
/// the program's task, unless the design isolates. Simulated machines only.
///
/// Errors: without a design, the three tx_ operations throw Error(unsupported).
template <class M>
concept HardwareTransactions = requires(M& m, const M& cm) {
  /// From here on the calling thread's stores belong to its transaction.
  m.tx_start();

  /// Commits. The commit takes its place among the thread's stores: later stores become visible
  /// after the transaction is durable.
  m.tx_commit();

  /// Undoes the transaction's stores, also in memory. Returns the cause if a design has aborted
  /// the transaction before, and else none.
  { m.tx_abort() } -> std::same_as<AbortCause>;

  /// A design may abort a transaction itself. The thread's next operation, tx_commit included, then
  /// throws HtmAbort. The program that catches it calls this, which returns the cause and ends
  /// the transaction; tx_abort would do so, too.
  { m.tx_caught() } -> std::same_as<AbortCause>;

  /// The name of the design; empty if there is none.
  { cm.design() } -> std::convertible_to<std::string>;

  /// True if the design aborts a transaction rather than let another one see its stores, or change
  /// a line that it has loaded.
  { cm.design_isolates() } -> std::same_as<bool>;
};

/// Throws Error(misuse) unless both addresses and n are multiples of 8, as store_nontemporal needs.
void check_nontemporal(const void* to, const void* from, size_t n);

/// Returns n value-initialised objects of T in memory from machine.allocate(); throws as that does.
template <class T, class M>
T* make_array(M& machine, size_t n) {
  static_assert(std::is_trivially_destructible_v<T>);
  auto* memory = static_cast<std::byte*>(machine.allocate(n * sizeof(T), alignof(T)));
  for (size_t i = 0; i < n; ++i) {
    new (memory + i * sizeof(T)) T();
  }
  return reinterpret_cast<T*>(memory);
}

/// Likewise, one object.
template <class T, class M>
T* make_object(M& machine) {
  return make_array<T>(machine, 1);
}

}  // namespace holdfast
