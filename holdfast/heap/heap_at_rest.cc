// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/heap_at_rest.h"

namespace holdfast {

Status AtRest::refusal() {
  return {Code::misuse, "a heap at rest is read-only; change it through the open heap"};
}

void AtRest::refuse() {
  throw Error(refusal());
}

Result<std::byte*> HeapAtRest::find_root(std::string_view name, const RootType& type) {
  auto roots = list();
  if (!roots) {
    return roots.status();
  }
  for (const RootInfo& root : *roots) {
    if (root.name == name) {
      return type.is_of(root) ? Result<std::byte*>(root.object)
                              : Result<std::byte*>(other_root(name_, root, type));
    }
  }
  return no_root(name_, name);
}

Result<HeapCheck> HeapAtRest::check(const std::function<void(const BlockVisitor&)>& reachable) {
  Result<HeapCheck> found =
      read([&] { return check_heap<AtRest>(data_, data_bytes_(), reachable, roots().list()); });
  if (found) {
    found->add_pages(verify_pages_());
  }
  return found;
}

}  // namespace holdfast
