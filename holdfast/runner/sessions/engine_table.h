// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/heap/heap_options.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/workloads/catalogue.h"

namespace holdfast {

/// An engine compiled for this computer. The table is generated from the list in
/// holdfast/engines/CMakeLists.txt; one translation unit per engine stands behind each line.
struct NativeEngine {
  const Description* description;
  /// spec.engine is this engine; spec.open is create or open.
  Result<std::unique_ptr<Session>> (*open)(const SessionSpec& spec);
  /// A new heap file with these options and nothing else; what `convert` fills a new file with.
  Status (*create)(const std::string& path, const CreateOptions& options, Domain domain);
  bool replays;  ///< its log can be replayed by itself
};

std::span<const NativeEngine> native_engines();

/// Names of all engines, in the order of the list; with `plain` first if asked for.
std::vector<std::string> engine_names(bool with_plain);

/// The baseline that is no engine: the workload on ordinary memory, one thread, nothing durable.
inline constexpr const char* kPlain = "plain";

/// The line of this engine; NotFound lists the right names.
Result<const NativeEngine*> find_native_engine(const std::string& name);

/// Opens a session of any engine, `plain` included. Resolves create_or_open by looking for the
/// file.
Result<std::unique_ptr<Session>> open_session(const SessionSpec& spec);

/// The session of `plain`, which has no file.
Result<std::unique_ptr<Session>> open_plain_session(const SessionSpec& spec);

}  // namespace holdfast
