// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <boost/histogram/histogram.hpp>
#include <boost/histogram/storage_adaptor.hpp>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace holdfast {

/// Counts durations, for percentiles right to 0.4 %. Takes 60 KiB.
///
/// Boost.Histogram counts. Its logarithmic axis takes a logarithm per entry, as long as a short
/// operation takes, so the axis here is log-linear, as HdrHistogram's: 128 buckets of equal width
/// for each power of two.
///
/// Thread safety: none; each thread has its own, and += adds them up.
class Histogram {
 public:
  void add(uint64_t value) { counts_(value), ++count_; }

  Histogram& operator+=(const Histogram& other) {
    counts_ += other.counts_;
    count_ += other.count_;
    return *this;
  }

  uint64_t count() const { return count_; }

  /// The smallest value that at least `share` (0 to 1) of all entries do not exceed, as the middle
  /// of its bucket; 0 when there are no entries.
  double percentile(double share) const {
    const double rank = share * static_cast<double>(count_);
    double seen = 0;
    int last = 0;
    for (int i = 0; i < LogLinearAxis::kBuckets && count_ != 0; ++i) {
      const uint64_t here = counts_.at(i);
      if (here == 0) {
        continue;
      }
      last = i;
      seen += static_cast<double>(here);
      if (seen >= rank) {
        break;
      }
    }
    return LogLinearAxis().value(last);
  }

 private:
  /// Values below 2^(kBits+1) have buckets of their own. Above, the kBits bits after the leading
  /// one choose the bucket within their power of two.
  struct LogLinearAxis {
    static constexpr unsigned kBits = 7;
    static constexpr int kBuckets = (64 - kBits + 1) << kBits;

    int index(uint64_t value) const {
      const auto width = static_cast<unsigned>(std::bit_width(value));
      if (width <= kBits + 1) {
        return static_cast<int>(value);
      }
      const unsigned shift = width - kBits - 1;
      return static_cast<int>((uint64_t{shift} << kBits) + (value >> shift));
    }
    int size() const { return kBuckets; }
    bool operator==(const LogLinearAxis&) const { return true; }

    /// The middle of a bucket.
    double value(int bucket) const {
      if (bucket < (2 << kBits)) {
        return bucket;
      }
      const int shift = (bucket >> kBits) - 1;
      const auto low = static_cast<uint64_t>((bucket & ((1 << kBits) - 1)) | (1 << kBits)) << shift;
      return static_cast<double>(low) + static_cast<double>(uint64_t{1} << shift) / 2;
    }
  };

  boost::histogram::histogram<std::tuple<LogLinearAxis>, boost::histogram::dense_storage<uint64_t>>
      counts_{LogLinearAxis{}};
  uint64_t count_ = 0;
};

}  // namespace holdfast
