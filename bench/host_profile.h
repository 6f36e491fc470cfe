// SPDX-License-Identifier: Apache-2.0
//
// A sampling profile of a part of a benchmark, by function.
#pragma once

#include <cxxabi.h>
#include <dlfcn.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

/// Samples the program counter once per millisecond of processor time, from construction to stop().
/// Only one profile may exist at a time, because the process has one SIGPROF. The profile knows the
/// functions that the program exports (-rdynamic). Time in an inlined function counts for its
/// caller.
class HostProfile {
 public:
  struct Row {
    std::string name;
    double share;  ///< share of all samples
  };

  HostProfile() {
    taken().store(0);
    // Fibers have small stacks, so the handler has a stack of its own.
    stack_t stack = {};
    stack.ss_sp = stack_.data();
    stack.ss_size = stack_.size();
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = &HostProfile::sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(SIGPROF, &action, nullptr);
    set_timer(kPeriodMicroseconds);
  }
  ~HostProfile() {
    stop();
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  HostProfile(const HostProfile&) = delete;
  HostProfile& operator=(const HostProfile&) = delete;

  void stop() { set_timer(0); }
  /// Returns the share of each group(demangled function name), the largest first. An unknown
  /// function has the name "".
  template <class Group>
  std::vector<Row> rows(Group&& group) const {
    const size_t n = std::min(taken().load(), samples().size());
    std::map<std::string, size_t> counts;  // NOLINT(misc-const-correctness): filled below
    for (size_t i = 0; i < n; ++i) {
      ++counts[group(name_of(samples()[i]))];
    }
    std::vector<Row> rows;
    rows.reserve(counts.size());
    for (const auto& [name, count] : counts) {
      rows.push_back({name, static_cast<double>(count) / static_cast<double>(n)});
    }
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.share > b.share; });
    return rows;
  }

 private:
  static constexpr int kPeriodMicroseconds = 1000;

  // Static, because the signal handler has no pointer to this object.
  static std::array<void*, 1 << 18>& samples() {
    static std::array<void*, 1 << 18> all;
    return all;
  }
  static std::atomic<size_t>& taken() {
    static std::atomic<size_t> n;
    return n;
  }
  static void sample(int, siginfo_t*, void* context) {
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    const auto counter = static_cast<uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
    const auto counter = static_cast<uintptr_t>(registers.pc);
#else
    const auto counter = static_cast<uintptr_t>(registers.gp_regs[32]);
#endif
    const size_t i = taken().fetch_add(1);
    if (i < samples().size()) {
      samples()[i] = reinterpret_cast<void*>(counter);  // NOLINT(performance-no-int-to-ptr)
    }
  }
  static void set_timer(int microseconds) {
    itimerval timer = {};
    timer.it_interval.tv_usec = timer.it_value.tv_usec = microseconds;
    setitimer(ITIMER_PROF, &timer, nullptr);
  }
  static std::string name_of(void* counter) {
    Dl_info info;
    if (dladdr(counter, &info) == 0 || info.dli_sname == nullptr) {
      return "";
    }
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), std::free);
    return status == 0 ? text.get() : info.dli_sname;
  }

  std::array<std::byte, 1 << 16> stack_;
};

}  // namespace holdfast
