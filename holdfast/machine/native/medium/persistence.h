// SPDX-License-Identifier: Apache-2.0
//
// What survives on a given file, and how it is made to.
#pragma once

#include <string>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// What the file and the system offer.
struct Offer {
  bool map_sync = false;   ///< MAP_SYNC mappings work: the file is on persistent memory (DAX)
  bool cpu_cache = false;  ///< the system says that caches are in the persistence domain
};
Offer examine(int fd);

/// How a machine makes stores durable, fixed when it is opened.
struct Persistence {
  Domain domain = Domain::file;
  WriteBack write_back = WriteBack::none;
  bool map_sync = false;
  bool emulated = false;
  bool rmw_orders_pwb = false;
  std::string description;
};

/// Chooses the domain if the options leave it open; refuses pmem and eadr where the file does not
/// offer them, unless forced.
Result<Persistence> choose_persistence(const std::string& path, const Offer& offer,
                                       const NativeOptions& options);

}  // namespace holdfast::native
