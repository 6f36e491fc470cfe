// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/hash_update/hash_update_model.h"

#include <stdexcept>

#include "holdfast/workloads/hash_update/hash_batch.h"

namespace holdfast {

Response HashUpdateModel::apply(const Request& request, ModelState& state) const {
  if (request.kind != 0) {
    throw std::out_of_range("hash-update has no operation " + std::to_string(request.kind));
  }
  const HashBatch batch = HashBatch::of(request.argument[0]);
  for (uint64_t k = 0; k < batch.accesses(); ++k) {
    uint64_t& element = state.at(batch.element(k, state.size()));
    if (!batch.is_read(k)) {
      element = batch.value(k);
    }
  }
  return {};
}

bool HashUpdateModel::may_change(const Request& request, const Response&) const {
  const HashBatch batch = HashBatch::of(request.argument[0]);
  return batch.reads() < batch.accesses();
}

std::string HashUpdateModel::describe(const Request& request) const {
  const HashBatch batch = HashBatch::of(request.argument[0]);
  return "update " + std::to_string(batch.value(0)) + ": " + std::to_string(batch.accesses()) +
         " accesses, " + std::to_string(batch.reads()) + " reads";
}

std::string HashUpdateModel::describe(const Request&, const Response&) const {
  return "done";
}

}  // namespace holdfast
