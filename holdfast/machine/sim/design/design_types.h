// SPDX-License-Identifier: Apache-2.0
//
// The values that hooks of a hardware design take and return (design.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "holdfast/machine/sim/caches/coherent_caches.h"
#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast {

using sim::Level;
using sim::Time;

/// The parts of the persistent memory.
enum class Space : uint8_t {
  home,  ///< the medium of the program
  own,   ///< the design's own region, which no program sees
};

/// A place in persistent memory. Lines begin at a multiple of their size.
struct Place {
  Space space = Space::home;
  uint64_t offset = 0;  ///< in bytes
  bool operator==(const Place&) const = default;
};

/// The purpose of a write to persistent memory. Each write counts under one cause.
enum class Cause : uint8_t {
  write_back,     ///< a cache writes a dirty line, or a program's instruction makes it
  data,           ///< the design writes data of a transaction to their place
  log,            ///< a log entry
  table,          ///< an entry of a table of the design
  journal,        ///< a change of such tables
  migration,      ///< the content of a log goes to its place
  consolidation,  ///< two copies become one
  recovery,       ///< a write of recover()
};
inline constexpr size_t kCauses = 8;
const char* to_string(Cause cause);

/// The purpose of a read of persistent memory. Each read counts under one cause; those of the
/// machine's address table count apart (SimCounters::table_reads).
enum class ReadCause : uint8_t {
  miss,           ///< the caches lack a line, and its place has it
  data,           ///< the caches lack a line, and the design brings it from elsewhere
  log,            ///< the design looks into a log
  table,          ///< an entry of a table of the design
  migration,      ///< the content of a log goes to its place
  consolidation,  ///< two copies become one
  recovery,       ///< a read of recover()
};
inline constexpr size_t kReadCauses = 7;
const char* to_string(ReadCause cause);

/// A cache line of persistent memory.
struct DesignLine {
  uint32_t line = 0;  ///< its number in the caches
  Place at;           ///< its place in persistent memory
};

/// A transaction between tx_start and tx_commit or tx_abort.
struct DesignTransaction {
  uint64_t id = 0;  ///< from 1, in the order in which transactions begin
  int slot = 0;     ///< of the thread
  int core = 0;
};

/// A store of a transaction that is about to leave the store buffer: some bytes of one word.
struct DesignStore {
  const DesignTransaction& tx;
  DesignLine line;
  size_t word;              ///< offset of the word in the line
  uint64_t value;           ///< each byte at its place in the word; zero outside the mask
  uint64_t mask;            ///< 0xff for each byte that is stored
  const std::byte* before;  ///< the line's bytes before the store
  bool dirty;               ///< L1 has the line dirty before the store
  uint8_t flags;            ///< its flags in L1 before the store
};

/// One copy of a line, in one cache.
struct CachedLine {
  Level level = Level::l1;
  DesignLine line;
  bool dirty = false;
  uint8_t flags = 0;
};

/// A copy that leaves a cache, with its own bytes: those of an older version are not the newest.
struct LineMove {
  Level from = Level::l1;  ///< the cache that it leaves
  DesignLine line;
  bool dirty = false;
  uint8_t flags = 0;
  const std::byte* bytes = nullptr;
};

/// The answer of leaving().
struct Leaving {
  bool dirty = false;  ///< false: the content goes no further
  uint8_t flags = 0;
  Time done = 0;  ///< the cache has room for another line from then on
};

/// The answer of memory_write().
struct MemoryWrite {
  bool write = true;  ///< false: the content is not written to the line's place
  Time done = 0;      ///< only if it is not: the time at which the line has left the caches
};

/// The answer to a line that has missed all caches.
struct DesignFill {
  bool supplied = false;             ///< the design has the line, so its place is not read
  Time done = 0;                     ///< if supplied: the time at which the line arrives
  const std::byte* bytes = nullptr;  ///< if supplied: the line, to compare with the newest bytes
  Time start = 0;                    ///< else: the time at which the medium is asked
  bool dirty = false;                ///< the line arrives dirty, because its place has older bytes
  uint8_t flags = 0;                 ///< the flags that it arrives with
};

/// A set of a cache in which a line needs a place, or in which a line gets flags.
struct VictimChoice {
  Level level = Level::l1;
  const sim::CacheArray::Way* set = nullptr;  ///< by last use; LineBits has the bits of `meta`
  size_t ways = 0;
  uint32_t line = 0;
  bool dirty = false;    ///< of the coming copy
  uint8_t flags = 0;     ///< of the coming copy
  bool present = false;  ///< the line has a way already, which gets flags now
};
/// For a line that comes: it gets no way and goes on towards memory (last level only). For a line
/// that is present: no other way has to leave.
inline constexpr size_t kNoWay = std::numeric_limits<size_t>::max();

/// An access to a line with flags that did not hit the core's own L1.
struct Touch {
  DesignLine line;
  uint8_t flags = 0;
  int core = 0;
  int slot = 0;  ///< of the thread
  bool write = false;
};

/// A page of persistent memory, and a core whose TLBs get it or lose it.
struct TlbPage {
  int core = 0;
  DesignLine first;  ///< the page's first line
};

/// A structure in non-volatile memory of the processor or the controller: registers with a battery,
/// a queue, a table. All that a design keeps over a power failure lies in such structures, in the
/// persistent memory, or in caches that survive.
struct StructureInfo {
  const char* name;
  size_t entries = 0;
  size_t entry_bytes = 0;
  size_t together = 1;      ///< most entries that change at one instant
  const char* source = "";  ///< if these are more than one: why the hardware can do so
};

/// A change of one entry.
struct EntryChange {
  size_t entry = 0;
  const std::byte* bytes = nullptr;
};

/// The address table of persistent memory lies in the own region, from here on. Line n of the
/// program's medium has its mapping at kAddressTable + kMappingBytes * n.
inline constexpr uint64_t kAddressTable = uint64_t{1} << 48;
inline constexpr size_t kMappingBytes = 8;

/// A slot of the address table's cache, with the entry that it has: of the lines
/// [entry * AitDescription::lines, (entry + 1) * AitDescription::lines).
struct TableSlot {
  size_t slot = 0;
  uint64_t entry = 0;
};

/// The answer to an entry that the address table's cache lacks.
struct TableMiss {
  bool supplied = false;  ///< the design has the mapping, so the table is not read for it
  Time done = 0;          ///< the time at which the table is read, or the mapping is there
};

/// The answer of DesignContext::look_up().
struct TableMapping {
  size_t slot = 0;  ///< of the entry
  Time known = 0;   ///< the time from which on the mapping is known
};

/// A write on its way, for cancel(); 0: none.
struct Ticket {
  uint64_t number = 0;
};

struct DesignWrite {
  Time accepted = 0;  ///< from then on the write survives a power failure
  Ticket ticket;      ///< only if asked for
};

/// The result of a design's recovery.
struct DesignRecovery {
  bool needed = false;        ///< the machine had lost its power with this design
  bool consistent = true;     ///< the medium holds exactly the committed transactions
  uint64_t transactions = 0;  ///< transactions that recovery has completed
  uint64_t discarded = 0;     ///< transactions that had not committed
  uint64_t lines_written = 0;
  Time duration = 0;
  std::string text;
};

}  // namespace holdfast
