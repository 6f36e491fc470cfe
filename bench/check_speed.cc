// SPDX-License-Identifier: Apache-2.0
//
// Measures how long the judges take for a long history. It has 100,000 transactions of up to ten
// accesses, by 16 threads on 1,000 objects, with rolled-back attempts and long scans, and is legal
// by construction. A second history has a fault planted in its middle. Bar: 10 seconds per
// judgement.
//
//   check_speed [transactions=100000] [blind percent of the writes=0] [--enforce]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "holdfast/base/seconds_since.h"
#include "holdfast/check/durability/durability.h"
#include "holdfast/check/history/legal_history.h"
#include "holdfast/check/isolation/isolation.h"

namespace holdfast::check {
namespace {

constexpr double kBarSeconds = 10;  // for 100,000 transactions

template <class Body>
double seconds(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return seconds_since(start);
}

LegalOptions shape(uint32_t transactions, uint32_t blind_percent, Isolation isolation) {
  LegalOptions options;
  options.isolation = isolation;
  options.objects = 1'000;
  options.threads = 16;
  options.transactions = transactions;
  options.accesses = 10;
  options.scan_permille = 10;
  options.scan = 500;
  options.write_percent = 40;
  options.blind_percent = blind_percent;
  return options;
}

/// Plants a fault: makes a read in the middle of the history return the object's initial version.
void plant(History& history) {
  for (size_t i = history.transactions.size() / 2; i < history.transactions.size(); ++i) {
    auto& accesses = history.transactions[i].accesses;
    if (accesses.size() > 1 && accesses[0].kind == Access::Kind::read &&
        !accesses[0].version.initial() && accesses[1].object != accesses[0].object) {
      accesses[0].version = {};
      return;
    }
  }
}

/// Prints the time and the verdict. Ends the program unless the verdict is as expected; without an
/// expectation any verdict is accepted.
template <class Judge>
double judge(const char* what, std::optional<bool> expect, Judge run) {
  std::vector<Finding> findings;
  const double took = seconds([&] { findings = run(); });
  std::printf("  %-36s %6.3f s  %s\n", what, took,
              findings.empty() ? "legal" : (findings[0].name + ": " + findings[0].text).c_str());
  if (expect && findings.empty() == *expect) {
    std::fprintf(stderr, "the judge is wrong: see above\n");
    std::exit(3);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  return took;
}

double measure(uint32_t transactions, uint32_t blind_percent, Isolation isolation) {
  LegalHistory maker(shape(transactions, blind_percent, isolation));
  History history = maker.make();
  std::vector<uint64_t> words = maker.words();
  size_t accesses = 0;
  size_t aborted = 0;
  for (const Transaction& transaction : history.transactions) {
    accesses += transaction.accesses.size();
    aborted += transaction.outcome == Outcome::aborted ? 1 : 0;
  }
  std::printf("%s: %zu transactions, %zu accesses, %zu attempts rolled back\n",
              isolation == Isolation::opaque ? "opaque" : "snapshot", history.transactions.size(),
              accesses, aborted);
  const auto isolated = [&] { return check_isolation(history, isolation, true); };
  const auto isolated_in_any_time = [&] { return check_isolation(history, isolation, false); };
  const auto durable = [&] { return check_durability(history, words, {Durability::strict}); };
  double worst = judge("isolation", false, isolated);
  worst = std::max(worst, judge("durability", false, durable));
  words[0] = 0;
  worst = std::max(worst, judge("durability, one object lost", true, durable));
  plant(history);
  worst = std::max(worst, judge("isolation, one fault", true, isolated));
  // Without real time the fault shows only through other transactions, if at all.
  return std::max(worst,
                  judge("isolation, one fault, no real time", std::nullopt, isolated_in_any_time));
}

}  // namespace
}  // namespace holdfast::check

int main(int argc, char** argv) {
  using holdfast::Isolation;
  const bool enforce = argc > 1 && std::strcmp(argv[argc - 1], "--enforce") == 0;
  argc -= enforce ? 1 : 0;
  const auto transactions = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100'000);
  const auto blind = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  double worst = 0;
  for (const Isolation isolation : {Isolation::opaque, Isolation::snapshot}) {
    worst = std::max(worst, holdfast::check::measure(transactions, blind, isolation));
  }
  std::printf("worst %.3f s, bar %.0f s\n", worst, holdfast::check::kBarSeconds);
  return enforce && worst > holdfast::check::kBarSeconds ? 1 : 0;
}
