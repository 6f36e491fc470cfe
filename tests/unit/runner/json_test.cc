// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/spec/json.h"

#include <gtest/gtest.h>

#include "holdfast/machine/machine.h"

namespace holdfast::json_test {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::invalid_argument);
    return error.status().message();
  }
  return "nothing was thrown";
}

TEST(RunnerFields, GivesFallbacksForWhatIsMissingOrNull) {
  const Json object = {{"text", nullptr}};
  Fields fields(object, "test");
  EXPECT_EQ(fields.text("text", "fallback"), "fallback");
  EXPECT_EQ(fields.number("number", 7, 0, 10), 7);
  EXPECT_EQ(fields.real("real", 0.5, 0, 1), 0.5);
  EXPECT_TRUE(fields.flag("flag", true));
  EXPECT_TRUE(fields.texts("texts").empty());
  EXPECT_EQ(fields.numbers("numbers", 3, 1, 9), std::vector<int>{3});
  EXPECT_TRUE(fields.map("map").empty());
  fields.finish();
}

TEST(RunnerFields, ReadsEveryKind) {
  const Json object = Json::parse(
      R"({"text":"a","number":5,"real":2,"flag":false,"texts":["b","c"],"one":"d","numbers":[1,2],
          "single":4,"map":{"x":1,"y":true,"z":"w","r":0.5}})");
  Fields fields(object, "test");
  EXPECT_EQ(fields.text("text", ""), "a");
  EXPECT_EQ(fields.number("number", 0, 0, 10), 5);
  EXPECT_EQ(fields.real("real", 0, 0, 10), 2.0);
  EXPECT_FALSE(fields.flag("flag", true));
  EXPECT_EQ(fields.texts("texts"), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(fields.texts("one"), std::vector<std::string>{"d"});
  EXPECT_EQ(fields.numbers("numbers", 0, 0, 9), (std::vector<int>{1, 2}));
  EXPECT_EQ(fields.numbers("single", 0, 0, 9), std::vector<int>{4});
  const std::map<std::string, std::string> map = {
      {"x", "1"}, {"y", "true"}, {"z", "w"}, {"r", "0.5"}};
  EXPECT_EQ(fields.map("map"), map);
  fields.finish();
}

TEST(RunnerFields, NamesTheFieldAndTheRange) {
  const Json object = {{"threads", 0}, {"text", 3}, {"seconds", "x"}};
  Fields fields(object, "bench");
  const std::string range = message_of([&] { (void)fields.number("threads", 1, 1, 8); });
  EXPECT_NE(range.find("threads must be a whole number from 1 to 8, not 0"), std::string::npos)
      << range;
  EXPECT_NE(message_of([&] { (void)fields.text("text", ""); }).find("bench: text"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)fields.real("seconds", 1, 0, 9); }).find("seconds"),
            std::string::npos);
}

TEST(RunnerFields, RefusesAFieldThatIsNeverRead) {
  const Json object = {{"treads", 2}};
  Fields fields(object, "bench");
  (void)fields.numbers("threads", 1, 1, 8);
  const std::string message = message_of([&] { fields.finish(); });
  EXPECT_NE(message.find("no field 'treads'"), std::string::npos) << message;
  EXPECT_NE(message.find("it has threads"), std::string::npos) << message;
}

TEST(RunnerFields, RefusesWhatIsNoObject) {
  const Json list = Json::array();
  EXPECT_EQ(message_of([&] { const Fields fields(list, "bench"); }), "bench must be an object");
}

TEST(RunnerGuarded, TurnsExceptionsOfTheLibraryIntoAStatusAndLetsOthersPass) {
  const auto failed = guarded([]() -> int { throw Error(Status(Code::busy, "taken")); });
  EXPECT_EQ(failed.status().code(), Code::busy);
  const auto medium = guarded([]() -> int { throw MediumFailure(Status(Code::io_error, "disk")); });
  EXPECT_EQ(medium.status().code(), Code::io_error);
  EXPECT_EQ(guarded([] { return 3; }).value(), 3);
  EXPECT_THROW((void)guarded([]() -> int { throw std::runtime_error("interrupt"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace holdfast::json_test
