// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/hardware_htm.h"

#if defined(__powerpc64__)
// holdfast_call_suspended(f, a, b, stack): on `stack`, suspended, f(a, b). ELFv2.
//
// Between tsr. 0 and tsr. 1 nothing is loaded from the frame of this function, which the
// transaction has stored to and, doomed, no longer has: what is needed later stays in r31, which f
// keeps.
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

/// Suspended code of the engines calls a few functions deep and keeps nothing large on its stack.
[[maybe_unused]] constexpr size_t kStackBytes = size_t{64} << 10;
/// The caller's part of the first frame: 32 bytes in ELFv2, and a line to spare.
[[maybe_unused]] constexpr size_t kHeaderBytes = 4 * kLineBytes;

}  // namespace

void HardwareThread::prepare_to_suspend() {
#if defined(__powerpc64__)
  stack_ = std::make_unique<std::byte[]>(kStackBytes);  // zeroed, so that all its pages are there
#endif
}

void HardwareThread::suspended([[maybe_unused]] void (*f)(void* a, void* b),
                               [[maybe_unused]] void* a, [[maybe_unused]] void* b) {
  assert(hardware::kSuspends);
#if defined(__powerpc64__)
  order_stores();
  const auto end = reinterpret_cast<uintptr_t>(stack_.get()) + kStackBytes - kHeaderBytes;
  holdfast_call_suspended(f, a, b,
                          reinterpret_cast<std::byte*>(end & ~uintptr_t{2 * kLineBytes - 1}));
#endif
}

}  // namespace holdfast::native
