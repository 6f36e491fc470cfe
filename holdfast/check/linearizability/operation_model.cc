// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/linearizability/operation_model.h"

namespace holdfast {

bool SequentialModel::may_change(const Request&, const Response&) const {
  return true;
}

std::map<uint64_t, ModelState> SequentialModel::split(const ModelState& state) const {
  return {{0, state}};
}

std::string list_text(const ModelState& words, size_t most) {
  std::string text = "[";
  for (size_t i = 0; i < words.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(words[i]);
  }
  return text + (words.size() > most ? ", ...]" : "]");
}

}  // namespace holdfast
