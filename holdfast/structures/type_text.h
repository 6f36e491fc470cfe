// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast {

/// A string literal as a template argument.
template <size_t N>
struct Literal {
  constexpr Literal(const char (&text)[N]) {  // NOLINT(google-explicit-constructor)
    for (size_t i = 0; i < N; ++i) {
      characters[i] = text[i];
    }
  }
  constexpr std::string_view view() const { return {characters, N - 1}; }
  char characters[N] = {};
};

/// "name<K, V>" at compile time: the kTypeName of a structure, which a heap file records. It leaves
/// the heap type out, so that a file converted to another engine still opens.
template <Literal kName, class... T>
class TypeText {
  template <class U>
  static constexpr std::string_view spelling() {
    constexpr std::string_view kSignature = __PRETTY_FUNCTION__;
    constexpr size_t kBegin = kSignature.find("U = ") + 4;
    return kSignature.substr(kBegin, kSignature.find_first_of(";]", kBegin) - kBegin);
  }
  static constexpr size_t kLength =
      kName.view().size() + (spelling<T>().size() + ... + (2 * sizeof...(T)));

  static constexpr std::array<char, kLength + 1> make() {
    std::array<char, kLength + 1> text = {};
    size_t at = 0;
    auto append = [&](std::string_view part) {
      for (const char c : part) {
        text[at++] = c;
      }
    };
    append(kName.view());
    const char* separator = "<";
    ((append(separator), append(spelling<T>()), separator = ", "), ...);
    append(">");
    return text;
  }
  static constexpr std::array<char, kLength + 1> kText = make();

 public:
  static constexpr const char* kValue = kText.data();
};

}  // namespace holdfast
