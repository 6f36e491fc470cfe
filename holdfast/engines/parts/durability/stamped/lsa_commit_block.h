// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/parts/isolation/stm/lsa_thread.h"

namespace holdfast {

/// Fills `block` with the stores of a transaction that owns its stripes. Sealing adds the time.
template <class M>
void lay_out(CommitBlock& block, const LsaThread<M>& t) {
  block.clear();
  for (const WriteSet::Entry& e : t.writes.entries()) {
    const auto* const at = reinterpret_cast<const std::byte*>(e.word);
    block.add(static_cast<uint64_t>(at - t.data), LsaThread<M>::value_of(e));
  }
  block.reserve_end();
}

}  // namespace holdfast
