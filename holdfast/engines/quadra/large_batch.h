// SPDX-License-Identifier: Apache-2.0
//
// The redo log of a batch that stores to more words than the table has records. It lies in a part
// of the home that the heap lends (Loan in engine.h).
//
//   log       records {place, words} (redo_record.h), one for each store, with the final values
//   entry     one line of the engine area: start | bytes | checksum | seal. A seal of 0: no log
//   commit    no word has a record in the table; log, pwb; pfence; entry, pwb; psync
//   finish    values -> home, pwb; pfence; seal := 0, pwb; pfence
//   recover   a sealed entry: finish again
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/durability/records/record_area.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/isolation/combining/store_log.h"

namespace holdfast::quadra {

/// For one thread at a time.
template <class M>
class LargeBatch {
 public:
  LargeBatch(M& machine, const Regions& regions) : machine_(machine), regions_(regions) {}

  /// Bytes that the log of these stores takes.
  static uint64_t log_bytes(const StoreLog<M>& stores) {
    uint64_t words = 0;
    for_each_run(stores, [&](uint64_t, uint64_t n) { words += 1 + n; });
    return words * sizeof(uint64_t);
  }

  /// Takes the memory that commit() needs. May throw bad_alloc.
  void reserve() { buffer_.reserve(kChunkWords); }

  /// Makes the stores durable, with the values of the working copy. Returns the bytes written.
  uint64_t commit(const StoreLog<M>& stores, const Loan& loan) {
    Writing log{loan.offset, 0};
    for_each_run(stores, [&](uint64_t first, uint64_t n) {
      put(log, RedoRecord{first, n * sizeof(uint64_t)}.header());
      for (uint64_t i = 0; i < n; ++i) {
        put(log, M::load(reinterpret_cast<const uint64_t*>(regions_.data + first) + i));
      }
    });
    flush(log);
    // Separates the log from its entry: the log is durable before the entry is stored, because a
    // stored line may reach the medium at any time.
    machine_.pfence(Site{"quadra.large.log.fence"});
    const Entry entry{loan.offset, log.start - loan.offset, log.checksum};
    // A chain of release stores. So the medium shows the seal only with the other words.
    M::store_release(word(0), entry.start);
    M::store_release(word(1), entry.bytes);
    M::store_release(word(2), entry.checksum);
    M::store_release(word(3), entry.seal());
    machine_.pwb(word(0), Site{"quadra.large.entry"});
    // The batch is durable before readers see it, and before callers are answered.
    machine_.psync(Site{"quadra.large.entry.sync"});
    return entry.bytes;
  }

  /// Brings a committed batch home, so that its log is needed no more.
  void finish(const StoreLog<M>& stores) {
    const PhaseScope<M> scope(Phase::replay);
    for_each_run(stores, [&](uint64_t first, uint64_t n) {
      M::copy(regions_.home + first, regions_.data + first, n * sizeof(uint64_t));
    });
    // After the last store to each line, so that one write-back per line is enough.
    LineFilter filter;
    for_each_run(stores, [&](uint64_t first, uint64_t n) {
      for_new_lines(filter, first, n * sizeof(uint64_t), [&](uint64_t line) {
        machine_.pwb(regions_.home + line, Site{"quadra.large.home"});
      });
    });
    machine_.pfence(Site{"quadra.large.home.fence"});
    end(Site{"quadra.large.end"}, Site{"quadra.large.end.fence"});
  }

  /// Reads the log of an interrupted batch. Fails with Code::corrupt if it is damaged. Changes
  /// nothing.
  Status read() {
    const Entry entry{M::load(word(0)), M::load(word(1)), M::load(word(2))};
    const uint64_t seal = M::load(word(3));
    if (seal == 0) {
      return {};
    }
    if (seal != entry.seal() || entry.start % sizeof(uint64_t) != 0 || entry.bytes == 0 ||
        entry.bytes % sizeof(uint64_t) != 0 || entry.start > regions_.bytes ||
        entry.bytes > regions_.bytes - entry.start) {
      return damaged("the entry of the last large batch of updates is damaged");
    }
    buffer_.resize(entry.bytes / sizeof(uint64_t));
    M::copy(buffer_.data(), regions_.home + entry.start, entry.bytes);
    uint64_t sum = 0;
    for (size_t at = 0; at < buffer_.size(); at += kChunkWords) {
      sum = checksum_of(buffer_.data() + at, std::min(kChunkWords, buffer_.size() - at), sum);
    }
    bool inside = true;
    const bool whole =
        for_each_record(buffer_.data(), buffer_.size(), [&](RedoRecord record, const uint64_t*) {
          inside = inside && record.offset < regions_.bytes &&
                   record.bytes <= regions_.bytes - record.offset;
        });
    return sum == entry.checksum && whole && inside
               ? Status()
               : damaged("the log of the last large batch of updates is damaged");
  }

  /// Brings home what read() has found. Returns its bytes, which are durable then. The entry goes
  /// last, so recovery after a crash repeats it.
  uint64_t recover() {
    if (buffer_.empty()) {
      return 0;
    }
    M::reach(Probe{"quadra.large.recovered"});
    const PhaseScope<M> scope(Phase::replay);
    uint64_t bytes = 0;
    for_each_record(buffer_.data(), buffer_.size(), [&](RedoRecord record, const uint64_t* words) {
      M::copy(regions_.home + record.offset, words, record.bytes);
      machine_.pwb_range(regions_.home + record.offset, record.bytes,
                         Site{"quadra.large.recover.home"});
      if (!machine_.skips(Site{"quadra.large.recover.working_copy"})) {
        // The working copy was mapped before the home changed, so it may lack these values.
        M::copy(regions_.data + record.offset, words, record.bytes);
      }
      bytes += record.bytes;
    });
    machine_.pfence(Site{"quadra.large.recover.home.fence"});
    end(Site{"quadra.large.recover.end"}, Site{"quadra.large.recover.end.fence"});
    buffer_ = {};
    return bytes;
  }

 private:
  static constexpr size_t kChunkWords = 8192;  // of the log, written and checked at a time

  struct Entry {
    uint64_t start;
    uint64_t bytes;
    uint64_t checksum;
    uint64_t seal() const { return mix64(start ^ mix64(bytes ^ mix64(checksum))) | 1; }
  };
  /// The part of the log that is on its way to the medium.
  struct Writing {
    uint64_t start;  // of the chunk in buffer_
    uint64_t checksum;
  };

  static Status damaged(const std::string& what) {
    return {Code::corrupt, what + "; nothing was changed. Restore the heap file from a copy"};
  }
  static uint64_t checksum_of(const uint64_t* words, size_t n, uint64_t before) {
    return holdfast::checksum(words, n * sizeof(uint64_t), before);
  }

  /// Calls f(offset, n) for the n words under each store. Stores to neighbouring words, one after
  /// the other, make one run.
  template <class F>
  static void for_each_run(const StoreLog<M>& stores, F&& f) {
    constexpr uint64_t kWord = sizeof(uint64_t);
    uint64_t first = 0;
    uint64_t end = 0;
    stores.for_each({}, [&](uint64_t offset, uint64_t bytes) {
      const uint64_t from = offset / kWord * kWord;
      const uint64_t to = round_up(offset + bytes, kWord);
      const bool joins = from >= first && from <= end && end != 0;
      if (joins && (std::max(to, end) - first) / kWord <= RedoRecord::kMaxWords) {
        end = std::max(to, end);
        return;
      }
      if (end != 0) {
        f(first, (end - first) / kWord);
      }
      first = from;
      end = to;
    });
    if (end != 0) {
      f(first, (end - first) / kWord);
    }
  }

  void put(Writing& log, uint64_t value) {
    buffer_.push_back(value);
    if (buffer_.size() == kChunkWords) {
      M::reach(Probe{"quadra.large.full_chunk"});
      flush(log);
    }
  }
  void flush(Writing& log) {
    const uint64_t bytes = buffer_.size() * sizeof(uint64_t);
    if (bytes != 0) {
      log.checksum = checksum_of(buffer_.data(), buffer_.size(), log.checksum);
      M::copy(regions_.home + log.start, buffer_.data(), bytes);
      machine_.pwb_range(regions_.home + log.start, bytes, Site{"quadra.large.log"});
      log.start += bytes;
      buffer_.clear();
    }
  }

  /// Removes the entry. The home is durable: the log is the only other place of its values.
  void end(Site site, Site fence) {
    M::store_release(word(3), uint64_t{0});
    machine_.pwb(word(3), site);
    // The entry has ended before later batches change the home, or the heap uses the loan.
    machine_.pfence(fence);
  }

  uint64_t* word(size_t i) const {
    return reinterpret_cast<uint64_t*>(regions_.area + RecordArea::kLargeOffset) + i;
  }

  M& machine_;
  Regions regions_;
  std::vector<uint64_t> buffer_;
};

}  // namespace holdfast::quadra
