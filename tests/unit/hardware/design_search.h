// SPDX-License-Identifier: Apache-2.0
//
// Crash searches of a hardware design with engine hw on machine tiny.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/runner/crash/crash.h"
#include "tests/sanitized.h"

namespace holdfast::design_test {

class DesignSearch {
 public:
  /// `options` are the design's, unless a search has others.
  DesignSearch(std::string design, Json options)
      : design_(std::move(design)), options_(std::move(options)) {}

  /// The report of a search.
  Json run(const Json& more) const {
    Json spec = {{"engine", "hw"},
                 {"machine", "tiny"},
                 {"design", design_},
                 {"minimise", false},
                 {"design_options", options_}};
    spec.update(more);
    return crash(spec, [](double, const std::string&) {}).value();
  }

  /// Under a sanitizer a part of the schedules.
  void expect_clean(const Json& more) const {
    const Json report = run(fewer(more));
    EXPECT_TRUE(report["violations"].empty()) << report["violations"];
  }

  /// Expects a violation. Under a sanitizer a part of the schedules runs, which may show none.
  void expect_violation(const Json& more) const {
    const Json report = run(fewer(more));
    EXPECT_TRUE(kSanitized || !report["violations"].empty());
  }

  /// Expects that at least 30 planted bugs count, and that 90 % of them are caught. Under a
  /// sanitizer a few run.
  void expect_caught(const Json& more) const {
    Json wanted = more;
    wanted["mutants"] = std::max(1, more["mutants"].get<int>() / kShare);
    const Json report = run(wanted);
    ASSERT_TRUE(report["violations"].empty()) << report["violations"];
    if (kSanitized) {
      return;
    }
    const Json& mutants = report["mutants"];
    const auto caught = mutants["caught"].get<double>();
    const auto counted = caught + static_cast<double>(mutants["survivors"].size());
    EXPECT_GE(counted, 30);
    EXPECT_GE(caught, 0.9 * counted) << mutants["survivors"];
  }

  /// Expects that only states of these names have no crash point behind them in any of the
  /// searches, which find no violation. Under a sanitizer a part of the schedules runs, which
  /// reaches fewer states.
  void expect_uncovered(const Json& names, const std::vector<Json>& searches) const {
    Json uncovered;
    for (const Json& search : searches) {
      const Json report = run(fewer(search));
      EXPECT_TRUE(report["violations"].empty()) << report["violations"];
      const Json& own = report["uncovered"];
      uncovered = uncovered.is_null() ? own : in_both(uncovered, own);
    }
    EXPECT_TRUE(kSanitized || uncovered == names) << uncovered;
  }

 private:
  /// The names that two lists share.
  static Json in_both(const Json& names, const Json& others) {
    Json both = Json::array();
    std::copy_if(names.begin(), names.end(), std::back_inserter(both), [&](const Json& name) {
      return std::find(others.begin(), others.end(), name) != others.end();
    });
    return both;
  }

  static Json fewer(Json spec) {
    spec["schedules"] = std::max(1, spec["schedules"].get<int>() / kShare);
    return spec;
  }

  std::string design_;
  Json options_;
};

/// A search's settings. The keys of `more` replace those of `and_more`.
inline Json joined(const Json& more, Json and_more) {
  and_more.update(more);
  return and_more;
}

}  // namespace holdfast::design_test
