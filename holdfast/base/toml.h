// SPDX-License-Identifier: Apache-2.0
//
// The TOML library. Its parser asserts conditions that malformed text breaks ("[ # comment" does),
// and assumes them where assertions are off. A malformed file must not end the program, so the
// assertions throw here. Two sources include this header, and no header does, because the library's
// templates are slow to compile. Both need the same assertions: its functions are inline.
#pragma once

#undef NDEBUG
#include <optional>
#include <stdexcept>

namespace holdfast {
[[noreturn]] inline void unexpected_toml() {
  throw std::invalid_argument("unexpected text");
}
}  // namespace holdfast

#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : holdfast::unexpected_toml())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
