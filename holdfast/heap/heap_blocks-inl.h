// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap for raw blocks. Included by heap.h only.
#pragma once

namespace holdfast {

template <class E>
void* Heap<E>::allocate(size_t bytes) {
  const Context& c = updating();
  return Allocator<E>(c.data, c.partitions).allocate(bytes, c.slot);
}

template <class E>
void Heap<E>::deallocate(void* block, size_t bytes) {
  const Context& c = updating();
  Allocator<E>(c.data, c.partitions).deallocate(block, bytes, c.slot);
}

template <class E>
void* Heap<E>::exchange(void* block, size_t bytes, size_t wanted) {
  const Context& c = updating();
  return Allocator<E>(c.data, c.partitions).exchange(block, bytes, wanted, c.slot);
}

}  // namespace holdfast
