// SPDX-License-Identifier: Apache-2.0
//
// The choice of a persistence domain: what a file and the system offer, and what the machine does.
#pragma once

#include <string>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// The abilities of a file and of the system.
struct Offer {
  bool map_sync = false;   ///< MAP_SYNC mappings work: the file is on persistent memory (DAX)
  bool cpu_cache = false;  ///< the system says that caches belong to the persistence domain
  bool in_memory = false;  ///< the file system is in memory, so a sync waits for no device
};
Offer examine(int fd);

/// The way in which a machine makes stores durable. Fixed when the machine is opened.
struct Persistence {
  Domain domain = Domain::file;
  WriteBack write_back = WriteBack::none;  ///< none, except in domain pmem
  bool map_sync = false;                   ///< shared mappings are MAP_SYNC
  bool emulated = false;                   ///< pmem or eadr without the hardware for it
  bool rmw_orders_pwb = false;             ///< see Persistence in machine.h
  bool waits_for_device = false;           ///< domain file, and a sync waits for a device
  std::string description;                 ///< a line for people
};

/// Chooses the domain if the options leave it open: eadr or pmem if offered, else file.
/// Code::unsupported for pmem or eadr that the file does not offer, unless forced.
Result<Persistence> choose_persistence(const std::string& path, const Offer& offer,
                                       const NativeOptions& options);

}  // namespace holdfast::native
