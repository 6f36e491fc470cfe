// SPDX-License-Identifier: Apache-2.0
//
// The named roots of a heap.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/heap/layout.h"
#include "holdfast/heap/type_name.h"

namespace holdfast {

/// A root, as `holdfast info` and `holdfast check` list it.
struct RootInfo {
  std::string name;
  std::string type;
  uint64_t version = 0;
  uint64_t bytes = 0;
  std::byte* object = nullptr;
};

/// The type of a root's object, as the root records it.
struct RootType {
  std::string name;
  uint64_t version = 0;
  uint64_t bytes = 0;

  template <class T>
  static RootType of() {
    return {type_name<T>(), type_version<T>(), sizeof(T)};
  }
  bool is_of(const RootInfo& root) const {
    return root.type == name && root.version == version && root.bytes == bytes;
  }
};

/// Returns not_found: the heap in `file` has no root `name`.
Status no_root(const std::string& file, std::string_view name);
/// Returns type_mismatch: the root's object has not the wanted type.
Status other_root(const std::string& file, const RootInfo& root, const RootType& wanted);
/// Throw Error: a root cannot be added.
[[noreturn]] void throw_root_name();
[[noreturn]] void throw_no_free_root();
[[noreturn]] void throw_no_root_object();

/// Cuts the text off behind 47 characters.
inline RootText root_text(std::string_view text) {
  RootText padded{};
  std::copy_n(text.begin(), std::min(text.size(), padded.size() - 1), padded.begin());
  return padded;
}
/// False for the text of an entry without a root.
inline bool is_named(const RootText& text) {
  return text[0] != '\0';
}
inline std::string root_string(const RootText& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

/// The table of named roots. The caller calls each function inside a transaction.
template <class E>
class Roots {
 public:
  explicit Roots(DataHeader<E>* header) : header_(header) {}

  /// Returns null if there is no such root, or can be none of this name.
  Root<E>* find(std::string_view name) const {
    const RootText text = root_text(name);
    return is_name(name) ? first([&](const RootText& named) { return named == text; }) : nullptr;
  }

  /// Throws Error if the name is empty or too long, or the table is full.
  void add(std::string_view name, const RootType& type, std::byte* object) {
    if (!is_name(name)) {
      throw_root_name();
    }
    Root<E>* root = first([](const RootText& named) { return !is_named(named); });
    if (root == nullptr) {
      throw_no_free_root();
    }
    root->type = root_text(type.name);
    root->version = type.version;
    root->object = object;
    root->bytes = type.bytes;
    root->name = root_text(name);
  }

  void remove(Root<E>* root) { root->name = RootText{}; }

  std::vector<RootInfo> list() const {
    std::vector<RootInfo> roots;
    for (const Root<E>& root : header_->roots) {
      const std::string name = root_string(root.name);
      if (!name.empty()) {
        roots.push_back({name, root_string(root.type), root.version, root.bytes, root.object});
      }
    }
    return roots;
  }

 private:
  static bool is_name(std::string_view name) {
    return name.size() < sizeof(RootText) && is_named(root_text(name));
  }

  /// Returns the first entry whose name satisfies the condition, or null.
  template <class F>
  Root<E>* first(F&& condition) const {
    for (Root<E>& root : header_->roots) {
      if (condition(root.name.load())) {
        return &root;
      }
    }
    return nullptr;
  }

  DataHeader<E>* header_;
};

}  // namespace holdfast
