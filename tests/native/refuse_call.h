// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace holdfast {

/// From here on the filter decides about system calls of the thread. False if the system does not
/// allow that.
inline bool filter_calls(std::span<sock_filter> lines) {
  const sock_fprog program = {static_cast<unsigned short>(lines.size()), lines.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// From here on this is the filter's result for this system call of the thread. False as above.
inline bool filter_call(int number, uint32_t result) {
  const auto call = static_cast<uint32_t>(number);
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, result),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return filter_calls(lines);
}

/// From here on this system call fails with this errno in the thread. False as above.
inline bool refuse_call(int number, int error) {
  return filter_call(number, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
}

}  // namespace holdfast
