// SPDX-License-Identifier: Apache-2.0
//
// Do the judge and brute force agree on tiny histories, legal or not?
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "holdfast/base/checksum.h"
#include "holdfast/check/history/legal_history.h"
#include "holdfast/check/isolation/isolation.h"
#include "tests/sanitized.h"
#include "tests/unit/check/brute_force.h"

namespace holdfast::check::isolation_random_test {
namespace {

std::string text_of(const History& history) {
  std::string text;
  const auto name = [](Version v) {
    return std::to_string(v.transaction) + "." + std::to_string(v.write);
  };
  for (const Transaction& t : history.transactions) {
    text += std::to_string(t.begin) + "-" + (t.end == kForever ? "" : std::to_string(t.end));
    text += t.outcome == Outcome::aborted ? " aborted" : t.outcome == Outcome::live ? " live" : "";
    for (const Access& access : t.accesses) {
      const std::string object = std::to_string(access.object);
      text += access.kind == Access::Kind::read    ? " r" + object + "=" + name(access.version)
              : access.kind == Access::Kind::write ? " w" + object + "=" + name(access.replaced)
                                                   : " b" + object;
    }
    text += "\n";
  }
  return text;
}

LegalOptions tiny(uint64_t seed, Isolation isolation, uint32_t blind_percent) {
  Random random(mix64(seed));
  LegalOptions options;
  options.seed = seed;
  options.isolation = isolation;
  options.objects = static_cast<uint32_t>(random.between(1, 3));
  options.threads = static_cast<uint32_t>(random.between(2, 4));
  options.transactions = static_cast<uint32_t>(random.between(2, 6));
  options.accesses = static_cast<uint32_t>(random.between(1, 4));
  options.blind_percent = blind_percent;
  options.abort_percent = random.below(2) == 0 ? 0 : 30;
  options.stop_early = random.below(2) == 0;
  return options;
}

/// A random version of the object: mostly one that others may see, now and then one of another
/// object.
Version any_version(const History& history, const Transaction& reader, Object object,
                    Random& random) {
  std::vector<Version> versions = {{}};
  const bool sensible = random.below(4) != 0;
  for (const Transaction& t : history.transactions) {
    std::optional<Version> last;
    for (const Access& access : t.accesses) {
      if (access.writes() && (access.object == object || random.below(40) == 0)) {
        if (!sensible) {
          versions.push_back(access.version);
        }
        last = access.version;
      }
    }
    if (last && t.outcome != Outcome::aborted && t.number != reader.number) {
      versions.push_back(*last);
    }
  }
  return versions[random.below(versions.size())];
}

/// Makes one change, which may or may not make the history illegal.
void corrupt(History& history, Random& random) {
  Transaction& t = history.transactions[random.below(history.transactions.size())];
  switch (random.below(6)) {
    case 0: {
      const uint64_t length = t.end - t.begin;
      if (t.end != kForever) {  // another place in time
        t.begin = random.below(30);
        t.end = t.begin + std::min<uint64_t>(length, 1 + random.below(10));
      }
      break;
    }
    case 1:
      t.outcome = t.outcome == Outcome::committed ? Outcome::aborted : Outcome::committed;
      t.end = std::min(t.end, t.begin + 9);
      break;
    default:
      if (!t.accesses.empty()) {  // another value
        Access& access = t.accesses[random.below(t.accesses.size())];
        const Version version = any_version(history, t, access.object, random);
        if (access.kind != Access::Kind::blind) {
          (access.writes() ? access.replaced : access.version) = version;
        }
      }
  }
}

struct Tally {
  int legal = 0;
  int illegal = 0;
  int unseen = 0;  // illegal, but the judge accepted it
  std::map<std::string, int> names;
  uint64_t texts = 0;  // the checksum of all histories, and of what the judge says
};

void add_text(const std::string& text, Tally& tally) {
  tally.texts = checksum(text.data(), text.size(), tally.texts);
}

bool read_from(const Transaction& reader, uint32_t writer, Object object) {
  return std::any_of(reader.accesses.begin(), reader.accesses.end(), [&](const Access& access) {
    const Version found = access.kind == Access::Kind::write ? access.replaced : access.version;
    return access.kind != Access::Kind::blind && access.object == object &&
           found.transaction == writer;
  });
}

bool writes(const Transaction& writer, Object object) {
  return std::any_of(writer.accesses.begin(), writer.accesses.end(), [&](const Access& access) {
    return access.writes() && access.object == object;
  });
}

/// Checks that the steps form a cycle, and that each step is true as far as its two transactions
/// tell.
void examine_steps(const Finding& finding, const History& history, bool real_time) {
  if (finding.text.find("has all of") == std::string::npos) {
    return;  // a fault of a single transaction
  }
  const auto& steps = finding.steps;
  ASSERT_GE(steps.size(), 2u);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    ASSERT_EQ(step.to, steps[(i + 1) % steps.size()].from) << to_string(finding, history);
    const Transaction& from = history.at(step.from);
    const Transaction& to = history.at(step.to);
    ASSERT_TRUE(step.kind == EdgeKind::real_time    ? real_time && from.end < to.begin
                : step.kind == EdgeKind::write_read ? read_from(to, step.from, step.object)
                : step.kind == EdgeKind::write_write
                    ? writes(from, step.object) && writes(to, step.object)
                    : writes(to, step.object) && !read_from(from, step.to, step.object))
        << to_string(finding, history);
  }
}

/// Judges the history with and without real time, under both isolations, and compares with brute
/// force.
void compare(const History& history, bool exact, Tally& tally) {
  for (const Isolation isolation : {Isolation::opaque, Isolation::snapshot}) {
    if (isolation == Isolation::snapshot && history.transactions.size() > 5) {
      continue;  // too many orders of snapshots and commits
    }
    for (const bool real_time : {true, false}) {
      const bool legal = BruteForce(history, isolation, real_time).legal();
      const auto findings = check_isolation(history, isolation, real_time);
      if (legal) {
        ASSERT_TRUE(findings.empty()) << text_of(history) << to_string(findings[0], history);
      } else if (exact) {
        ASSERT_FALSE(findings.empty())
            << text_of(history) << (isolation == Isolation::opaque ? "opaque" : "snapshot")
            << (real_time ? ", real time" : "");
      }
      ++(legal ? tally.legal : tally.illegal);
      tally.unseen += !legal && findings.empty() ? 1 : 0;
      if (!findings.empty()) {
        add_text(to_string(findings[0], history), tally);
        examine_steps(findings[0], history, real_time);
        ++tally.names[findings[0].name];
      }
    }
  }
}

Tally compare_many(int count, uint32_t blind_percent) {
  Tally tally;
  for (int seed = 1; seed <= count && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto isolation = seed % 2 == 0 ? Isolation::opaque : Isolation::snapshot;
    const auto seed64 = static_cast<uint64_t>(seed);
    History history = legal_history(tiny(seed64, isolation, blind_percent));
    EXPECT_TRUE(check_isolation(history, isolation, true).empty()) << text_of(history);
    add_text(text_of(history), tally);
    compare(history, blind_percent == 0, tally);
    Random random(mix64(seed64 + 1'000'000));
    for (uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      corrupt(history, random);
      compare(history, blind_percent == 0, tally);
    }
  }
  return tally;
}

TEST(CheckIsolationRandom, AgreesWithBruteForceWhereWritesTellWhatTheyReplaced) {
  const Tally tally = compare_many(6'000 / kShare, 0);
  EXPECT_GT(tally.legal, 1'000 / kShare);
  EXPECT_GT(tally.illegal, 1'000 / kShare);
  EXPECT_EQ(tally.unseen, 0);
  EXPECT_TRUE(kSanitized || tally.texts == 13541154889268074265U)
      << tally.texts << ": the same histories, other words";
  for (const char* name :
       {"garbage read", "aborted read", "intermediate read", "lost own write", "future read",
        "non-repeatable read", "lost update", "write skew", "circular information flow",
        "fractured read", "read skew", "stale read", "real-time order violation"}) {
    EXPECT_TRUE(kSanitized || tally.names.count(name) > 0) << name;
  }
}

TEST(CheckIsolationRandom, NeverBlamesBlindWritesForNothing) {
  const Tally tally = compare_many(4'000 / kShare, 50);
  EXPECT_GT(tally.legal, 1'000 / kShare);
  EXPECT_GT(tally.illegal, 1'000 / kShare);
  // Only a search of all orders of blind writes would find the unseen ones.
  EXPECT_TRUE(kSanitized || tally.unseen * 100 <= tally.illegal);
  EXPECT_TRUE(kSanitized || tally.texts == 15831354002733828377U)
      << tally.texts << ": the same histories, other words";
  RecordProperty("illegal", tally.illegal);
  RecordProperty("unseen", tally.unseen);
}

TEST(CheckIsolationRandom, LegalHistoriesPass) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const Isolation isolation : {Isolation::opaque, Isolation::snapshot}) {
      LegalOptions options;
      options.seed = seed;
      options.isolation = isolation;
      options.objects = 20;
      options.threads = 8;
      options.transactions = 400;
      options.scan_permille = 50;
      options.scan = 15;
      options.blind_percent = seed % 3 == 0 ? 40 : 0;
      const History history = legal_history(options);
      const auto findings = check_isolation(history, isolation, true);
      ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << to_string(findings[0], history);
    }
  }
}

/// In a longer history the judge finds a read that saw a version replaced long before.
TEST(CheckIsolationRandom, OneWrongValueAmongManyIsFound) {
  int found = 0;
  int planted = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    LegalOptions options;
    options.seed = seed;
    options.objects = 10;
    options.threads = 6;
    options.transactions = 300;
    options.stop_early = false;
    History history = legal_history(options);
    Random random(mix64(seed));
    Transaction& t = history.transactions[100 + random.below(100)];
    if (t.accesses.empty() || t.accesses[0].writes() || t.accesses[0].version.initial()) {
      continue;
    }
    t.accesses[0].version = {};  // long replaced
    ++planted;
    found += check_isolation(history, Isolation::opaque, true).empty() ? 0 : 1;
  }
  EXPECT_GT(planted, 50);
  EXPECT_EQ(found, planted);
}

}  // namespace
}  // namespace holdfast::check::isolation_random_test
