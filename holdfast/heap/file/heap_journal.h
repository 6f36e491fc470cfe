// SPDX-License-Identifier: Apache-2.0
//
// The journal of a heap file, on machines that have journals (docs/inside/journal.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/heap/file/heap_options.h"
#include "holdfast/heap/file/superblock.h"
#include "holdfast/machine/native/journal/page_checksums.h"

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

/// Adds the extent of a new heap's journal, if it gets one. Such a heap also gets a table of page
/// checksums, whose extent append_page_checksums() adds.
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
  superblock.features.read_only |= kPageChecksumsFeature;
  return engine.check_journal();
}

/// Makes a new heap's file as long as its extents, and marks it as unfinished first, if the medium
/// can. A journal gets its blocks when it uses them.
template <class M>
Status lay_out(M& machine, const Superblock& superblock) {
  auto& medium = machine.medium();
  if constexpr (requires { medium.write_first(kSuperblockBytes, kUnfinished); }) {
    if (Status status = medium.write_first(kSuperblockBytes, kUnfinished); !status.ok()) {
      return status;
    }
  }
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

/// Tells the medium where the table of page checksums is, if there is one.
template <class M>
void use_page_checksums(M& machine, const Superblock& superblock) {
  if constexpr (Journals<M>) {
    std::vector<native::PageRange> pieces;
    for (const Extent& extent : superblock.extents) {
      if (extent.kind == ExtentKind::page_checksums) {
        pieces.push_back({extent.offset, extent.bytes});
      }
    }
    if (!pieces.empty()) {
      machine.medium().use_page_checksums(
          {superblock.file_offset(ExtentKind::journal), superblock.bytes_of(ExtentKind::journal)},
          std::move(pieces));
    }
  }
}

/// Makes the file as long as its extents, of which those behind byte `end` are new. The table of
/// page checksums takes new pages for zeros.
template <class M>
Status grow_file(M& machine, const Superblock& superblock, uint64_t end) {
  auto& medium = machine.medium();
  if constexpr (Journals<M>) {
    if (superblock.has_page_checksums()) {
      const Status status = medium.grow_with_zeros(end, superblock.file_bytes());
      if (status.ok()) {
        use_page_checksums(machine, superblock);
      }
      return status;
    }
  }
  return medium.grow(superblock.file_bytes());
}

/// Compares the pages of all regions with their checksums, and returns how many. corrupt: one
/// differs. 0 if the file has no checksums, or none that are up to date.
template <class M>
Result<uint64_t> verify_pages(M& machine, const Superblock& superblock) {
  uint64_t pages = 0;
  if constexpr (Journals<M>) {
    for (const Extent& extent : superblock.extents) {
      if (extent.kind != ExtentKind::journal && extent.kind != ExtentKind::page_checksums) {
        auto found = machine.medium().verify(extent.offset, extent.bytes);
        if (!found) {
          return found;
        }
        pages += *found;
      }
    }
  }
  return pages;
}

/// As verify_pages(), for the pages with these bytes of the data region, in each copy of it. Other
/// threads may make the heap larger meanwhile.
template <class M>
Status verify_data(M& machine, const Superblock& superblock, const Regions& regions,
                   const std::byte* p, size_t n) {
  if constexpr (Journals<M>) {
    auto& medium = machine.medium();
    const auto begin = static_cast<size_t>(p - regions.data) / kPageBytes * kPageBytes;
    const auto bytes = static_cast<size_t>(p - regions.data) + n - begin;
    const size_t whole = round_up(bytes, kPageBytes);
    if (medium.journaled() != nullptr) {
      Status status = medium.verify_mapped(regions.home + begin, whole);
      if (status.ok() && regions.twin != nullptr) {
        status = medium.verify_mapped(regions.twin + begin, whole);
      }
      return status;
    }
    // Read-only, so the heap keeps its extents; or there is nothing to ask.
    for (size_t at = begin; at < begin + whole && medium.read_only(); at += kPageBytes) {
      for (const ExtentKind kind : {ExtentKind::data, ExtentKind::twin}) {
        const uint64_t offset = superblock.file_offset(kind, at);
        const bool there = kind == ExtentKind::data || regions.twin != nullptr;
        const Status status = there ? medium.verify(offset, kPageBytes).status() : Status();
        if (!status.ok()) {
          return status;
        }
      }
    }
  }
  return {};
}

/// Opens the heap's journal, or makes it (`fresh`). If the heap has none and was not closed, lets
/// recovery see what the medium has.
template <class M>
Status start_journal(M& machine, const Superblock& superblock, bool fresh) {
  if (!superblock.has_journal()) {
    if constexpr (Journals<M>) {
      return fresh || superblock.clean ? Status() : machine.medium().forget_cache();
    }
    return {};
  }
  if constexpr (Journals<M>) {
    use_page_checksums(machine, superblock);
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
