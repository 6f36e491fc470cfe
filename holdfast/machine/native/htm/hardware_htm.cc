// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/hardware_htm.h"

#if defined(__powerpc64__)
// holdfast_call_suspended(f, a, b, stack): suspends, runs f(a, b) on `stack`, resumes. ELFv2.
//
// Between tsr. 0 and tsr. 1 it loads nothing from its own frame. The transaction has stored to that
// frame, and loses these stores when it is doomed. The stack pointer is kept in r31, which f
// preserves.
asm(R"(
        .text
        .p2align 4
        .globl  holdfast_call_suspended
        .hidden holdfast_call_suspended
        .type   holdfast_call_suspended, @function
holdfast_call_suspended:
        .localentry holdfast_call_suspended, .-holdfast_call_suspended
        mflr    0
        std     0, 16(1)
        std     31, -8(1)
        stdu    1, -64(1)
        std     2, 24(1)
        mr      31, 1
        mr      12, 3
        mr      3, 4
        mr      4, 5
        mr      1, 6
        mtctr   12
        tsr.    0
        bctrl
        tsr.    1
        mr      1, 31
        ld      2, 24(1)
        addi    1, 1, 64
        ld      31, -8(1)
        ld      0, 16(1)
        mtlr    0
        blr
        .size   holdfast_call_suspended, .-holdfast_call_suspended
)");

extern "C" void holdfast_call_suspended(void (*f)(void*, void*), void* a, void* b,
                                        std::byte* stack);
#endif

namespace holdfast::native {
namespace {

/// Enough, because suspended code of the engines nests few calls and has no large local objects.
[[maybe_unused]] constexpr size_t kStackBytes = size_t{64} << 10;
/// Room above the first frame: it stores into its caller's header, 32 bytes in ELFv2.
[[maybe_unused]] constexpr size_t kHeaderBytes = 4 * kLineBytes;

}  // namespace

void HardwareThread::prepare_to_suspend() {
#if defined(__powerpc64__)
  stack_ = std::make_unique<std::byte[]>(kStackBytes);  // zeroing makes all its pages present
#endif
}

void HardwareThread::suspended([[maybe_unused]] void (*f)(void* a, void* b),
                               [[maybe_unused]] void* a, [[maybe_unused]] void* b) {
  assert(hardware::kSuspends);
#if defined(__powerpc64__)
  order_stores();
  const auto end = reinterpret_cast<uintptr_t>(stack_.get()) + kStackBytes - kHeaderBytes;
  holdfast_call_suspended(f, a, b,
                          reinterpret_cast<std::byte*>(end & ~uintptr_t{kMaxLineBytes - 1}));
#endif
}

}  // namespace holdfast::native
