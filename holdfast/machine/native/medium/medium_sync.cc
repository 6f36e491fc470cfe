// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/medium_sync.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/file.h"

namespace holdfast::native {

MediumSync::MediumSync(int fd, std::string path, std::function<int(int)> sync)
    : fd_(fd),
      path_(std::move(path)),
      calls_fdatasync_(!sync),
      sync_(sync ? std::move(sync) : std::function<int(int)>(&fdatasync)),
      no_memory_(Code::out_of_space,
                 path_ +
                     ": the system had no memory for writing to the medium. Nothing more is "
                     "accepted; open the heap again, which recovers what was acknowledged "
                     "before") {}

void MediumSync::wait_durable() {
  // Release, with the acquire below: before a call that counts this request begins, the stores of
  // this thread are in memory.
  const uint64_t mine = asked_.fetch_add(1, std::memory_order_release) + 1;
  const std::lock_guard lock(mutex_);
  if (failed()) {
    throw_failure();
  }
  if (served_ >= mine) {
    return;
  }
  const uint64_t serving = asked_.load(std::memory_order_acquire);
  int result = 0;
  do {
    result = sync_(fd_);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    fail_with(errno);
  }
  served_ = serving;
}

int MediumSync::run(FunctionRef<int()> flush) {
  const std::lock_guard lock(mutex_);
  if (failed()) {
    throw_failure();
  }
  const int result = flush();
  if (result > 0) {
    fail_with(result);
  }
  return result;
}

/// Under the mutex.
void MediumSync::fail_with(int error) {
  const std::string why = std::generic_category().message(error);
  // A file that shares blocks, or is compressed, may need new ones for an overwrite.
  const bool full = file_error(path_, "", error).code() == Code::out_of_space;
  fail({full ? Code::out_of_space : Code::io_error,
        path_ + ": writing to the medium failed (" + why + "). Nothing more is accepted; " +
            (full ? "make room on the disk" : "look at the disk") +
            ", then open the heap again, which recovers what was acknowledged before",
        error});
  throw_failure();
}

void MediumSync::throw_failure() const {
  throw MediumFailure(failure_);
}

void MediumSync::poison(const Status& why) {
  const std::lock_guard lock(mutex_);
  fail(why);
}

void MediumSync::fail_without_memory() {
  {
    const std::lock_guard lock(mutex_);
    fail(std::move(no_memory_));
  }
  throw_failure();
}

void MediumSync::fail(Status why) {
  // failure_ is written once. The release orders it before the flag; see failed().
  if (!failed()) {
    failure_ = std::move(why);
    failed_.store(true, std::memory_order_release);
  }
}

}  // namespace holdfast::native
