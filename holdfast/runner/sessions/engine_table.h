// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/heap/file/heap_options.h"
#include "holdfast/runner/sessions/session.h"
#include "holdfast/workloads/catalogue.h"

namespace holdfast {

/// An engine compiled for this computer. The table is generated from the list in
/// holdfast/engines/CMakeLists.txt; each row has a translation unit of its own.
struct NativeEngine {
  const Description* description;
  /// spec.engine is this engine; spec.open is create or open.
  Result<std::unique_ptr<Session>> (*open)(const SessionSpec& spec);
  /// Creates an empty heap file with these options; `convert` then copies the data into it.
  Status (*create)(const std::string& path, const CreateOptions& options, Domain domain);
  bool replays;  ///< its log can be replayed by itself
};

std::span<const NativeEngine> native_engines();

/// Returns the names of all engines, in the order of the list; `with_plain` puts `plain` first.
std::vector<std::string> engine_names(bool with_plain);

/// The baseline, which is no engine: the workload on ordinary memory, one thread, nothing durable.
inline constexpr const char* kPlain = "plain";

/// Returns not_found for an unknown name; the message lists the names there are.
Result<const NativeEngine*> find_native_engine(const std::string& name);

/// Opens a session of any engine, `plain` included. Resolves create_or_open by looking for the
/// file.
Result<std::unique_ptr<Session>> open_session(const SessionSpec& spec);

/// Opens the session of `plain`, which has no file.
Result<std::unique_ptr<Session>> open_plain_session(const SessionSpec& spec);

}  // namespace holdfast
