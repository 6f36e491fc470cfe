// SPDX-License-Identifier: Apache-2.0
//
// Options for engines that a test does not know by name.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "holdfast/engines/engine.h"
#include "tests/sanitized.h"

namespace holdfast {

/// The options given, and for all others the smallest values, so that logs fill and wrap around.
inline Options with_tiny(const Description& engine, Options options) {
  for (size_t i = 0; i < engine.option_count; ++i) {
    if (engine.options[i].tiny != nullptr) {
      options.try_emplace(engine.options[i].name, engine.options[i].tiny);
    }
  }
  return options;
}

/// Those of the options that the engine knows.
inline Options known_options(const Description& engine, Options options) {
  std::erase_if(options, [&](const auto& option) {
    const auto is_it = [&](const OptionInfo& info) { return option.first == info.name; };
    return std::none_of(engine.options, engine.options + engine.option_count, is_it);
  });
  return options;
}

/// The names of those rows of a registry that `chosen` is true for.
template <class Rows, class F>
std::vector<std::string> names_of(const Rows& rows, F&& chosen) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (chosen(row)) {
      names.emplace_back(row.description->name);
    }
  }
  return names;
}

/// The first one of names_of(); empty if this build has none (HOLDFAST_ONLY_ENGINES), so that the
/// tests which need one fail and the others can run.
template <class Rows, class F>
std::string first_of(const Rows& rows, F&& chosen) {
  const std::vector<std::string> names = names_of(rows, chosen);
  return names.empty() ? std::string() : names.front();
}

inline bool is_durable(const Description& engine) {
  return engine.durability != Durability::none;
}

/// Whether tests of many hundred updates run with the engine. One that copies the whole heap each
/// time does little else in them, and under a sanitizer its copies take minutes.
inline bool has_fast_updates(const Description& engine) {
  return !(kSanitized && engine.rewrites_heap);
}

/// The domain for a test that asks for none: persistent memory, or caches that survive where the
/// engine needs them.
inline Domain usual_domain(const Description& engine) {
  return engine.runs_in(Domain::pmem) ? Domain::pmem : Domain::eadr;
}

/// The first engine with each value of `kind`, a function of their descriptions.
template <class Rows, class F>
std::vector<std::string> first_of_each(const Rows& rows, std::vector<std::string> names, F&& kind) {
  std::set<decltype(kind(*rows.front().description))> seen;
  std::erase_if(names, [&](const std::string& name) {
    return !seen.insert(kind(*find_row("engine", name, rows).value()->description)).second;
  });
  return names;
}

/// For tests that take minutes: of these engines the first one of each layout, kind of log and
/// isolation.
template <class Rows>
std::vector<std::string> one_of_each_kind(const Rows& rows, std::vector<std::string> names) {
  return first_of_each(rows, std::move(names), [](const Description& d) {
    return std::tuple<Layout, std::string, Isolation>(d.layout, d.log, d.isolation);
  });
}

/// An engine's name as part of a test's name, which may have no hyphen.
inline std::string test_name(std::string engine) {
  std::replace(engine.begin(), engine.end(), '-', '_');
  return engine;
}

}  // namespace holdfast
