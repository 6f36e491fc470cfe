// SPDX-License-Identifier: Apache-2.0
// Is a register program the same after it was printed and read, and as small as it can be?
#include <gtest/gtest.h>

#include <algorithm>

#include "holdfast/check/registers/register_program.h"

namespace holdfast::check {
namespace {

TEST(CheckProgram, IsWhatItPrints) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    ProgramShape shape;
    shape.blind = 0.3;
    const RegisterProgram program = random_program(shape, random);
    const RegisterProgram again = RegisterProgram::parse(program.text(), 100).value();
    EXPECT_EQ(again.text(), program.text());
    EXPECT_EQ(again.threads.size(), 3U);
  }
}

TEST(CheckProgram, ReadsWhatPeopleWrite) {
  const RegisterProgram program = RegisterProgram::parse("w0w1;s|u r1 ; x b2|", 3).value();
  ASSERT_EQ(program.threads.size(), 3U);
  EXPECT_EQ(program.text(), "w0 w1 ; s | u r1 ; x b2 | ");
  EXPECT_FALSE(program.threads[0][0].read_only());
  EXPECT_TRUE(program.threads[0][1].read_only());
  EXPECT_FALSE(program.threads[1][0].read_only());
  EXPECT_EQ(program.threads[1][1].kind, Body::Kind::throwing);
  EXPECT_EQ(program.objects(), 3U);
}

TEST(CheckProgram, RepeatsStepsAndTransactions) {
  const auto text = [](const char* program) {
    return RegisterProgram::parse(program, 3).value().text();
  };
  EXPECT_EQ(text("w0*3 b1 | s*2"), "w0 w0 w0 b1 | s s");
  EXPECT_EQ(text("(x b0 * 2) * 2 ; w1 | (u)*2"), "x b0 b0 ; x b0 b0 ; w1 | u  ; u ");
  EXPECT_EQ(text("(w0)"), "w0");
}

TEST(CheckProgram, SaysWhatItExpectedWhere) {
  const auto refuse = [](const char* text) {
    const auto result = RegisterProgram::parse(text, 3);
    EXPECT_EQ(result.status().code(), Code::invalid_argument) << text;
    return result.status().to_string();
  };
  EXPECT_NE(refuse("w0 q1").find("at character 4"), std::string::npos);
  EXPECT_NE(refuse("w3").find("an object from 0 to 2"), std::string::npos);
  EXPECT_NE(refuse("w").find("an object from 0 to 2"), std::string::npos);
  EXPECT_NE(refuse("w99999999999999999999999").find("an object"), std::string::npos);
  EXPECT_NE(refuse("w1*0").find("a count from 1 to 10000 at character 4"), std::string::npos);
  EXPECT_NE(refuse("w1*99999999999999999999999").find("a count"), std::string::npos);
  EXPECT_NE(refuse("(w1 ; w1)*2").find("')' at character 5"), std::string::npos);
}

TEST(CheckProgram, ShrinksToWhatIsNeeded) {
  const RegisterProgram big = RegisterProgram::parse("w0 w1; s; w2 | r0; w1 r2 w3 | s", 4).value();
  int asked = 0;
  const RegisterProgram small = shrink(big, [&](const RegisterProgram& program) {
    ++asked;
    // Needs a write of 3, and after it a scan of some thread.
    const std::string text = program.text();
    return text.find("w3") != std::string::npos && text.find('s') != std::string::npos;
  });
  EXPECT_EQ(small.text(), "w3 | s");
  EXPECT_LT(asked, 40);
}

}  // namespace
}  // namespace holdfast::check
