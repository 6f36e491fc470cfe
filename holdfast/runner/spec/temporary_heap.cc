// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/temporary_heap.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace holdfast {

std::string default_folder(Domain domain) {
  std::error_code error;
  if (domain != Domain::file && std::filesystem::is_directory("/dev/shm", error)) {
    return "/dev/shm";
  }
  // Read once, before any thread of ours could change the environment.
  const char* chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  return chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
}

TemporaryHeap::TemporaryHeap(const std::string& folder, Domain domain, const std::string& label) {
  const std::string place = folder.empty() ? default_folder(domain) : folder;
  std::error_code error;
  if (!std::filesystem::is_directory(place, error)) {
    throw Error(Status(Code::not_found, place + " is not a folder; heap files cannot go there"));
  }
  path_ = place + "/holdfast-" + std::to_string(getpid()) + "-" + label + ".heap";
  std::filesystem::remove(path_, error);
}

TemporaryHeap::~TemporaryHeap() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace holdfast
