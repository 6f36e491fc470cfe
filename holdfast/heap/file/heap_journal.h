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

/// Adds the extent of a new heap's journal, if the options want one.
template <class M>
Status plan_journal(M& machine, const CreateOptions& options, const Description& engine,
                    Superblock& superblock) {
  if (options.journal_bytes == 0) {
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
  if (options.journal_bytes < kLeastJournalBytes || options.journal_bytes > kMostJournalBytes) {
    return {Code::invalid_argument, "journal_bytes is from 64 KiB to 16 GiB, or 0"};
  }
  superblock.append(ExtentKind::journal, journal_extent_bytes(options.journal_bytes));
  superblock.features.incompatible |= kJournalFeature;
  return engine.check_journal();
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
