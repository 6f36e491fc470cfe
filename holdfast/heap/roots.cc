// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/roots.h"

namespace holdfast {

Status no_root(const std::string& file, std::string_view name) {
  return {Code::not_found, file + ": there is no root '" + std::string(name) + "'"};
}

Status other_root(const std::string& file, const RootInfo& root, const RootType& wanted) {
  return {Code::type_mismatch,
          file + ": root '" + root.name + "' holds " + root.type + " version " +
              std::to_string(root.version) + " (" + std::to_string(root.bytes) + " bytes), not " +
              wanted.name + " version " + std::to_string(wanted.version) + " (" +
              std::to_string(wanted.bytes) +
              " bytes); open it with the program that made it, or pass a migration"};
}

void throw_root_name() {
  throw Error(Status(Code::invalid_argument, "a root's name has 1 to 47 characters"));
}

void throw_no_free_root() {
  throw Error(Status(Code::out_of_space, "the heap has no free root (there are " +
                                             std::to_string(kRoots) +
                                             "); hang several objects below one root"));
}

void throw_no_root_object() {
  throw Error(Status(Code::invalid_argument,
                     "a migration has returned no object of the heap; return one that it has made "
                     "with make<T>()"));
}

}  // namespace holdfast
