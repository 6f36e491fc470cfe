// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/comparator.h"

#include <algorithm>

namespace holdfast::db {

Comparator::~Comparator() = default;

namespace {

class Bytewise final : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }
  const char* Name() const override { return "leveldb.BytewiseComparator"; }

  /// Shortens *start to a string in [*start, limit), if increasing one byte can do that.
  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    const size_t common = std::min(start->size(), limit.size());
    size_t at = 0;
    while (at < common && (*start)[at] == limit[at]) {
      ++at;
    }
    if (at < common) {
      const auto byte = static_cast<unsigned char>((*start)[at]);
      if (byte + 1 < static_cast<unsigned char>(limit[at])) {
        (*start)[at] = static_cast<char>(byte + 1);
        start->resize(at + 1);
      }
    }
  }

  void FindShortSuccessor(std::string* key) const override {
    const size_t at = key->find_first_not_of('\xff');
    if (at != std::string::npos) {
      (*key)[at] = static_cast<char>(static_cast<unsigned char>((*key)[at]) + 1);
      key->resize(at + 1);
    }
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const Bytewise comparator;
  return &comparator;
}

}  // namespace holdfast::db
