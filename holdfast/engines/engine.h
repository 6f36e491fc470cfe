// SPDX-License-Identifier: Apache-2.0
//
// Engines: the algorithms for persistent transactional memory, and the contract each of them keeps.
//
// An engine is one published algorithm, in one folder. It is a class template over a machine, and
// it knows neither which workload runs nor which machine it runs on. `parts/` has the code that
// several engines share.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/options.h"
#include "holdfast/base/status.h"
#include "holdfast/engines/partitions.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// Guarantee about concurrent transactions. snapshot: snapshot isolation, write skew is possible.
/// opaque: every attempt sees a state that some serial order of the transactions produces.
enum class Isolation : uint8_t { snapshot, opaque };
/// Guarantee about acknowledged updates after a crash. none: nothing survives. lagging: updates
/// within a stated bound may be lost. strict: none is lost.
enum class Durability : uint8_t { none, lagging, strict };
const char* to_string(Isolation isolation);
const char* to_string(Durability durability);

/// How long an update waits for its durability. unsaid: as the heap's options say. durable: until
/// the update, and all that committed before it, is durable. later: the update may return before;
/// an engine that cannot lag, or was not allowed to, makes it durable all the same.
enum class Commit : uint8_t { unsaid, durable, later };

/// The promise of an engine about acknowledged updates, with given options. It is judged after
/// simulated crashes.
struct Promise {
  Durability durability = Durability::strict;  ///< of an update without a word
  /// The most acknowledged updates that a crash may take, of those committed `later` or, if
  /// lagging, without a word. They are the last ones of the commit order.
  uint64_t bound = 0;
  /// Everything acknowledged before a durable commit or a fence survives with it. A system that
  /// recovers to epochs has kNoBound and this.
  bool floor = true;
  /// Strict: what an answered transaction has seen survives.
  bool observed = true;

  static constexpr uint64_t kNoBound = ~uint64_t{0};
};

/// How the heap lays out its file and maps it for an engine.
enum class Layout : uint8_t {
  in_place,      ///< data mapped shared at the base address
  twin,          ///< in_place, plus a second copy of the data mapped shared elsewhere
  working_copy,  ///< data mapped copy-on-write at the base address; its home mapped shared
                 ///< elsewhere
  cells,         ///< in_place, plus 16 bytes for each 8-byte word, mapped shared elsewhere
};

/// The compile-time facts about an engine. `holdfast engines` lists them, and tests choose their
/// suites by them.
struct Description {
  const char* name;
  const char* title;
  const char* paper;  ///< paper and section
  Isolation isolation;
  Durability durability;  ///< without options; promised() knows those that change it
  Layout layout;
  bool needs_htm;  ///< needs hardware transactional memory, or its replacement `soft`
  /// Needs a hardware design for durability: runs only on simulated machines that have one, with
  /// timing.
  bool needs_design = false;
  /// Never writes back: runs only in a domain whose failures the caches survive.
  bool needs_lasting_caches = false;
  /// Answers no update, and lets nothing trust one, before a psync has returned that makes it
  /// durable. So it runs over a journal, where a pfence orders and makes nothing durable.
  bool answers_behind_psync = false;
  /// Writes all of the heap back with each update, changed or not. So a journal, which is written
  /// in addition, costs more than it saves, and no checkpoint leaves it without lines of a page.
  bool rewrites_heap = false;
  /// Can lag by itself, in each domain: see CanLag. Other engines can lag over a journal, if they
  /// run over one (PositionLag).
  bool lags = false;
  /// A value that a transaction has committed lies at its address until another transaction stores
  /// there. Plain loads outside transactions find it, even while other transactions run.
  bool plain_reads = false;
  /// Takes update transactions of any size that the heap has room for. Other engines refuse one
  /// that does not fit into their log, with Code::too_large, and name the option to raise.
  bool any_size = false;
  const char* log;     ///< kind of log, in words
  const char* fences;  ///< pfence + psync per update transaction, in words
  const OptionInfo* options;
  size_t option_count;
  std::span<const OptionInfo> option_list() const { return {options, option_count}; }
  /// Returns the bytes of the engine area for these options; the heap rounds up to pages.
  Result<size_t> (*area_bytes)(const Options& options, int slots);
  /// Null: the options do not change the durability. For an engine that lags over a journal only,
  /// it is the promise there.
  Promise (*promise)(const Options& options) = nullptr;
  /// The most bytes of a heap's data that the engine's logs can address.
  uint64_t most_bytes = uint64_t{1} << 44;

  /// Whether the engine keeps its promise in this domain.
  bool runs_in(Domain domain) const { return !needs_lasting_caches || caches_last(domain); }
  /// OK, or Code::unsupported with the domains that the engine runs in.
  Status check_domain(Domain domain) const;
  /// OK, or Code::invalid_argument if the engine's logs cannot address so many bytes.
  Status check_bytes(uint64_t bytes) const;
  /// OK, or Code::unsupported if the engine does not run over a journal.
  Status check_journal() const;

  /// Returns the promise with these options, which area_bytes() has accepted. Only a machine that
  /// defers its psync lets an engine without a lag of its own lag, and readers be early.
  Promise promised(const Options& given, bool defers_psync) const {
    if (promise == nullptr || !(lags || defers_psync)) {
      return {.durability = durability};
    }
    Promise promised = promise(given);
    promised.observed = promised.observed || !defers_psync;
    return promised;
  }
};

/// Addresses at which the heap has mapped its regions. Offsets are common to all: byte i of data,
/// home and twin belong together. Each region reserves `capacity` bytes of address space, of which
/// the first `bytes` exist. An engine has the sizes as they were when the heap opened.
struct Regions {
  std::byte* data = nullptr;  ///< the application's view, at the base address
  std::byte* home =
      nullptr;  ///< working_copy: the shared mapping that recovery trusts; else == data
  std::byte* twin = nullptr;   ///< twin: the second copy; else null
  std::byte* cells = nullptr;  ///< cells: a cell for each word, at twice its offset; else null
  std::byte* area = nullptr;   ///< engine area: logs, markers, state
  size_t bytes = 0;
  size_t capacity = 0;
  size_t area_bytes = 0;
  bool closed = false;  ///< when it was opened; then recovery finds nothing to do in any log
};

class PageGuard;

/// The object that M::context() points to while a transaction runs on this thread. Engines derive
/// their transactions from it.
struct Context {
  enum class Mode : uint8_t { read, update };
  std::byte* data = nullptr;  ///< base address of the transaction's heap
  size_t capacity = 0;
  size_t known_bytes = 0;    ///< bytes of the heap that are known to exist; for HeapBounds
  uint64_t known_words = 0;  ///< offsets that HeapBounds accepts at once; follows from known_bytes
  PageGuard* guard = nullptr;  ///< asked about each pointer that is followed (page_guard.h)
  Mode mode = Mode::read;
  int slot = 0;  ///< of the executing machine thread; selects its allocation arena
  /// Set by the heap while a body runs that names partitions.
  Partitions partitions = Partitions::all();
  void* handle = nullptr;  ///< set by AnyEngine for itself
  /// Set when an exception has left a nested body, or an allocation or store that found no room.
  /// The transaction must not commit even if the body swallows it.
  std::exception_ptr nested_failure;
  /// Sets nested_failure, of which the first one counts: later ones may come from what it left.
  void fail(std::exception_ptr failure) {
    if (!nested_failure) {
      nested_failure = std::move(failure);
    }
  }

  bool covers(const void* p, size_t n) const {
    const size_t room = room_at(p);
    return room != 0 && n <= room;
  }
  /// Bytes from p to the heap's end; 0 where p is outside.
  size_t room_at(const void* p) const {
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(p) - data);
    return offset < capacity ? capacity - offset : 0;
  }
};

/// While it exists, the context names these partitions. With all of them it changes nothing.
class NamedPartitions {
 public:
  NamedPartitions(Context& context, Partitions partitions)
      : context_(context), before_(context.partitions) {
    if (!partitions.is_all()) {
      context_.partitions = partitions;
    }
  }
  NamedPartitions(const NamedPartitions&) = delete;
  NamedPartitions& operator=(const NamedPartitions&) = delete;
  ~NamedPartitions() { context_.partitions = before_; }

 private:
  Context& context_;
  Partitions before_;
};

/// Counters since the engine was made.
struct Statistics {
  uint64_t update_commits = 0;
  uint64_t read_commits = 0;
  uint64_t user_aborts = 0;                     ///< a body threw, or the caller cancelled
  std::array<uint64_t, kAbortCauses> aborts{};  ///< attempts, by cause; software: conflict only
  std::array<uint64_t, kAbortCodes> explicit_aborts{};  ///< those with that cause, by code
  uint64_t lock_fallbacks = 0;
  uint64_t batches = 0;        ///< flat combining: combined update transactions
  uint64_t bytes_stored = 0;   ///< by committed bodies
  uint64_t bytes_written = 0;  ///< by the engine to persistent memory: all copies and logs
  uint64_t replayed = 0;       ///< transactions applied to the home by a log replayer
  PersistCounters persist;     ///< filled in by the heap from the machine

  Statistics& operator+=(const Statistics& o);
  Statistics operator-(const Statistics& o) const;
};

/// Work that recovery did, for people to read.
struct RecoveryReport {
  bool needed = false;
  uint64_t transactions = 0;  ///< replayed or rolled back; 0 if it was not needed
  uint64_t bytes = 0;         ///< copied
  std::string text;
};

/// A free part of the data region that the heap lends to one update transaction for its log. No
/// transaction allocates there until the heap takes it back.
struct Loan {
  uint64_t offset = 0;  ///< in the data region
  uint64_t bytes = 0;   ///< 0: nothing is lent
};

/// Leaves update() if the transaction does not fit into the engine's log, and the engine borrows.
/// The transaction has been rolled back. The heap lends the bytes, then runs the transaction again.
struct LoanNeeded {
  uint64_t bytes;
};

/// Throws Error(misuse) for a store that meets no running update transaction of the heap that owns
/// the address `p`. `context` is the thread's transaction, or null. Out of line, because it is
/// never on the hot path.
[[noreturn]] void throw_stray_store(const Context* context, const void* p);
/// Rethrows the exception that is being handled, after Context::fail(). Out of line likewise.
[[noreturn]] void fail_and_rethrow(Context& context);

/// Error for a thread beyond the number that the heap was created for.
Error too_many_threads();
/// Error for a transaction whose stores exceed its redo log of `bytes`.
Error log_too_small(uint64_t bytes);
/// Error for a transaction that finds no room in its undo log of `bytes`.
Error undo_log_full(uint64_t bytes);
/// Status of a barrier for an engine that has none.
Status no_barrier(const char* engine);
/// Status of recovery for an engine area whose header differs from the expected one.
Status foreign_area();

/// An engine over machine M.
///
/// Thread safety: update, read and the static functions may be called by all threads at once, each
/// thread in a slot of its own. The heap calls the other functions while no transaction runs,
/// except grown() and statistics().
/// Durability: when update() returns, its transaction is durable as the description's Durability
/// says.
///
///   E(M&, const Regions&, const Options&, int slots)
///                        `slots` is the heap's number of thread slots, which sized the engine
///                        area. machine.slots() is at most that. An opening may raise the number:
///                        then the area is longer, and new like that of a new heap.
///   format()             writes the initial state of a new heap's engine area (data is zero)
///   recover(report)      runs at every open before any transaction, also after a clean close. It
///                        checks everything it needs before it stores anything. Damage returns
///                        Code::corrupt and changes nothing.
///   grown(bytes)         optional, for engines that need the size of the data after recovery, as
///                        in settle() and replay(): data (home, twin) now has `bytes`, zero-filled.
///                        Transactions may be running; none of them touches the new bytes yet.
///   lend(loan)           optional, for engines that throw LoanNeeded. The heap calls it inside an
///                        update transaction. The engine may use the loan for the calling thread's
///                        transactions, until lend() replaces it. It keeps the log in the home, or
///                        in the data if there is no home. When update() returns, the engine needs
///                        the content of the loan no more, not even to recover.
///   settle()             optional, for engines that keep values elsewhere: brings these into the
///                        data, where plain loads find them. No transaction runs meanwhile.
///   close()              brings the home up to date (replays logs), so that the file is clean
///   update(body), read(body)
///                        run body as a transaction. An exception that leaves the body rolls it
///                        back and propagates. MediumFailure propagates, TransactionAbort never
///                        does. The engine may run a body several times, or on another thread (flat
///                        combining).
///   update(body, commit), fence(), barrier(), pending()
///                        optional, for engines that can lag: see CanLag
///   update(partitions, body), read(partitions, body)
///                        optional: see HasPartitions
///   static load, store, load_range, store_range, promote
///                        Field<T> calls these. They find the transaction in M::context().
///   static fresh(p, n)   the running transaction has allocated [p, p + n). Its old content has no
///                        owner, so an undo log may skip it.
///   static released(p, n)
///                        optional: the running transaction frees [p, p + n). If it allocates the
///                        bytes again they are fresh, but a roll-back must restore their content.
///   static uses_hardware(can)
///                        optional, for engines with `needs_htm`: false if all its updates take a
///                        lock with these capabilities
///   statistics()         sums over threads; approximate while transactions run
template <class E>
concept Engine = requires(E& e, uint64_t* p, const uint64_t* cp, void* v, const void* cv, size_t n,
                          FunctionRef<void()> body, RecoveryReport& report) {
  requires Machine<typename E::Machine>;
  { E::kDescription } -> std::convertible_to<const Description&>;
  { e.format() } -> std::same_as<Status>;
  { e.recover(report) } -> std::same_as<Status>;
  { e.close() } -> std::same_as<Status>;
  e.update(body);
  e.read(body);
  { e.statistics() } -> std::same_as<Statistics>;
  { E::load(cp) } -> std::same_as<uint64_t>;
  E::store(p, uint64_t{});
  E::load_range(v, cv, n);
  E::store_range(v, cv, n);
  E::promote(cv, n);
  E::fresh(cv, n);
};

/// The updates of a heap that have committed and are not durable.
struct PendingUpdates {
  uint64_t count = 0;
  uint64_t age = 0;  ///< of the oldest, in units of Machine::now(); 0 without one
};

/// An engine whose updates may return before they are durable, within its promise.
///
///   update(body, commit) as update(body). A durable commit makes all earlier ones durable, even if
///                        its body stores nothing
///   fence()              returns when all updates that had returned are durable
///   barrier()            the same, and at one instant before it returns no transaction runs.
///                        Code::unsupported if readers never wait
///   pending()            PendingUpdates, approximate while transactions run
///
/// Waiting never depends on other threads' new transactions, nor on their absence.
template <class E>
concept CanLag = requires(E& e, FunctionRef<void()> body, Commit commit) {
  e.update(body, commit);
  e.fence();
  { e.barrier() } -> std::same_as<Status>;
  { e.pending() } -> std::same_as<PendingUpdates>;
};

/// An engine that runs transactions beside each other because they name different partitions. For
/// all others the heap calls update(body) and read(body) as ever.
///
///   have_partitions(n)   before any transaction: the heap has partitions 0 to n - 1. Without this
///                        call it has none, and all transactions name all.
///   update(partitions, body), read(partitions, body)
///                        as update(body) and read(body), which name all partitions. The body
///                        uses data of the partitions alone, and metadata.
///   static metadata()    the running transaction is about to use the heap's metadata, which
///                        belongs to no partition: roots, free chunks, the size. The engine keeps
///                        other transactions away from it until this one ends. The heap calls it
///                        behind everything else that the transaction waits for, possibly often.
template <class E>
concept HasPartitions = requires(E& e, Partitions partitions, FunctionRef<void()> body) {
  e.have_partitions(int{});
  e.update(partitions, body);
  e.read(partitions, body);
  E::metadata();
};

/// Tells the engine of the running transaction that the heap's metadata is used.
template <class E>
void use_metadata() {
  if constexpr (requires { E::metadata(); }) {
    E::metadata();
  }
}

/// True if a load through this engine costs hardly more than a load instruction. An engine says so
/// by defining kDirectLoads.
template <class E>
consteval bool direct_loads() {
  if constexpr (requires { E::kDirectLoads; }) {
    return E::kDirectLoads;
  } else {
    return false;
  }
}

/// True if the body of a read transaction runs once: no attempt is rolled back. An engine says so
/// by defining kReadsOnce.
template <class E>
consteval bool reads_once() {
  if constexpr (requires { E::kReadsOnce; }) {
    return E::kReadsOnce;
  } else {
    return false;
  }
}

/// True if no transaction that began before an update still runs when the update returns. An engine
/// says so by defining kUpdatesAwaitOlder.
template <class E>
consteval bool updates_await_older() {
  if constexpr (requires { E::kUpdatesAwaitOlder; }) {
    return E::kUpdatesAwaitOlder;
  } else {
    return false;
  }
}

}  // namespace holdfast
