// SPDX-License-Identifier: Apache-2.0
//
// Looking into heap files, and moving them to another engine.
#pragma once

#include <string>

#include "holdfast/runner/spec/json.h"

namespace holdfast {

/// Reads the superblocks alone: path, uuid, engine, options, sizes, base, threads, in_use, healed.
/// Works on a heap in use as well. Never changes the file.
Result<Json> heap_info(const std::string& path);

/// Opens the heap read-only (recovering it in memory; the file stays as it is) and walks its
/// allocator and every workload in it: ok, problems[], recovery, roots[], blocks and bytes by
/// state. Returns busy when a program has the heap open.
Result<Json> heap_check(const std::string& path);

/// Returns heap_info(), the roots and the walk's counts in one object.
Result<Json> heap_dump(const std::string& path);

/// Copies the heap in `source` into a new file `target` of the present format. spec: engine
/// (default: the source's), options, max_bytes (default: the source's limit of growth),
/// journal_bytes (default: the size of the source's journal). corrupt, without a target, if a page
/// of the source differs from its checksum.
Result<Json> heap_convert(const std::string& source, const std::string& target, const Json& spec);

}  // namespace holdfast
