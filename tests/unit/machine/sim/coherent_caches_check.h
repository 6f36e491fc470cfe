// SPDX-License-Identifier: Apache-2.0
//
// Finds contradictions between caches, directory and versions of lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {

/// A friend of the caches, because a contradiction shows in their state before any access does.
class CoherentCachesCheck {
 public:
  /// Returns the first contradiction that concerns lines below `lines`; empty if there is none.
  static std::string contradiction(CoherentCaches& caches, uint32_t lines) {
    std::string found;
    const auto expect = [&](bool holds, uint32_t line, const char* text) {
      if (!holds && found.empty()) {
        found = "line " + std::to_string(line) + ": " + text;
      }
    };
    const auto has = [](uint64_t mask, size_t i) { return CoherentCaches::has(mask, i); };
    size_t older = 0;
    const auto older_version = [&](Level level, size_t cache, const CacheArray::Way& way) {
      if ((way.meta & LineBits::kOlder) != 0) {
        ++older;
        expect((way.meta & LineBits::kDirty) != 0, way.line(), "an older version is clean");
        expect(caches.versions_.find(caches.name_of(level, cache), way.line()) != nullptr,
               way.line(), "an older version has no bytes");
      }
    };
    // Each copy is in the directory, and below each copy of an L1 its L2 has one.
    for (size_t core = 0; core < caches.l1_.size(); ++core) {
      caches.l1_[core].for_each([&](const CacheArray::Way& way) {
        const size_t domain = caches.domain_of(static_cast<int>(core));
        const auto& record = caches.records_[way.line()];
        expect(has(record.sharers, domain), way.line(), "in an L1, not in the directory");
        expect(caches.l2_[domain].peek(way.line()) != nullptr, way.line(),
               "in an L1, not in its L2");
        expect((way.meta & LineBits::kOlder) == 0, way.line(), "an older version in an L1");
        const bool owned = (way.meta & LineBits::kOwned) != 0;
        expect(!owned || record.owner == domain + 1, way.line(), "owned by no domain");
        expect(!owned || !caches.sibling_has(static_cast<int>(core), way.line()), way.line(),
               "two L1s own it");
      });
    }
    for (size_t domain = 0; domain < caches.l2_.size(); ++domain) {
      caches.l2_[domain].for_each([&](const CacheArray::Way& way) {
        expect(has(caches.records_[way.line()].sharers, domain), way.line(),
               "in an L2, not in the directory");
        older_version(Level::l2, domain, way);
      });
    }
    for (size_t llc = 0; llc < caches.llc_.size(); ++llc) {
      caches.llc_[llc].for_each([&](const CacheArray::Way& way) {
        expect(has(caches.records_[way.line()].llcs, llc), way.line(),
               "in a last level, not in the directory");
        older_version(Level::llc, llc, way);
      });
    }
    // Each copy of the directory exists. There is at most one newest version.
    for (uint32_t line = 0; line < lines; ++line) {
      const auto& record = caches.records_[line];
      for (size_t domain = 0; domain < 64; ++domain) {
        expect(!has(record.sharers, domain) ||
                   (domain < caches.l2_.size() && caches.l2_[domain].peek(line) != nullptr),
               line, "in the directory, not in its L2");
      }
      for (size_t llc = 0; llc < 32; ++llc) {
        expect(!has(record.llcs, llc) ||
                   (llc < caches.llc_.size() && caches.llc_[llc].peek(line) != nullptr),
               line, "in the directory, not in its last level");
      }
      expect(record.owner == 0 || record.sharers == uint64_t{1} << (record.owner - 1), line,
             "has an owner and other sharers");
      int newest = 0;
      int superseded = 0;
      caches.for_each_copy(line, [&](Level, size_t, const CacheArray::Way& way) {
        const bool dirty = (way.meta & LineBits::kDirty) != 0;
        superseded += dirty && (way.meta & LineBits::kOlder) != 0 ? 1 : 0;
        newest += dirty && (way.meta & LineBits::kOlder) == 0 ? 1 : 0;
      });
      expect(!caches.features_.versions || newest <= 1, line,
             "two dirty copies of the newest version");
      expect(superseded == 0 || newest == 1, line, "an older version, and no newer one");
    }
    expect(older == caches.versions_.size(), 0, "bytes of an older version that no cache has");
    return found;
  }
};

}  // namespace holdfast::sim
