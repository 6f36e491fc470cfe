// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/run_body.h"

namespace holdfast {

/// Memory for a list that loads or stores inside bodies add to, under the rules of
/// must_have_memory(). Unlike that around each access, it leaves the code of an access as it is.
template <class T, class M>
class BodyAllocator {
 public:
  using value_type = T;

  [[gnu::noinline]] T* allocate(size_t n) {
    auto* const context = static_cast<Context*>(M::context());
    if (context == nullptr) {  // the body is over
      return std::allocator<T>().allocate(n);
    }
    return must_have_memory(*context, [n] { return std::allocator<T>().allocate(n); });
  }
  void deallocate(T* p, size_t n) { std::allocator<T>().deallocate(p, n); }

  bool operator==(const BodyAllocator&) const = default;
};

}  // namespace holdfast
