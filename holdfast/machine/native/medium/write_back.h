// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::native {

/// What the instructions below write back, and hardware transactions track.
#if defined(__powerpc64__)
inline constexpr size_t kNativeLineBytes = 128;
#else
inline constexpr size_t kNativeLineBytes = 64;
#endif

/// The instruction that writes a cache line back to memory. The last two are POWER's: DCBST, and
/// from POWER10 on (ISA 3.1) the one that is meant for persistent memory.
enum class WriteBack : uint8_t { none, clflush, clflushopt, clwb, dc_cvac, dcbst, dcbstps };

const char* to_string(WriteBack instruction);

/// The best this processor has: CLWB keeps the line cached, CLFLUSHOPT does not, CLFLUSH is also
/// ordered with every store.
WriteBack detect_write_back();

/// A barrier for the compiler only: what was stored before stays before.
inline void compiler_barrier() {
  asm volatile("" ::: "memory");
}

/// The instruction was detected at run time; the switch is on a member that never changes, so the
/// branch is predicted. Every case is a compiler barrier, for the line's other words as well.
inline void write_back_line(WriteBack instruction, const void* p) {
  auto* line = static_cast<volatile char*>(const_cast<void*>(p));
  switch (instruction) {
#if defined(__x86_64__)
    case WriteBack::clwb:
      asm volatile("clwb %0" : "+m"(*line)::"memory");
      return;
    case WriteBack::clflushopt:
      asm volatile("clflushopt %0" : "+m"(*line)::"memory");
      return;
    case WriteBack::clflush:
      asm volatile("clflush %0" : "+m"(*line)::"memory");
      return;
#elif defined(__aarch64__)
    case WriteBack::dc_cvac:
      asm volatile("dc cvac, %0" ::"r"(line) : "memory");
      return;
#elif defined(__powerpc64__)
    case WriteBack::dcbst:
      asm volatile("dcbst 0,%0" ::"r"(line) : "memory");
      return;
    case WriteBack::dcbstps:  // dcbf with L = 6, which older assemblers do not know
      asm volatile(".long 0x7cc000ac | (%0 << 11)" ::"r"(line) : "memory");
      return;
#endif
    default:
      asm volatile("" ::"r"(line) : "memory");
      return;
  }
}

/// Whether the processor has stores that go around the caches without a write-back of their own.
/// AArch64's STNP is only a hint: the line may stay in a cache and needs its DC CVAC.
#if defined(__x86_64__)
inline constexpr bool kStoresAroundCaches = true;
#else
inline constexpr bool kStoresAroundCaches = false;
#endif

/// MOVNTI: into a write-combining buffer, without reading the line; a cached copy goes. Ordered
/// with other stores by persist_fence and by locked instructions only, which empty these buffers
/// (Intel SDM 3A 12.3.1). A compiler barrier. Sanitizers do not see the access.
inline void store_around_caches([[maybe_unused]] void* to, [[maybe_unused]] uint64_t value) {
#if defined(__x86_64__)
  asm volatile("movnti %1, (%0)" ::"r"(to), "r"(value) : "memory");
#endif
}

/// Completes the write-backs, by that instruction, and stores before it.
inline void persist_fence([[maybe_unused]] WriteBack instruction) {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dsb sy" ::: "memory");
#elif defined(__powerpc64__)
  if (instruction == WriteBack::dcbstps) {
    asm volatile(".long 0x7c8004ac" ::: "memory");  // phwsync: sync with L = 4
  } else {
    asm volatile("sync" ::: "memory");
  }
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// Stores before it are visible to others before loads after it are performed. A locked instruction
/// on the stack is the cheapest such fence on x86, and orders write-backs too (Intel SDM 3A 9.2.5).
inline void full_fence() {
#if defined(__x86_64__)
  asm volatile("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace holdfast::native
