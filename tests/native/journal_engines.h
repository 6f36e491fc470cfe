// SPDX-License-Identifier: Apache-2.0
//
// The engines of tests of journaled heaps.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine_options.h"

namespace holdfast {

/// Engines of this computer that run over a journal on a disk, or those that do not.
inline std::vector<std::string> engines_by_journal(bool journaled) {
  return names_of(engine_rows<NativeMachine>(), [&](const auto& row) {
    const Description& about = *row.description;
    return about.check_journal().ok() == journaled && !about.needs_design &&
           about.runs_in(Domain::file);
  });
}

/// Those of them whose readers trust updates that are not durable yet, with these options. But not
/// those that write the whole heap with each update: they fill groups, and a writer whose group is
/// full waits for the medium before a reader comes in.
inline std::vector<std::string> engines_with_early_readers(const Options& options) {
  std::vector<std::string> names;
  for (const std::string& name : engines_by_journal(true)) {
    const Description& engine = *AnyEngine<NativeMachine>::describe(name).value();
    if (!engine.promised(options, true).observed && !engine.rewrites_heap) {
      names.push_back(name);
    }
  }
  return names;
}

/// Options of a small log, for engines that have one: small files make fast tests.
inline Options small_log(const std::string& engine) {
  Options options;
  const Description& description = *AnyEngine<NativeMachine>::describe(engine).value();
  for (const OptionInfo& option : description.option_list()) {
    if (std::string(option.name) == "log_bytes") {
      options["log_bytes"] = "65536";
    }
  }
  return options;
}

inline std::string name_of_test(const testing::TestParamInfo<std::string>& test) {
  return test_name(test.param);
}

}  // namespace holdfast
