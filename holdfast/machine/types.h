// SPDX-License-Identifier: Apache-2.0
//
// The types and constants that both machines and their users share: persistence domains, sites,
// hardware transactions, counters, failures. machine.h has the operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "holdfast/base/status.h"

namespace holdfast {

/// The most threads that one heap can serve. It limits state arrays, bit masks and log tables.
inline constexpr int kMaxThreads = 256;

/// The line size that the code is laid out for. A machine may have longer lines (line_bytes()).
inline constexpr size_t kLineBytes = 64;
/// The longest line of any machine: POWER's. Processors with shorter lines fetch two at a time.
/// Data aligned to it shares no line with its neighbors.
inline constexpr size_t kMaxLineBytes = 2 * kLineBytes;
inline constexpr size_t kPageBytes = 4096;

/// A type that the machine accesses at once. Its alignment is its size, so that it lies within one
/// aligned word. A struct of two 4-byte members may not; it is a range of bytes.
template <class T>
concept Word = std::is_trivially_copyable_v<T> && alignof(T) == sizeof(T) && sizeof(T) <= 8;

// ---- Persistence

/// The persistence domain: which failure the data survive, and how. Chosen when a heap is opened.
enum class Domain : uint8_t {
  process,  ///< survives a killed process, not a power cut; no flushes at all
  file,     ///< survives a power cut, on any disk; fdatasync at every pfence and psync
  pmem,     ///< survives a power cut, on persistent memory; cache-line write-back and fence
  eadr,     ///< survives a power cut, if the caches belong to the persistence domain; fences only
};
const char* to_string(Domain domain);
/// Whether a store survives as soon as it is visible, without a write-back.
constexpr bool caches_last(Domain domain) {
  return domain == Domain::process || domain == Domain::eadr;
}
/// Code::invalid_argument, with a list of the right names, for a wrong name.
Result<Domain> parse_domain(const std::string& name);

/// Labels a persistence operation, a wait or a check in an engine, as in Site{"fur.log"}. `name` is
/// a literal. Natively a site costs nothing. The simulated machine can drop, delay or swap the
/// operation that stands at a site.
struct Site {
  const char* name = "";
};

/// Names a rare path of an engine, as in Probe{"fur.log_full"}: a full log, a wrap, a fallback. The
/// crash searches and the native stress must take each path that the sources name
/// (docs/inside/testing.md, "Rare paths").
/// `name` is a literal.
struct Probe {
  const char* name;
};

/// How a piece of the medium is mapped.
enum class MapMode : uint8_t {
  shared,         ///< stores reach the medium; the operating system may write them back at any time
  copy_on_write,  ///< stores stay private to this process
};

/// Persistence operations so far. Each thread counts its own; counters() adds them up.
struct PersistCounters {
  uint64_t pwb = 0;
  uint64_t pfence = 0;
  uint64_t psync = 0;
  uint64_t fence = 0;
  /// Bytes stored to mapped persistent memory. Only the simulated machine counts them; natively 0.
  uint64_t bytes = 0;
  /// Lines that store_nontemporal has touched. A line that two calls touch counts twice.
  uint64_t nontemporal = 0;

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

/// Thrown by pfence, psync and waits once the medium has failed. Every later one of them on this
/// machine throws it again. The content of the medium is unknown then, so after catching it a
/// program must store nothing more.
class MediumFailure {
 public:
  explicit MediumFailure(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// ---- Hardware transactions

/// The accesses that a hardware transaction tracks (FUR 2.1). `stores`: a rollback-only
/// transaction.
enum class Tracking : uint8_t { all, stores };

/// Why a hardware transaction aborted.
enum class AbortCause : uint8_t {
  none,            ///< it has not aborted
  conflict,        ///< another thread accessed one of its lines
  capacity,        ///< it needs more lines than the hardware can track
  explicit_abort,  ///< its thread called abort()
  interrupt,       ///< the system interrupted its thread, where the hardware tells this apart
  other,           ///< cancel(), or a reason that the hardware does not tell
};
inline constexpr int kAbortCauses = 6;
const char* to_string(AbortCause cause);

/// Why an engine has aborted its own hardware transaction: the argument of HtmThread::abort().
enum class AbortCode : uint8_t {
  none,     ///< no reason given
  lock,     ///< another thread holds the global lock
  log,      ///< the log has no room left
  alias,    ///< no entry of a set of the alias table may be replaced
  revoked,  ///< another thread has given the transaction up
  stale,    ///< the data has changed since an earlier step of the same update
};
inline constexpr int kAbortCodes = 6;
const char* to_string(AbortCode code);

/// The hardware transactions that a machine offers.
struct HtmCapabilities {
  const char* backend = "none";  ///< "none": no hardware transactions
  bool untracked_loads = false;  ///< rollback-only transactions: begin(Tracking::stores)
  bool suspend = false;          ///< suspend() and resume()
  size_t store_lines = 0;        ///< capacity for stored lines; 0 if unknown
  size_t load_lines = 0;         ///< capacity for loaded lines; 0 if unknown
  bool suspend_loads = false;    ///< track(): loads alone can be left untracked for a while
  /// A page fault aborts the transaction and is not served: a new page must be touched before.
  bool page_faults_abort = false;
};

/// Thrown by a load or store in a body whose transaction must abort. Only the engine's attempt
/// catches it; nested updates and reads let it pass.
///
/// Not a std::exception: `catch (const std::exception&)` in a body lets it pass.
struct TransactionAbort {};

/// Ends the attempt of a hardware transaction on machines that cannot roll back registers (`soft`
/// and the simulated machine). The engine's attempt catches it and calls caught().
struct HtmAbort : TransactionAbort {};

/// Consecutive slots.
struct SlotRange {
  struct Iterator {
    int slot;
    int operator*() const { return slot; }
    Iterator& operator++() {
      ++slot;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return slot != other.slot; }
  };

  int first;
  int last;  ///< exclusive; not below first

  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
};

}  // namespace holdfast
