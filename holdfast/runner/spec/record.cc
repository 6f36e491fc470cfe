// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/record.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast {

Status write_record(int fd, const Record& record) {
  while (true) {
    const ssize_t n = write(fd, &record, sizeof(record));
    if (n == static_cast<ssize_t>(sizeof(record))) {
      return {};
    }
    if (n >= 0) {
      return {Code::io_error,
              "the pipe took " + std::to_string(n) + " bytes of a record; it must be a pipe"};
    }
    if (errno != EINTR) {
      return {Code::io_error,
              "writing to the pipe failed: " + std::generic_category().message(errno)};
    }
  }
}

Result<std::vector<Record>> parse_records(std::string_view bytes) {
  if (bytes.size() % sizeof(Record) != 0) {
    return Status(Code::corrupt, std::to_string(bytes.size()) +
                                     " bytes of acknowledgements are not whole records of " +
                                     std::to_string(sizeof(Record)) + " bytes");
  }
  std::vector<Record> records(bytes.size() / sizeof(Record));
  if (!records.empty()) {
    std::memcpy(records.data(), bytes.data(), bytes.size());
  }
  return records;
}

}  // namespace holdfast
