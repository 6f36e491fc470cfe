// SPDX-License-Identifier: Apache-2.0
// Is a register program the same after it was printed and read, and as small as it can be?
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/check/registers/register_program.h"

namespace holdfast::check::program_test {
namespace {

TEST(CheckProgram, IsWhatItPrints) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    ProgramShape shape;
    shape.blind = 0.3;
    shape.ranges = seed % 2 == 0 ? 0.5 : 0;
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

TEST(CheckProgram, EachKindOfTransactionReadsAsItIsWritten) {
  for (const char* text : {"w0 r1", "u r1", "x b2", "d w0 w1", "l w2", "f", "s"}) {
    EXPECT_EQ(RegisterProgram::parse(text, 3).value().text(), text);
  }
}

TEST(CheckProgram, HasStepsOnPieces) {
  const RegisterProgram program = RegisterProgram::parse("R0 -4 W2;w1 B7-9 | R5-5", 10).value();
  EXPECT_EQ(program.text(), "R0-4 W2 ; w1 B7-9 | R5");
  EXPECT_EQ(program.objects(), 2U);
  EXPECT_EQ(program.pieces(), 10U);
  const RegisterStep& step = program.threads[0][1].steps[1];
  EXPECT_EQ(step.object, 7U);
  EXPECT_EQ(step.pieces, 3U);
  EXPECT_FALSE(program.threads[0][0].read_only());
  EXPECT_TRUE(program.threads[1][0].read_only());
  EXPECT_TRUE(program.threads[1][0].uses_pieces());
  EXPECT_FALSE(RegisterProgram::parse("w1 s", 10).value().threads[0][0].uses_pieces());
}

TEST(CheckProgram, DrawsRangesOfAllLengthsWithinTheString) {
  ProgramShape shape;
  shape.ranges = 0.7;
  std::set<Object> lengths;
  std::set<size_t> steps;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const RegisterProgram program = random_program(shape, random);
    EXPECT_LE(program.pieces(), shape.pieces);
    for (const auto& thread : program.threads) {
      for (const Body& body : thread) {
        steps.insert(body.steps.size());
        for (const RegisterStep& step : body.steps) {
          lengths.insert(step.pieces);
        }
      }
    }
  }
  EXPECT_EQ(lengths.size(), shape.pieces + 1U) << "each length, and steps without pieces";
  EXPECT_GE(*steps.rbegin(), 7U);
}

/// Programs without ranges are the ones that were drawn before there were any.
TEST(CheckProgram, IsDrawnAsEverWithoutRanges) {
  ProgramShape shape;
  Random random(mix64(5));
  EXPECT_EQ(random_program(shape, random).text(),
            "s ; r3 r1 ; r3 | r2 w4 ; w1 w0 w5 ; r2 w1 w6 | s ; s ; w0 w3 w7");
}

/// Returns the checksum of the programs of 300 seeds, and puts the first of them into `first`.
uint64_t checksum_of_programs(const ProgramShape& shape, std::string& first) {
  std::string all;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(mix64(seed));
    all += random_program(shape, random).text() + "\n";
    first = seed == 1 ? all : first;
  }
  return checksum(all.data(), all.size());
}

/// A seed names its program: the commands that show a violation again rely on that.
TEST(CheckProgram, IsDrawnAsEver) {
  std::string first;
  EXPECT_EQ(checksum_of_programs({}, first), 700513227740594960U) << first;
  ProgramShape shape;
  shape.ranges = 0.5;
  EXPECT_EQ(checksum_of_programs(shape, first), 7911748813012593924U) << first;
  shape.transactions = 6;
  shape.writes = 3;
  shape.throws = 0.1;
  shape.blind = 0.3;
  shape.durable = shape.later = 0.2;
  shape.fences = 0.1;
  shape.marks = false;
  EXPECT_EQ(checksum_of_programs(shape, first), 2494312870796134147U) << first;
}

TEST(CheckProgram, SaysWhichCommitItsTransactionsAskFor) {
  const RegisterProgram program =
      RegisterProgram::parse("w0 ; u r0 ; x w0 ; d w0 ; l w0 ; f", 1).value();
  const std::vector<Commit> commits = {Commit::unsaid,  Commit::unsaid, Commit::unsaid,
                                       Commit::durable, Commit::later,  Commit::durable};
  ASSERT_EQ(program.threads[0].size(), commits.size());
  for (size_t i = 0; i < commits.size(); ++i) {
    EXPECT_EQ(program.threads[0][i].commit(), commits[i]) << i;
    EXPECT_FALSE(program.threads[0][i].read_only()) << i;
  }
}

TEST(CheckProgram, CountsNoObjectsAndPiecesThatItDoesNotName) {
  const auto parse = [](const char* text) { return RegisterProgram::parse(text, 9).value(); };
  EXPECT_EQ(parse("s").objects(), 0U);
  EXPECT_EQ(parse("R0-7").objects(), 0U);
  EXPECT_EQ(parse("r7 w2").objects(), 8U);
  EXPECT_EQ(parse("r7 w2").pieces(), 0U);
  EXPECT_EQ(parse("W3-7 | R0").pieces(), 8U);
}

TEST(CheckProgram, RepeatsStepsAndTransactions) {
  const auto text = [](const char* program) {
    return RegisterProgram::parse(program, 3).value().text();
  };
  EXPECT_EQ(text("w0*3 b1 | s*2"), "w0 w0 w0 b1 | s s");
  EXPECT_EQ(text("(x b0 * 2) * 2 ; w1 | (u)*2"), "x b0 b0 ; x b0 b0 ; w1 | u  ; u ");
  EXPECT_EQ(text("(w0)"), "w0");
  EXPECT_EQ(text(" ( w0 ) "), "w0");
  EXPECT_EQ(text("(f)*2 ; (s)*2"), "f ; f ; s ; s");
  EXPECT_EQ(RegisterProgram::parse("w0*10000", 3).value().threads[0][0].steps.size(), 10'000U);
}

TEST(CheckProgram, SaysWhatItExpectedWhere) {
  const auto refuse = [](const char* text) {
    const auto result = RegisterProgram::parse(text, 3);
    EXPECT_EQ(result.status().code(), Code::invalid_argument) << text;
    return result.status().to_string();
  };
  EXPECT_NE(refuse("w0 q1").find(
                "program 'w0 q1': expected a step (r, w or b and a number, R, W or B and pieces, "
                "or s), ';' or '|' at character 4"),
            std::string::npos);
  EXPECT_NE(refuse("f w0").find("at character 3"), std::string::npos);
  EXPECT_NE(refuse("w 0").find("an object from 0 to 2 at character 2"), std::string::npos);
  EXPECT_NE(refuse("w1*10001").find("a count"), std::string::npos);
  EXPECT_NE(refuse("w3").find("an object from 0 to 2"), std::string::npos);
  EXPECT_NE(refuse("w").find("an object from 0 to 2"), std::string::npos);
  EXPECT_NE(refuse("w99999999999999999999999").find("an object"), std::string::npos);
  EXPECT_NE(refuse("w1*0").find("a count from 1 to 10000 at character 4"), std::string::npos);
  EXPECT_NE(refuse("w1*99999999999999999999999").find("a count"), std::string::npos);
  EXPECT_NE(refuse("(w1 ; w1)*2").find("')' at character 5"), std::string::npos);
  EXPECT_NE(refuse("W2-1").find("a last piece from 2 on at character 3"), std::string::npos);
  EXPECT_NE(refuse("W2-3").find("an object from 0 to 2 at character 4"), std::string::npos);
  EXPECT_NE(refuse("B").find("an object from 0 to 2"), std::string::npos);
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

/// Whole transactions come first, because they leave out the most.
TEST(CheckProgram, TriesToLeaveOutEachPart) {
  const RegisterProgram big = RegisterProgram::parse("w0 r1 ; W0-4 | s", 9).value();
  std::vector<std::string> asked;
  const RegisterProgram same = shrink(big, [&](const RegisterProgram& program) {
    asked.push_back(program.text());
    return false;
  });
  EXPECT_EQ(same.text(), big.text());
  const std::vector<std::string> expected = {
      "w0 r1 | s",        "W0-4 | s",         "w0 r1 ; W0-4 | ",
      "w0 ; W0-4 | s",    "r1 ; W0-4 | s",    "w0 r1 ; W0-2 | s",
      "w0 r1 ; W2-4 | s", "w0 r1 ; W0-3 | s", "w0 r1 ; W1-4 | s"};
  EXPECT_EQ(asked, expected);
}

TEST(CheckProgram, LeavesOutThreadsThatHaveNothingToDo) {
  const RegisterProgram big = RegisterProgram::parse("| w0 | | r0", 9).value();
  const RegisterProgram small = shrink(big, [](const RegisterProgram&) { return false; });
  EXPECT_EQ(small.text(), "w0 | r0");
}

TEST(CheckProgram, ShrinksToOneBodyIfTheFaultNeedsNone) {
  const RegisterProgram big = RegisterProgram::parse("(w0 w1)*20 | r0 ; w1", 2).value();
  const RegisterProgram small = shrink(big, [](const RegisterProgram& program) {
    EXPECT_FALSE(program.text().empty()) << "no machine can run it";
    return true;
  });
  ASSERT_EQ(small.threads.size(), 1u);
  ASSERT_EQ(small.threads[0].size(), 1u);
  EXPECT_EQ(small.threads[0][0].steps.size(), 1u);
}

TEST(CheckProgram, ShrinksRangesToThePiecesThatAreNeeded) {
  const RegisterProgram big = RegisterProgram::parse("w0 W3-40 ; R0-46 | B2-9", 47).value();
  const RegisterProgram small = shrink(big, [&](const RegisterProgram& program) {
    for (const auto& thread : program.threads) {
      for (const Body& body : thread) {
        for (const RegisterStep& step : body.steps) {
          // Needs pieces 11 and 12 in one write.
          if (step.kind == RegisterStep::Kind::write && step.pieces > 0 && step.object <= 11 &&
              step.object + step.pieces > 12) {
            return true;
          }
        }
      }
    }
    return false;
  });
  EXPECT_EQ(small.text(), "W11-12");
}

}  // namespace
}  // namespace holdfast::check::program_test
