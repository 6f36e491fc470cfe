// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/threads/timeline.h"

namespace holdfast {

/// A timeline and the file it goes to.
class TimelineFile {
 public:
  /// Creates or empties the file, so that a path that cannot be written is known before the run.
  static Result<std::shared_ptr<TimelineFile>> open(const std::string& path,
                                                    const std::string& process);

  const std::string& path() const { return path_; }
  sim::Timeline& timeline() { return timeline_; }
  /// Call once, after the recording has ended.
  Status write();

 private:
  TimelineFile(const std::string& path, const std::string& process)
      : path_(path), file_(path, std::ios::binary | std::ios::trunc), timeline_(process) {}
  Status failure(Code code) const;

  std::string path_;
  std::ofstream file_;
  sim::Timeline timeline_;
};

}  // namespace holdfast
