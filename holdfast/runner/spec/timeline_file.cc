// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/timeline_file.h"

#include <cerrno>
#include <system_error>

namespace holdfast {

Result<std::shared_ptr<TimelineFile>> TimelineFile::open(const std::string& path,
                                                         const std::string& process) {
  errno = 0;
  std::shared_ptr<TimelineFile> made(new TimelineFile(path, process));
  if (!made->file_) {
    return made->failure(Code::invalid_argument);
  }
  return made;
}

Status TimelineFile::write() {
  errno = 0;
  timeline_.write(file_);
  file_.close();
  return file_ ? Status() : failure(Code::io_error);
}

Status TimelineFile::failure(Code code) const {
  return {code, "the timeline cannot be written to " + path_ + ": " +
                    (errno != 0 ? std::generic_category().message(errno) : "unknown reason") +
                    "; choose another file"};
}

}  // namespace holdfast
