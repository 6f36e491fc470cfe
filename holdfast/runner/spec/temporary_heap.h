// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// A name for a heap file. The destructor removes the file.
class TemporaryHeap {
 public:
  /// In `folder`, or in the default one for this domain when empty. Throws Error(not_found).
  TemporaryHeap(const std::string& folder, Domain domain, const std::string& label);
  ~TemporaryHeap();
  TemporaryHeap(const TemporaryHeap&) = delete;
  TemporaryHeap& operator=(const TemporaryHeap&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A folder in memory, or one on a disk for domain `file`, whose cost is the disk's.
std::string default_folder(Domain domain);

}  // namespace holdfast
