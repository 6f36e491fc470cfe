// SPDX-License-Identifier: Apache-2.0
#include "holdfast/workloads/parts/keyed_model.h"

#include <algorithm>
#include <stdexcept>

namespace holdfast {
namespace {

/// Index of the first pair whose key is at least `key`.
size_t lower(const ModelState& state, uint64_t key) {
  size_t low = 0;
  size_t high = state.size() / 2;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (state[2 * middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 2 * low;
}

}  // namespace

Response KeyedModel::apply(const Request& request, ModelState& state) const {
  const uint64_t key = request.argument[0];
  const size_t at = lower(state, key);
  const bool there = at < state.size() && state[at] == key;
  const auto place = state.begin() + static_cast<ptrdiff_t>(at);
  switch (request.kind) {
    case kLookUp:
      return there ? Response{state[at + 1], 1} : Response{};
    case kAdd:
      if (!there) {
        state.insert(place, {key, request.argument[1]});
      } else if (present_ == Present::overwritten) {
        state[at + 1] = request.argument[1];
      }
      return {there ? 0U : 1U, 0};
    case kErase:
      if (there) {
        state.erase(place, place + 2);
      }
      return {there ? 1U : 0U, 0};
    default:
      throw std::out_of_range("sets and maps have no operation " + std::to_string(request.kind));
  }
}

bool KeyedModel::may_change(const Request& request, const Response& response) const {
  switch (request.kind) {
    case kLookUp:
      return false;
    case kAdd:
      return response[0] != 0 || present_ == Present::overwritten;
    default:
      return response[0] != 0;
  }
}

std::map<uint64_t, ModelState> KeyedModel::split(const ModelState& state) const {
  std::map<uint64_t, ModelState> parts;
  for (size_t i = 0; i + 1 < state.size(); i += 2) {
    ModelState& part = parts[state[i]];
    part.push_back(state[i]);
    part.push_back(state[i + 1]);
  }
  return parts;
}

std::string KeyedModel::describe(const Request& request) const {
  const std::string key = std::to_string(request.argument[0]);
  switch (request.kind) {
    case kLookUp:
      return "look up " + key;
    case kAdd:
      return (present_ == Present::kept ? "insert " : "put ") + key + " = " +
             std::to_string(request.argument[1]);
    default:
      return "erase " + key;
  }
}

std::string KeyedModel::describe(const Request& request, const Response& response) const {
  if (request.kind == kLookUp) {
    return response[1] == 0 ? "absent" : "found " + std::to_string(response[0]);
  }
  if (request.kind == kAdd) {
    return response[0] == 0 ? "was there already" : "is new";
  }
  return response[0] == 0 ? "was not there" : "erased";
}

std::string KeyedModel::describe(const ModelState& state) const {
  constexpr size_t kMost = 24;
  std::string text = "{";
  for (size_t i = 0; i + 1 < state.size() && i < 2 * kMost; i += 2) {
    text += (i == 0 ? "" : ", ") + std::to_string(state[i]) + ": " + std::to_string(state[i + 1]);
  }
  return text + (state.size() > 2 * kMost ? ", ...}" : "}");
}

ModelState KeyedContent::state() {
  std::sort(pairs_.begin(), pairs_.end());
  ModelState state;
  state.reserve(2 * pairs_.size());
  for (const auto& [key, value] : pairs_) {
    state.push_back(key);
    state.push_back(value);
  }
  return state;
}

}  // namespace holdfast
