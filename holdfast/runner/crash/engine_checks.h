// SPDX-License-Identifier: Apache-2.0
//
// Facts about engines that the checks need: planted bugs that must be caught, settings that take
// rare paths, findings that are expected. They stand beside the engine, in checks.toml of its
// folder; a part that engines share may have a checks.toml as well. docs/inside/testing.md has the
// tables and fields.
//
// A row holds for the engines of its folder, or for those that its `engines` names. A row about a
// label that stands in its own folder's headers holds for every engine that includes the header. So
// a row of a part holds for all engines that are built from the part. A row of the engine's own
// folder goes before one that comes with a part.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/options.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/phase.h"
#include "holdfast/machine/sim/memory/persist_lint.h"
#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// A planted bug that the crash explorer must catch: a mutation of a site, or, with an empty
/// `mutation`, a setting of the engine's options that is wrong.
struct Canary {
  std::string engine;
  std::string mutation;
  std::string setting;  ///< names the wrong setting
  std::string bug;
  Json needs;  ///< an object: what the search needs beyond the usual
};

/// A planted bug that changes nothing a crash can show.
struct HarmlessBug {
  std::string mutation;
  std::string reason;
};

/// A finding of the lint that is no mistake.
struct ExpectedFinding {
  LintKind kind = LintKind::not_written_back;
  std::string where;
  std::string reason;
};

/// A setting that takes rare paths: a full log, the lock, no background thread. Each suite that
/// looks for rare paths has its list: `crash`, the searches on the simulated machine, and `native`,
/// the stress on this computer.
struct EngineVariant {
  std::string name;
  Options options;
  bool rmw_orders_pwb = true;
  std::string transactions;  ///< per thread, in the crash search
  std::string program = {};  ///< empty: random programs
  std::map<std::string, std::string> params = {};
  std::string workload = {};  ///< empty: programs
  int schedules = 36;         ///< the kinds of schedule repeat every 18 seeds
  bool journal = false;       ///< domain `file`, over a journal
  std::string design = {};    ///< empty: none, or for an engine that needs one the tests' usual one
  std::map<std::string, std::string> design_options = {};
};

/// A write-back, and the phase of the stores that it covers.
struct CoveredPhase {
  std::string site;
  Phase phase = Phase::execute;
  Options options;
};

/// The phases of one transaction of one thread: it stores to the words `stores`, or loads `loads`.
struct PhaseOrder {
  std::vector<int> stores;
  std::vector<int> loads;
  std::vector<Phase> phases;
  Options options;
};

/// A label that no run comes to, or no hunt for planted bugs.
struct UnreachedLabel {
  std::string label;
  std::string reason;
  bool by_hunts_only = false;
};

/// A rare path of the sources that a suite does not take.
struct UnreachedProbe {
  std::string name;
  std::string reason;
  bool by_chance = false;  ///< it may take it, though rarely; else that is an error
};

struct EngineChecks {
  std::vector<Canary> canaries;
  std::vector<HarmlessBug> harmless;
  std::vector<ExpectedFinding> findings;
  std::vector<EngineVariant> variants;         ///< of suite crash
  std::vector<EngineVariant> native_variants;  ///< of suite native
  std::vector<CoveredPhase> phases;
  std::vector<PhaseOrder> orders;
  std::vector<UnreachedLabel> unreached;
  std::set<std::string> rare_paths;                     ///< names of probes
  std::vector<UnreachedProbe> unreached_probes;         ///< by suite crash
  std::vector<UnreachedProbe> native_unreached_probes;  ///< by suite native

  /// True if no run, or for `hunts` no hunt, comes to the label.
  bool is_unreached(const std::string& label, bool hunts = false) const;
};

/// The checks of every engine of the registry, by name. Reads all checks.toml below `directory`;
/// empty: holdfast/engines of the source tree. Errors name file and line: invalid_argument for an
/// unknown table, field, engine or label, and for two rows about one thing.
Result<std::map<std::string, EngineChecks>> load_engine_checks(
    const std::filesystem::path& directory = {});

}  // namespace holdfast
