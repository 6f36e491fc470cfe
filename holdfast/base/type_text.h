// SPDX-License-Identifier: Apache-2.0
//
// Names of types as heap files record them. They do not depend on the compiler of the program.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

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

/// The name of T in a heap file. A type can define it (`static constexpr const char* kTypeName`),
/// and a class template should. Otherwise the name is the compiler's text, which for template
/// arguments differs between compilers.
template <class T>
class TypeSpelling {
  static constexpr std::string_view text() {
    if constexpr (requires { T::kTypeName; }) {
      return T::kTypeName;
    } else if constexpr (std::is_same_v<T, short>) {  // compilers differ; these are g++'s texts
      return "short int";
    } else if constexpr (std::is_same_v<T, unsigned short>) {
      return "short unsigned int";
    } else if constexpr (std::is_same_v<T, long>) {
      return "long int";
    } else if constexpr (std::is_same_v<T, unsigned long>) {
      return "long unsigned int";
    } else if constexpr (std::is_same_v<T, long long>) {
      return "long long int";
    } else if constexpr (std::is_same_v<T, unsigned long long>) {
      return "long long unsigned int";
    } else {
      constexpr std::string_view kSignature = __PRETTY_FUNCTION__;
      constexpr size_t kBegin = kSignature.find("T = ") + 4;
      return kSignature.substr(kBegin, kSignature.find_first_of(";]", kBegin) - kBegin);
    }
  }

 public:
  static constexpr std::string_view kValue = text();
};

/// The text "name<K, V>" at compile time, for the kTypeName of a structure. The heap type is left
/// out, so that a file opens after its conversion to another engine.
template <Literal kName, class... T>
class TypeText {
  static constexpr size_t kLength =
      kName.view().size() + (TypeSpelling<T>::kValue.size() + ... + (2 * sizeof...(T)));

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
    ((append(separator), append(TypeSpelling<T>::kValue), separator = ", "), ...);
    append(">");
    return text;
  }
  static constexpr std::array<char, kLength + 1> kText = make();

 public:
  static constexpr const char* kValue = kText.data();
};

}  // namespace holdfast
