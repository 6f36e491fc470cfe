// SPDX-License-Identifier: Apache-2.0
//
// The part of CoherentCaches that finds contradictions in its own state, for tests.
#include <string>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {

std::string CoherentCaches::contradiction(uint32_t lines) {
  std::string found;
  const auto expect = [&](bool holds, uint32_t line, const char* text) {
    if (!holds && found.empty()) {
      found = "line " + std::to_string(line) + ": " + text;
    }
  };
  size_t older = 0;
  const auto older_version = [&](Level level, size_t cache, const CacheArray::Way& way) {
    if ((way.meta & LineBits::kOlder) != 0) {
      ++older;
      expect((way.meta & LineBits::kDirty) != 0, way.line, "an older version is clean");
      expect(versions_.find(name_of(level, cache), way.line) != nullptr, way.line,
             "an older version has no bytes");
    }
  };
  // Each copy is in the directory, and below each copy of an L1 its L2 has one.
  for (size_t core = 0; core < l1_.size(); ++core) {
    l1_[core].for_each([&](const CacheArray::Way& way) {
      const size_t domain = domain_of(static_cast<int>(core));
      expect(has(records_[way.line].sharers, domain), way.line, "in an L1, not in the directory");
      expect(l2_[domain].peek(way.line) != nullptr, way.line, "in an L1, not in its L2");
      expect((way.meta & LineBits::kOlder) == 0, way.line, "an older version in an L1");
      const bool owned = (way.meta & LineBits::kOwned) != 0;
      expect(!owned || records_[way.line].owner == domain + 1, way.line, "owned by no domain");
      expect(!owned || !sibling_has(static_cast<int>(core), way.line), way.line, "two L1s own it");
    });
  }
  for (size_t domain = 0; domain < l2_.size(); ++domain) {
    l2_[domain].for_each([&](const CacheArray::Way& way) {
      expect(has(records_[way.line].sharers, domain), way.line, "in an L2, not in the directory");
      older_version(Level::l2, domain, way);
    });
  }
  for (size_t llc = 0; llc < llc_.size(); ++llc) {
    llc_[llc].for_each([&](const CacheArray::Way& way) {
      expect(has(records_[way.line].llcs, llc), way.line, "in a last level, not in the directory");
      older_version(Level::llc, llc, way);
    });
  }
  // Each copy of the directory exists. There is at most one newest version.
  for (uint32_t line = 0; line < lines; ++line) {
    const Record& record = records_[line];
    for (size_t domain = 0; domain < 64; ++domain) {
      expect(!has(record.sharers, domain) ||
                 (domain < l2_.size() && l2_[domain].peek(line) != nullptr),
             line, "in the directory, not in its L2");
    }
    for (size_t llc = 0; llc < 32; ++llc) {
      expect(!has(record.llcs, llc) || (llc < llc_.size() && llc_[llc].peek(line) != nullptr), line,
             "in the directory, not in its last level");
    }
    expect(record.owner == 0 || record.sharers == uint64_t{1} << (record.owner - 1), line,
           "has an owner and other sharers");
    int newest = 0;
    int superseded = 0;
    for_each_copy(line, [&](Level, size_t, const CacheArray::Way& way) {
      const bool dirty = (way.meta & LineBits::kDirty) != 0;
      superseded += dirty && (way.meta & LineBits::kOlder) != 0 ? 1 : 0;
      newest += dirty && (way.meta & LineBits::kOlder) == 0 ? 1 : 0;
    });
    expect(!features_.versions || newest <= 1, line, "two dirty copies of the newest version");
    expect(superseded == 0 || newest == 1, line, "an older version, and no newer one");
  }
  expect(older == versions_.size(), 0, "bytes of an older version that no cache has");
  return found;
}

}  // namespace holdfast::sim
