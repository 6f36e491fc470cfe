// SPDX-License-Identifier: Apache-2.0
//
// Questions about fields of all sizes and alignments.
#pragma once

#include <array>

#include "tests/engine/conformance.h"

namespace holdfast::conformance {

template <class H>
struct Sizes {
  static constexpr const char* kTypeName = "conformance.sizes";
  template <class T>
  using Field = typename H::template Field<T>;
  struct Three {
    char c[3];
    bool operator==(const Three&) const = default;
  };
  using Hundred = std::array<uint8_t, 100>;
  Field<uint8_t> one{uint8_t{1}};
  Field<uint16_t> two{uint16_t{2}};
  Field<Three> three{Three{{1, 2, 3}}};
  Field<float> four{4.5F};
  Field<double> eight{8.25};
  Field<Hundred> hundred{Hundred{}};
  Field<Sizes*> self{this};
};

template <class W>
void fields_of_every_size(W& w) {
  using S = Sizes<typename W::H>;
  auto* s = w.heap().template root<S>("sizes").value();
  typename S::Hundred pattern;
  for (size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = static_cast<uint8_t>(i * 7);
  }
  const uint64_t stored = w.heap().statistics().bytes_stored;
  w.heap()
      .update([&] {
        s->one = uint8_t{200};
        s->two = uint16_t{50000};
        s->three = typename S::Three{{7, 8, 9}};
        s->four = 1.5F;
        s->eight = -2.0;
        s->hundred = pattern;
        EXPECT_EQ(s->one.load(), 200);  // the transaction sees its own stores
        EXPECT_EQ(s->hundred.load(), pattern);
        EXPECT_EQ(s->three.load(), (typename S::Three{{7, 8, 9}}));
      })
      .check();
  EXPECT_EQ(w.heap().statistics().bytes_stored - stored, 1U + 2 + 3 + 4 + 8 + 100);
  w.reopen();
  s = w.heap().template find_root<S>("sizes").value();
  w.heap()
      .read([&] {
        EXPECT_EQ(s->one.load(), 200);
        EXPECT_EQ(s->two.load(), 50000);
        EXPECT_EQ(s->three.load(), (typename S::Three{{7, 8, 9}}));
        EXPECT_EQ(s->four.load(), 1.5F);
        EXPECT_EQ(s->eight.load(), -2.0);
        EXPECT_EQ(s->hundred.load(), pattern);
        EXPECT_EQ(s->self.load(), s);
      })
      .check();
}

/// Types that are aligned to less than their size, where they lie across two aligned words. A type
/// with initial values, and one without a default constructor.
template <class H>
struct Unaligned {
  static constexpr const char* kTypeName = "conformance.unaligned";
  template <class T>
  using Field = typename H::template Field<T>;
  template <class T>
  struct Pair {
    T a;
    T b;
    bool operator==(const Pair&) const = default;
  };
  struct Initial {
    int32_t a = 3;
    int32_t b = 4;
    bool operator==(const Initial&) const = default;
  };
  struct Given {
    explicit Given(int64_t x, int64_t y) : a(x), b(y) {}
    bool operator==(const Given&) const = default;
    int64_t a;
    int64_t b;
  };
  using Text = std::array<char, 8>;
  template <size_t N>
  using Gap = Field<std::array<char, N>>;

  Field<char> first{'f'};
  Field<Text> text{Text{}};  // from byte 1
  Gap<3> gap1{{}};
  Field<Pair<int32_t>> four{{0, 0}};  // from byte 12
  Gap<3> gap2{{}};
  Field<Pair<char>> one{{0, 0}};  // from byte 23
  Gap<5> gap3{{}};
  Field<Pair<int16_t>> two{{0, 0}};  // from byte 30
  Field<Initial> initial;            // from byte 36
  Field<Given> given{Given(5, 6)};
};

template <class W>
void fields_across_words(W& w) {
  using U = Unaligned<typename W::H>;
  constexpr size_t kStored = 1 + 8 + 3 + 8 + 3 + 2 + 5 + 4 + 8 + 16;
  const typename U::Text text{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  U* u = nullptr;
  const uint64_t before = w.heap().statistics().bytes_stored;
  w.heap().update([&] { u = W::H::template make<U>(); }).check();
  // Initial values are stored through the engine, too.
  EXPECT_GE(w.heap().statistics().bytes_stored - before, kStored);
  const auto at = [&](const auto& field) {
    return reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(u);
  };
  ASSERT_EQ(at(u->text), 1);
  ASSERT_EQ(at(u->four), 12);
  ASSERT_EQ(at(u->one), 23);
  ASSERT_EQ(at(u->two), 30);
  ASSERT_EQ(at(u->initial), 36);
  const auto expect_values = [&] {
    EXPECT_EQ(u->first.load(), 'f');
    EXPECT_EQ(u->text.load(), text);
    EXPECT_EQ(u->gap1.load(), (std::array<char, 3>{}));
    EXPECT_EQ(u->four.load(), (typename U::template Pair<int32_t>{1, -2}));
    EXPECT_EQ(u->gap2.load(), (std::array<char, 3>{}));
    EXPECT_EQ(u->one.load(), (typename U::template Pair<char>{'x', 'y'}));
    EXPECT_EQ(u->gap3.load(), (std::array<char, 5>{}));
    EXPECT_EQ(u->two.load(), (typename U::template Pair<int16_t>{300, -400}));
    EXPECT_EQ(u->initial.load(), (typename U::Initial{3, 4}));
    EXPECT_EQ(u->given.load(), (typename U::Given(5, 6)));
  };
  w.heap()
      .update([&] {
        u->text = text;
        u->four = {1, -2};
        u->one = {'x', 'y'};
        u->two = {300, -400};
        expect_values();  // the transaction sees its own stores
      })
      .check();
  w.heap().read(expect_values).check();
}

}  // namespace holdfast::conformance
