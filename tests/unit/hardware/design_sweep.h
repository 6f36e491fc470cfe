// SPDX-License-Identifier: Apache-2.0
//
// Power failures at every persist event of a small program and of the recovery that follows, judged
// against the committed transactions, or against those of each epoch if the design has epochs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "tests/sanitized.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test {

/// A program: each worker runs transactions on lines of its own, of which some abort.
struct Program {
  int workers = 2;
  uint64_t transactions = 8;  ///< of each worker
  uint64_t most_lines = 5;    ///< that one transaction stores to
  /// After every so many crash points of the run, the power also fails at all persist events of the
  /// recovery.
  size_t recoveries = 1;
  size_t step = 1;    ///< one of so many crash points of the run is judged, and the last one
  size_t spread = 1;  ///< lines between two lines of a worker, for programs of many pages
  bool counts_losers = true;  ///< recovery knows how many transactions it has discarded
};

inline constexpr size_t kSweepWorkers = 2;
inline constexpr size_t kSweepLines = 20;
inline constexpr size_t kSweepBytes = kPageBytes;

/// A tiny machine with room for all lines of a sweep: nothing is evicted.
inline MachineDescription large_caches() {
  MachineDescription m = tiny();
  m.l1.bytes = m.l2.bytes = m.llc.bytes = 16 << 10;
  return m;
}

/// Two words of each of one worker's lines.
using SweepState = std::array<uint64_t, 2 * kSweepLines>;

/// Calls set(line, word, value) for the stores of transaction n. Word 0 of line 0 gets n.
template <class Set>
void stores_of(const Program& program, uint64_t n, Set&& set) {
  Random random(n);
  for (uint64_t i = 1 + random.below(program.most_lines - 1); i > 0; --i) {
    const size_t line = 1 + random.below(kSweepLines - 1);
    set(line, 0, 100 * n + i);
    set(line, 7, n);
  }
  set(0, 0, n);
}

/// By worker: its latest transaction that has begun, and that has been acknowledged.
struct Progress {
  std::array<uint64_t, kSweepWorkers> started{};
  std::array<uint64_t, kSweepWorkers> acknowledged{};
};

struct Moment : Progress {
  SimImage image;
  size_t epochs = 0;  ///< of the design that have ended
};

struct Verdict {
  size_t images = 0;           ///< at crash points of the run
  size_t recovery_images = 0;  ///< at crash points of recoveries
  size_t wrong = 0;            ///< images from which recovery found anything else
  uint64_t completed = 0;      ///< transactions that recoveries completed
  uint64_t discarded = 0;      ///< transactions that recoveries discarded
  size_t epochs = 0;           ///< of the design that have ended
  std::string why;             ///< the first wrong image
};

class Sweep {
 public:
  Sweep(SimOptions o, const Program& program)
      : options_(std::move(o)),
        program_(program),
        epochs_behind_(options_.make_design()->epochs_behind()) {
    states_.emplace_back();
    for (uint64_t n = 1; n <= program.transactions; ++n) {
      SweepState state = states_.back();
      stores_of(program, n, [&](size_t line, size_t word, uint64_t value) {
        state[2 * line + word / 7] = value;
      });
      states_.push_back(state);
    }
  }

  /// The images of all crash points, and the last one at the end. With `crash_at` only that of this
  /// crash.
  std::vector<Moment> run(uint64_t crash_at = kNever) {
    std::vector<Moment> moments;
    wrong_read_.clear();
    DesignMachine m(options_, {}, kSweepBytes * program_.spread);
    Moment now;
    epochs_.assign(1, {});
    m->at_epoch_end([&] {
      epochs_.push_back(now);
      ++now.epochs;
    });
    const auto look = [&](uint64_t) {
      moments.push_back(now);
      moments.back().image = m->earliest_image();
    };
    if (crash_at == kNever) {
      m->before_persist_event(look);
    } else {
      m->crash_at(crash_at);
    }
    m->run_threads(program_.workers, [&](int worker) { work(m, worker, now); });
    EXPECT_EQ(m->crashed(), crash_at != kNever);
    m->before_persist_event({});
    m->at_epoch_end({});
    look(0);
    return moments;
  }

  Verdict judge() {
    Verdict verdict;
    std::vector<Moment> moments;
    try {
      moments = run();
    } catch (const Error& error) {
      wrong(verdict, std::string("the run: ") + error.what());
      return verdict;
    }
    if (!wrong_read_.empty()) {
      wrong(verdict, wrong_read_);
    }
    verdict.epochs = moments.back().epochs;
    for (size_t i = 0; i < moments.size(); ++i) {
      if (i > 0 && i + 1 < moments.size() && moments[i].image == moments[i - 1].image &&
          moments[i].acknowledged == moments[i - 1].acknowledged) {
        continue;
      }
      if (i % program_.step != 0 && i + 1 < moments.size()) {
        continue;
      }
      judge(verdict, moments[i], i);
    }
    return verdict;
  }

  /// Crashes every `step` events, which must leave the image that a look has seen there.
  void expect_that_crashes_show_the_same_images(size_t step) {
    const std::vector<Moment> moments = run();
    EXPECT_EQ(wrong_read_, "");
    for (size_t event = 0; event + 1 < moments.size(); event += step) {
      ASSERT_TRUE(run(event).back().image == moments[event].image) << "event " << event;
    }
  }

 private:
  void work(DesignMachine& m, int worker, Moment& now) {
    const auto w = static_cast<size_t>(worker);
    const size_t base = kSweepLines * w;
    const auto store = [&](size_t line, size_t word, uint64_t value) {
      m.set((base + line) * program_.spread, value, word);
    };
    for (uint64_t n = 1; n <= program_.transactions; ++n) {
      if (n % 3 == 0) {
        m->tx_start();
        stores_of(program_, 1000 + n, store);
        m->tx_abort();
      }
      m->tx_start();
      now.started[w] = n;
      stores_of(program_, n, store);
      m->tx_commit();
      m->fence();
      now.acknowledged[w] = n;
      Random random(n);
      for (int i = 0; i < 6; ++i) {
        const size_t line = random.below(kSweepLines);
        const uint64_t value = m.get((base + line) * program_.spread);
        if (value != states_[n][2 * line] && wrong_read_.empty()) {
          wrong_read_ = "the run: worker " + std::to_string(worker) + " reads " +
                        std::to_string(value) + " in line " + std::to_string(line) + ", not " +
                        std::to_string(states_[n][2 * line]);
        }
      }
    }
  }

  void judge(Verdict& verdict, const Moment& moment, size_t event) {
    ++verdict.images;
    std::vector<SimImage> in_recovery;
    const bool nested = event % program_.recoveries == 0;
    const auto first = found(verdict, moment, moment.image, nested ? &in_recovery : nullptr,
                             "event " + std::to_string(event), true);
    for (size_t i = 0; first && i < in_recovery.size(); ++i) {
      ++verdict.recovery_images;
      const std::string where =
          "event " + std::to_string(event) + ", recovery's event " + std::to_string(i);
      const auto second = found(verdict, moment, in_recovery[i], nullptr, where, false);
      if (second && *second != *first) {
        wrong(verdict, where + ": another result");
      }
    }
  }

  /// The numbers of transactions that recovery finds; nothing if it finds no prefix of them.
  std::optional<std::array<uint64_t, kSweepWorkers>> found(Verdict& verdict, const Moment& moment,
                                                           const SimImage& image,
                                                           std::vector<SimImage>* in_recovery,
                                                           const std::string& where, bool counts) {
    try {
      DesignMachine m(options_, image, kSweepBytes * program_.spread, in_recovery);
      if (counts) {
        verdict.completed += m->design_recovery().transactions;
        verdict.discarded += m->design_recovery().discarded;
      }
      std::array<uint64_t, kSweepWorkers> numbers{};
      for (size_t w = 0; w < static_cast<size_t>(program_.workers); ++w) {
        SweepState state{};
        for (size_t i = 0; i < state.size(); ++i) {
          state[i] = m.get((kSweepLines * w + i / 2) * program_.spread, i % 2 == 0 ? 0 : 7);
        }
        numbers[w] = state[0];
        if ((!epochs_behind_ && state[0] < moment.acknowledged[w]) ||
            state[0] > moment.started[w]) {
          wrong(verdict, where + ": worker " + std::to_string(w) + " has transaction " +
                             std::to_string(state[0]) + ", acknowledged are " +
                             std::to_string(moment.acknowledged[w]));
          return {};
        }
        if (state != states_[state[0]]) {
          const auto at = std::mismatch(state.begin(), state.end(), states_[state[0]].begin());
          wrong(verdict, where + ": worker " + std::to_string(w) + " line " +
                             std::to_string((at.first - state.begin()) / 2) + " has " +
                             std::to_string(*at.first) + ", not " + std::to_string(*at.second));
          return {};
        }
      }
      if (epochs_behind_ && !ends_an_epoch(numbers, moment.epochs)) {
        wrong(verdict, where + ": transactions " + std::to_string(numbers[0]) + " and " +
                           std::to_string(numbers[1]) + " end no epoch of the latest, of " +
                           std::to_string(moment.epochs));
        return {};
      }
      return numbers;
    } catch (const Error& error) {
      wrong(verdict, where + ": " + error.what());
      return {};
    }
  }

  /// These were the workers' latest transactions when an epoch ended that a power failure may leave
  /// as the newest one, if so many have ended.
  bool ends_an_epoch(const std::array<uint64_t, kSweepWorkers>& numbers, size_t ended) const {
    for (size_t i = ended - std::min<size_t>(ended, *epochs_behind_); i <= ended; ++i) {
      bool fits = true;
      for (size_t w = 0; w < kSweepWorkers; ++w) {
        fits =
            fits && numbers[w] >= epochs_[i].acknowledged[w] && numbers[w] <= epochs_[i].started[w];
      }
      if (fits) {
        return true;
      }
    }
    return false;
  }

  static void wrong(Verdict& verdict, const std::string& why) {
    if (verdict.wrong++ == 0) {
      verdict.why = why;
    }
  }

  SimOptions options_;
  Program program_;
  std::optional<uint64_t> epochs_behind_;  ///< of the design
  std::vector<Progress> epochs_;           ///< at the end of each epoch of the latest run
  std::vector<SweepState> states_;         ///< after each prefix of a worker's transactions
  std::string wrong_read_;                 ///< the first wrong read of the latest run
};

inline Verdict sweep(const SimOptions& o, const Program& program = {}) {
  return Sweep(o, program).judge();
}

/// Expects that no power failure finds anything wrong, at each persist event of the run and of its
/// recoveries. The second search has disturbances, by 20 seeds (one under a sanitizer, which also
/// judges a part of the events only). A quick search runs few transactions, and looks into the
/// recoveries from a part of the images only.
inline void expect_durable(SimOptions o, Program program = {}, bool quick = true) {
  program.transactions = quick ? 8 : 12;
  program.recoveries = quick ? 4 : 1;
  program.step = kStep;
  const Verdict plain = sweep(o, program);
  EXPECT_EQ(plain.wrong, 0u) << plain.why;
  EXPECT_GT(plain.images, 50 / kStep);
  EXPECT_GT(plain.recovery_images, 0u);
  EXPECT_TRUE(plain.discarded > 0 || !program.counts_losers || kSanitized);
  program.transactions = quick ? 5 : 8;
  program.recoveries = quick ? 32 : 4;
  for (o.disturb = 1; o.disturb <= 20 / kShare; ++o.disturb) {
    const Verdict verdict = sweep(o, program);
    EXPECT_EQ(verdict.wrong, 0u) << "seed " << o.disturb << ", " << verdict.why;
  }
}

/// The number of wrong images that the same search finds for a design with a bug.
inline size_t wrong_images(SimOptions o, Program program = {}) {
  program.transactions = 8;
  program.recoveries = 8;
  size_t wrong = sweep(o, program).wrong;
  for (o.disturb = 1; wrong == 0 && o.disturb <= 20; ++o.disturb) {
    wrong += sweep(o, program).wrong;
  }
  return wrong;
}

/// Stores outside transactions, each protected by a pwb and a psync, to lines that transactions
/// have stored to. Expects that every power failure keeps those that were protected, and the
/// transactions that had committed. The design's counter `outside` counts such lines.
inline void expect_outside_stores_kept(SimOptions o) {
  constexpr size_t kLines = 6;
  struct Promised {
    SimImage image;
    uint64_t transactions = 0;
    std::array<uint64_t, kLines> outside{};  ///< by line
  };
  for (o.disturb = 0; o.disturb < 4; ++o.disturb) {
    std::vector<Promised> points;
    Promised now;
    size_t behind = 0;
    {
      DesignMachine m(o, {}, kSweepBytes);
      m->before_persist_event([&](uint64_t) {
        points.push_back(now);
        points.back().image = m->earliest_image();
        behind += m.count("outside") > 0 ? 1 : 0;
      });
      m.run([&] {
        for (uint64_t n = 1; n <= 10; ++n) {
          m.transaction(0, kLines, n);
          m->fence();
          now.transactions = n;
          const size_t line = n % kLines;
          m.set(line, n, 3);
          m->pwb(m.word(line, 3));
          m->psync();
          now.outside[line] = n;
        }
      });
      m->before_persist_event({});
    }
    EXPECT_GT(behind, 20u);
    for (const Promised& point : points) {
      const DesignMachine m(o, point.image, kSweepBytes);
      const uint64_t n = m.get(0);
      EXPECT_GE(n, point.transactions);
      for (size_t line = 0; line < kLines; ++line) {
        EXPECT_EQ(m.get(line), n);
        EXPECT_GE(m.get(line, 3), point.outside[line]) << line;
      }
    }
  }
}

}  // namespace holdfast::design_test
