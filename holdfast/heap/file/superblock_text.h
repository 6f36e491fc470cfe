// SPDX-License-Identifier: Apache-2.0
//
// Parts that the superblocks of all formats share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/engines/engine.h"

namespace holdfast {

inline constexpr std::string_view kMagic = "HOLDFAST";
inline constexpr size_t kEngineNameBytes = 32;
inline constexpr size_t kOptionsBytes = 2048;

/// Returns the options as lines of name=value.
std::string join(const Options& options);
/// Reads what join has made.
Options split(std::string_view text);

/// Returns the format number of a superblock that begins with the magic text, or 0.
uint32_t format_of(std::span<const std::byte> bytes);

}  // namespace holdfast
