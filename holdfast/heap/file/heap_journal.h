// SPDX-License-Identifier: Apache-2.0
//
// The journal of a heap file, on machines that have journals (docs/inside/journal.md).
#pragma once

#include <string>

#include "holdfast/heap/file/heap_options.h"
#include "holdfast/heap/file/superblock.h"

namespace holdfast {

template <class M>
concept Journals = requires(M& m, uint64_t n) {
  { m.start_journal(n, n, true) } -> std::same_as<Status>;
  { m.medium().close_journal() } -> std::same_as<Status>;
};

/// Returns the size of the journal that a new heap gets, 0 for none.
template <class M>
size_t journal_bytes_for(M& machine, const CreateOptions& options, const Description& engine) {
  bool pays = false;
  if constexpr (Journals<M>) {
    pays =
        machine.medium().waits_for_device() && engine.check_journal().ok() && !engine.rewrites_heap;
  }
  return options.journal_bytes.value_or(pays ? kDefaultJournalBytes : 0);
}

/// Adds the extent of a new heap's journal, if it gets one.
template <class M>
Status plan_journal(M& machine, const CreateOptions& options, const Description& engine,
                    Superblock& superblock) {
  const size_t bytes = journal_bytes_for(machine, options, engine);
  if (bytes == 0) {
    return {};
  }
  // A file that is made in domain `process`, such as a copy, is for later use in domain `file`.
  const Domain domain = machine.medium().domain();
  if (!Journals<M> || (domain != Domain::file && domain != Domain::process)) {
    return {Code::unsupported, std::string(machine.medium().name()) + ": a journal is for domain " +
                                   "file of native heaps, and this heap is in domain " +
                                   to_string(domain) +
                                   (Journals<M> ? "" : " of a simulated machine") +
                                   "; choose domain file, or journal_bytes=0"};
  }
  if (bytes < kLeastJournalBytes || bytes > kMostJournalBytes) {
    return {Code::invalid_argument, "journal_bytes is from 64 KiB to 16 GiB, or 0"};
  }
  superblock.append(ExtentKind::journal, journal_extent_bytes(bytes));
  superblock.features.incompatible |= kJournalFeature;
  return engine.check_journal();
}

/// Makes a new heap's file as long as its extents. A journal gets its blocks when it uses them.
template <class M>
Status lay_out(M& machine, const Superblock& superblock) {
  auto& medium = machine.medium();
  if constexpr (Journals<M>) {
    if (superblock.has_journal()) {
      const uint64_t begin = superblock.file_offset(ExtentKind::journal);
      Status status = medium.grow(begin);
      if (status.ok()) {
        const uint64_t bytes = superblock.bytes_of(ExtentKind::journal);
        status = medium.grow_without_blocks(begin + bytes);
      }
      if (!status.ok()) {
        return status;
      }
    }
  }
  return medium.grow(superblock.file_bytes());
}

/// Opens the heap's journal, or makes it (`fresh`). OK if the heap has none.
template <class M>
Status start_journal(M& machine, const Superblock& superblock, bool fresh) {
  if (!superblock.has_journal()) {
    return {};
  }
  if constexpr (Journals<M>) {
    return machine.start_journal(superblock.file_offset(ExtentKind::journal),
                                 superblock.bytes_of(ExtentKind::journal), fresh);
  } else {
    return {Code::unsupported, "this machine cannot open a heap with a journal"};
  }
}

/// Lets the journal give memory back, or stops that (NativeMedium::give_back_memory). Nothing
/// without a journal.
template <class M>
void give_back_memory(M& machine, bool may) {
  if constexpr (Journals<M>) {
    machine.medium().give_back_memory(may);
  }
}

/// Held while a thread may store to the regions: M::StoreScope, or nothing (kStores is false, or
/// the machine needs none).
template <class M, bool kStores>
struct StoreScope {
  explicit StoreScope(M& /*machine*/) {}
};
template <class M>
  requires requires { typename M::StoreScope; }
struct StoreScope<M, true> : M::StoreScope {
  explicit StoreScope(M& machine) : M::StoreScope(machine) {}
};

/// Brings the regions up to date at home. OK if there is no journal.
template <class M>
Status close_journal(M& machine) {
  if constexpr (Journals<M>) {
    return machine.medium().close_journal();
  } else {
    return {};
  }
}

}  // namespace holdfast
