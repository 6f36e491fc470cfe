// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/medium/write_back.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__powerpc64__) || defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace holdfast::native {

const char* to_string(WriteBack instruction) {
  switch (instruction) {
    case WriteBack::none:
      return "none";
    case WriteBack::clflush:
      return "clflush";
    case WriteBack::clflushopt:
      return "clflushopt";
    case WriteBack::clwb:
      return "clwb";
    case WriteBack::dc_cvac:
      return "dc cvac";
    case WriteBack::dc_cvap:
      return "dc cvap";
    case WriteBack::dcbst:
      return "dcbst";
    case WriteBack::dcbstps:
      return "dcbstps";
  }
  return "unknown";
}

WriteBack detect_write_back() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    if ((b & (1u << 24)) != 0) {
      return WriteBack::clwb;
    }
    if ((b & (1u << 23)) != 0) {
      return WriteBack::clflushopt;
    }
  }
  return WriteBack::clflush;  // all 64-bit x86 processors have it
#elif defined(__aarch64__)
  constexpr unsigned long kPointOfPersistence = 1UL << 16;  // HWCAP_DCPOP
  return (getauxval(AT_HWCAP) & kPointOfPersistence) != 0 ? WriteBack::dc_cvap : WriteBack::dc_cvac;
#elif defined(__powerpc64__)
  constexpr unsigned long kIsa31 = 0x00040000;  // PPC_FEATURE2_ARCH_3_1
  return (getauxval(AT_HWCAP2) & kIsa31) != 0 ? WriteBack::dcbstps : WriteBack::dcbst;
#else
  return WriteBack::none;
#endif
}

}  // namespace holdfast::native
