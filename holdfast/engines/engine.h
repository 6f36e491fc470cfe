// SPDX-License-Identifier: Apache-2.0
//
// What an engine is. An engine is a class template over a machine, one published algorithm in one
// folder. It never knows which workload runs, nor which machine.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <type_traits>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

enum class Isolation : uint8_t { snapshot, opaque };
/// none: volatile. lagging: an acknowledged update may be lost within a stated bound. strict:
/// never.
enum class Durability : uint8_t { none, lagging, strict };
const char* to_string(Isolation isolation);
const char* to_string(Durability durability);

/// Engine options by name, as given on the command line ("log_entries=4096"). Recorded in the heap
/// file at creation where they decide its layout.
using Options = std::map<std::string, std::string>;

/// Reads a whole number option; a malformed or out-of-range value is an error that names the range.
Result<uint64_t> option_number(const Options& options, const std::string& name, uint64_t fallback,
                               uint64_t low, uint64_t high);

/// How the heap lays the file out and maps it for an engine.
enum class Layout : uint8_t {
  in_place,      ///< data mapped shared at the base address
  twin,          ///< in_place, and a second copy of the data mapped shared elsewhere
  working_copy,  ///< data mapped copy-on-write at the base address; its home mapped shared
                 ///< elsewhere
  cells,         ///< in_place, and 16 bytes for each 8-byte word of it mapped shared elsewhere
};

/// One option an engine understands.
struct OptionInfo {
  const char* name;
  const char* fallback;
  const char* help;
  /// What crash tests use, so that logs fill and wrap around; null: the fallback.
  const char* tiny = nullptr;
};

/// The compile-time facts about an engine: what `holdfast engines` lists and what suites apply.
struct Description {
  const char* name;
  const char* title;
  const char* paper;  ///< paper and section
  Isolation isolation;
  Durability durability;
  Layout layout;
  bool needs_htm;  ///< hardware transactional memory, or `soft`
  /// A hardware design for durability: runs on simulated machines that have one, timed, and there
  /// only.
  bool needs_design = false;
  /// What a committed transaction stored lies at its address, for plain loads outside transactions
  /// too and whatever runs meanwhile, until another transaction stores to it.
  bool plain_reads = false;
  const char* log;     ///< kind of log, in words
  const char* fences;  ///< pfence + psync per update transaction, in words
  const OptionInfo* options;
  size_t option_count;
  /// Bytes of the engine area for these options; the heap rounds up to pages.
  Result<size_t> (*area_bytes)(const Options& options, int slots);
};

/// Where the heap has mapped things. All regions are offset-compatible: byte i of data, home and
/// twin belong together. `capacity` bytes of address space are reserved for each, `bytes` exist.
struct Regions {
  std::byte* data = nullptr;  ///< what the application sees, at the base address
  std::byte* home =
      nullptr;  ///< working_copy: the shared mapping that recovery trusts; else == data
  std::byte* twin = nullptr;   ///< twin: the second copy; else null
  std::byte* cells = nullptr;  ///< cells: a cell for each word, at twice its offset; else null
  std::byte* area = nullptr;   ///< engine area: logs, markers, state
  size_t bytes = 0;
  size_t capacity = 0;
  size_t area_bytes = 0;
};

/// What M::context() points to while a transaction runs on this thread. Engines derive from it.
struct Context {
  enum class Mode : uint8_t { read, update };
  std::byte* data = nullptr;  ///< of the heap whose transaction this is
  size_t capacity = 0;
  Mode mode = Mode::read;
  int slot = 0;            ///< of the executing machine thread; picks its allocation arena
  void* handle = nullptr;  ///< set by AnyEngine for itself
  /// Set when an exception left a nested body: the outer transaction must not commit.
  std::exception_ptr nested_failure;

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

/// Time per phase is in machine clock ticks; see Machine::now().
struct Statistics {
  uint64_t update_commits = 0;
  uint64_t read_commits = 0;
  uint64_t user_aborts = 0;                     ///< a body threw, or the caller cancelled
  std::array<uint64_t, kAbortCauses> aborts{};  ///< attempts, by cause; software finds conflicts
  uint64_t lock_fallbacks = 0;
  uint64_t batches = 0;        ///< flat combining: combined update transactions
  uint64_t bytes_stored = 0;   ///< by committed bodies
  uint64_t bytes_written = 0;  ///< to persistent memory by the engine, all copies and logs included
  uint64_t replayed = 0;       ///< transactions applied to the home by a log replayer
  PersistCounters persist;     ///< filled in by the heap from the machine

  Statistics& operator+=(const Statistics& o);
  Statistics operator-(const Statistics& o) const;
};

/// What recovery did, for people.
struct RecoveryReport {
  bool needed = false;
  uint64_t transactions = 0;  ///< replayed or rolled back
  uint64_t bytes = 0;         ///< copied
  std::string text;
};

/// Thrown when a store meets no running update transaction of the heap that owns the address.
/// `context` may be null. Out of line: it is never on the hot path.
[[noreturn]] void throw_stray_store(const Context* context, const void* p);

/// What a thread beyond those the heap was created for is told.
Error too_many_threads();
/// What a transaction beyond its redo log of `bytes` is told.
Error log_too_small(uint64_t bytes);
/// What recovery says of an engine area whose header is not the one it expects.
Status foreign_area();

/// An engine over machine M.
///
///   E(M&, const Regions&, const Options&, int slots)
///                        slots: machine.slots() when the heap was created, which sized the engine
///                        area; now machine.slots() is at most that
///   format()             writes the initial state of the engine area of a new heap (data is zero)
///   recover(report)      after open, before any transaction, also after a clean close. Checks
///                        everything it needs before it stores anything; damage is Code::corrupt
///                        and nothing is changed.
///   grown(bytes)         data (home, twin) now has `bytes`, zero-filled; transactions may be
///                        running, none of which touches the new bytes yet
///   settle()             optional, of engines that keep values elsewhere: brings them into the
///                        data, where plain loads find them. Called while no transaction runs.
///   close()              brings the home up to date (replays logs), so that the file is clean
///   update(body), read(body)
///                        run body as a transaction. An exception leaving the body rolls it back
///                        and propagates; MediumFailure propagates; TransactionAbort never does.
///                        Bodies may run several times, or on another thread (flat combining).
///   static load, store, load_range, store_range, promote
///                        what Field<T> calls. They find the transaction in M::context().
///   static fresh(p, n)   [p, p + n) was allocated by the running transaction: its old content is
///                        nobody's, so an undo log may skip it
///   static released(p, n)  optional: the running transaction frees [p, p + n). Allocated again by
///                        the same transaction it is fresh, but somebody's after a roll-back
///   statistics()         sums over threads
template <class E>
concept Engine = requires(E& e, uint64_t* p, const uint64_t* cp, void* v, const void* cv, size_t n,
                          FunctionRef<void()> body, RecoveryReport& report) {
  requires Machine<typename E::Machine>;
  { E::kDescription } -> std::convertible_to<const Description&>;
  { e.format() } -> std::same_as<Status>;
  { e.recover(report) } -> std::same_as<Status>;
  { e.grown(n) } -> std::same_as<void>;
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

/// Whether a load through this engine is hardly more than one of the processor: it says so with
/// kDirectLoads.
template <class E>
consteval bool direct_loads() {
  if constexpr (requires { E::kDirectLoads; }) {
    return E::kDirectLoads;
  } else {
    return false;
  }
}

}  // namespace holdfast
