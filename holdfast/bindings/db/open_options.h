// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "holdfast/db/options.h"

namespace holdfast::bindings {

/// The options of holdfast.open, by name. Raises TypeError for a value of another type, ValueError
/// for a number out of range, and MisuseError for an unknown domain; all name the option.
db::Options to_options(const nanobind::dict& given);

/// Returns an option that says yes or no.
bool flag(const nanobind::dict& given, const char* name);

}  // namespace holdfast::bindings
