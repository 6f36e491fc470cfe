// SPDX-License-Identifier: Apache-2.0
//
// Instructions for persistence: write-backs, non-temporal stores, fences.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::native {

/// The line that the instructions below write back, and that hardware transactions track.
#if defined(__powerpc64__)
inline constexpr size_t kNativeLineBytes = 128;
#else
inline constexpr size_t kNativeLineBytes = 64;
#endif

/// The instruction that writes a cache line back to memory. On POWER it is DCBST; from POWER10 on
/// (ISA 3.1) it is DCBSTPS, which is meant for persistent memory. On 64-bit ARM it is DC CVAP from
/// ARMv8.2 on, which cleans to the point of persistence; earlier processors have DC CVAC only.
enum class WriteBack : uint8_t {
  none,
  clflush,
  clflushopt,
  clwb,
  dc_cvac,
  dc_cvap,
  dcbst,
  dcbstps
};

const char* to_string(WriteBack instruction);

/// The best instruction that this processor has. CLWB keeps the line cached; CLFLUSHOPT does not;
/// CLFLUSH does not either, and is ordered with every store.
WriteBack detect_write_back();

/// A barrier for the compiler only: it moves no memory access across. No instruction.
inline void compiler_barrier() {
  asm volatile("" ::: "memory");
}

/// Begins to write back the line of p, and does not wait. Each case is a compiler barrier for all
/// words of the line. `instruction` was detected at run time and never changes, so the processor
/// predicts the branch.
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
    case WriteBack::dc_cvap:  // DC CVAP; assemblers for ARMv8.0 do not know the name
      asm volatile("sys #3, c7, c12, #1, %0" ::"r"(line) : "memory");
      return;
#elif defined(__powerpc64__)
    case WriteBack::dcbst:
      asm volatile("dcbst 0,%0" ::"r"(line) : "memory");
      return;
    case WriteBack::dcbstps:  // dcbf with L = 6; older assemblers do not know it
      asm volatile(".long 0x7cc000ac | (%0 << 11)" ::"r"(line) : "memory");
      return;
#endif
    default:
      asm volatile("" ::"r"(line) : "memory");
      return;
  }
}

/// True if the processor has stores that bypass the caches and need no write-back. STNP of AArch64
/// is only a hint: the line may stay in a cache, so it still needs a write-back.
#if defined(__x86_64__)
inline constexpr bool kStoresAroundCaches = true;
#else
inline constexpr bool kStoresAroundCaches = false;
#endif

/// MOVNTI: stores to a write-combining buffer, without reading the line, and evicts a cached copy.
/// Only persist_fence and locked instructions order it with other stores, because they empty these
/// buffers (Intel SDM 3A 12.3.1). A compiler barrier. Sanitizers do not see the access.
inline void store_around_caches([[maybe_unused]] void* to, [[maybe_unused]] uint64_t value) {
#if defined(__x86_64__)
  asm volatile("movnti %1, (%0)" ::"r"(to), "r"(value) : "memory");
#endif
}

/// Separates the write-backs (made by `instruction`) and stores before it from all stores after it:
/// the former are complete when it is.
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

/// Separates stores from later loads: the stores are visible to other threads before the loads are
/// performed. On x86 a locked instruction on the stack is the cheapest such fence; it orders
/// write-backs too (Intel SDM 3A 9.2.5).
inline void full_fence() {
#if defined(__x86_64__)
  asm volatile("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace holdfast::native
