// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/partitioned_model.h"

#include <stdexcept>

namespace holdfast {
namespace {

/// The structures of a state by number. Throws std::out_of_range if the state is no list of them.
std::map<uint64_t, ModelState> structures_of(const ModelState& state) {
  std::map<uint64_t, ModelState> all;
  for (size_t at = 0; at < state.size();) {
    const uint64_t part = state[at];
    const uint64_t length = state.at(at + 1);
    if (length > state.size() - at - 2) {
      throw std::out_of_range("a state of partitions is too short");
    }
    const auto begin = state.begin() + static_cast<ptrdiff_t>(at) + 2;
    all[part] = ModelState(begin, begin + static_cast<ptrdiff_t>(length));
    at += 2 + length;
  }
  return all;
}

std::string partition_text(uint64_t part) {
  return "partition " + std::to_string(part) + ": ";
}

}  // namespace

void PartitionedModel::append(ModelState& state, uint64_t part, const ModelState& words) {
  state.push_back(part);
  state.push_back(words.size());
  state.insert(state.end(), words.begin(), words.end());
}

Response PartitionedModel::apply(const Request& request, ModelState& state) const {
  auto all = structures_of(state);
  const Response response = part_.apply(inner(request), all[part_of(request)]);
  state.clear();
  for (const auto& [part, words] : all) {
    append(state, part, words);
  }
  return response;
}

bool PartitionedModel::may_change(const Request& request, const Response& response) const {
  return part_.may_change(inner(request), response);
}

std::map<uint64_t, ModelState> PartitionedModel::split(const ModelState& state) const {
  std::map<uint64_t, ModelState> all;
  for (const auto& [part, words] : structures_of(state)) {
    append(all[part], part, words);
  }
  return all;
}

std::string PartitionedModel::describe(const Request& request) const {
  return partition_text(part_of(request)) + part_.describe(inner(request));
}

std::string PartitionedModel::describe(const Request& request, const Response& response) const {
  return part_.describe(inner(request), response);
}

std::string PartitionedModel::describe(const ModelState& state) const {
  std::string text;
  for (const auto& [part, words] : structures_of(state)) {
    text += (text.empty() ? "" : "; ") + partition_text(part) + part_.describe(words);
  }
  return text;
}

}  // namespace holdfast
