// SPDX-License-Identifier: Apache-2.0
// Does a machine run a hardware design from a shared object, and is each wrong file a clear error?
#include "holdfast/machine/sim/design/own_design.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/sanitized.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::own_design_test {
namespace {

const std::string kTemplate = HOLDFAST_OWN_DESIGN;  // examples/design_template, compiled

/// A folder that is deleted in the end.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "holdfast_own_design_" + std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name, const std::string& content) const {
    std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The template with other bytes in its interface (0) or its layout (4).
std::string changed_template(size_t offset) {
  constexpr std::array<uint32_t, 2> kNumbers = {kDesignInterface, design_layout()};
  std::string bytes = bytes_of(kTemplate);
  const std::string numbers(reinterpret_cast<const char*>(kNumbers.data()), sizeof(kNumbers));
  const size_t at = bytes.find(numbers);
  EXPECT_NE(at, std::string::npos);
  bytes[at + offset] ^= 1;
  return bytes;
}

void expect_error(const std::string& name, Code code, const std::string& part) {
  const Status status = find_design(name).status();
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

TEST(OwnDesign, AWrongFileIsAClearError) {
  const Folder folder;
  expect_error("./none.so", Code::not_found, "there is no file './none.so'");
  expect_error("none.so", Code::not_found, row_names(hardware_designs()));
  expect_error(folder.path() + "/", Code::wrong_format, "cannot load it");
  expect_error(folder.file("text.so", "text"), Code::wrong_format, "cannot load it");
  expect_error(folder.file("interface.so", changed_template(0)), Code::wrong_format,
               "with the headers of another version of Holdfast");
  expect_error(folder.file("layout.so", changed_template(4)), Code::wrong_format,
               "by another compiler or standard library");
  Dl_info other;  // the standard library: a shared object without a design
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::terminate), &other), 0);
  expect_error(other.dli_fname, Code::wrong_format, "HOLDFAST_DESIGN");
}

TEST(OwnDesign, AnOptionThatItDoesNotHaveIsAClearError) {
  const Status unknown = make_design(kTemplate, {{"width", "1"}}).status();
  EXPECT_EQ(unknown.code(), Code::invalid_argument);
  EXPECT_EQ(unknown.message(), "hardware design 'undo-log' has no option 'width'; it has lines");
  EXPECT_EQ(make_design(kTemplate, {{"lines", "0"}}).status().code(), Code::invalid_argument);
  SimOptions o;
  EXPECT_THROW(use_design(o, kTemplate, {{"lines", "x"}}), Error);
}

TEST(OwnDesign, ItsOwnNameIsSavedInImages) {
  SimOptions o = options(tiny(), kTemplate);
  EXPECT_EQ(o.design, "undo-log");
  SimImage image;
  {
    DesignMachine m(o);
    m.run([&] { m.transaction(0, 3, 7); });
    image = m->earliest_image();
    EXPECT_EQ(m.count("records"), 3u);
  }
  EXPECT_THROW(SimMachine(options(tiny(), durable_design()), image), Error);
  DesignMachine again(o, image);
  EXPECT_EQ(again.get(2), 7u);
}

TEST(OwnDesign, ARelativePathBeginsInTheCurrentFolder) {
  const Folder folder;
  folder.file("mine.so", bytes_of(kTemplate));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  SimOptions o;
  use_design(o, "mine.so");
  EXPECT_TRUE(find_design("./mine.so").ok());
  std::filesystem::current_path(before);
  EXPECT_NE(o.make_design(), nullptr);  // also from another folder
}

// ---- the template itself

constexpr size_t kLines = 24;

/// Stores to lines in three transactions, the second of which aborts. Returns how many transactions
/// have been acknowledged.
int run(DesignMachine& m) {
  int told = 0;
  m.run([&] {
    for (uint64_t value = 1; value <= 3; ++value) {
      m->tx_start();
      for (size_t line = 0; line < kLines; line += value) {
        m.set(line, value);
      }
      if (value == 2) {
        m->tx_abort();
      } else {
        m->tx_commit();
      }
      ++told;
    }
  });
  return told;
}

/// The values behind each number of transactions.
uint64_t expected(int transactions, size_t line) {
  return transactions == 3 && line % 3 == 0 ? 3 : transactions == 0 ? 0 : 1;
}

/// Returns the number of transactions that the memory has, or -1 if it has a part of one.
int found(const DesignMachine& m) {
  for (const int transactions : {0, 1, 3}) {
    bool same = true;
    for (size_t line = 0; line < kLines; ++line) {
      same = same && m.get(line) == expected(transactions, line);
    }
    if (same) {
      return transactions;
    }
  }
  return -1;
}

/// Lets the power fail before each persist event, and in some recoveries again.
void crash_everywhere(const SimOptions& o) {
  bool crashed = true;
  for (uint64_t event = 0; crashed; ++event) {
    SimImage image;
    int told = 0;
    {
      DesignMachine m(o);
      m->crash_at(event);
      told = run(m);
      crashed = m->crashed();
      image = m->earliest_image();
    }
    if (event % 4 == 0) {
      SimMachine again(o, image);
      again.crash_at(event % 3 * 4);
      try {
        again.power_on();
      } catch (const Error&) {
        image = again.earliest_image();
      }
    }
    const int transactions = found(DesignMachine(o, image));
    ASSERT_GE(transactions, told == 2 ? 1 : told) << "event " << event;
  }
}

TEST(OwnDesign, TheTemplateKeepsCommittedTransactions) {
  crash_everywhere(options(tiny(), kTemplate));
}

TEST(OwnDesign, TheTemplateKeepsThemWhenCachesSurvive) {
  SimOptions o = options(tiny(), kTemplate);
  o.domain = Domain::eadr;
  crash_everywhere(o);
}

TEST(OwnDesign, TheTemplateKeepsThemUnderDisturbances) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 1 : 5); ++seed) {
    SimOptions o = options(tiny(), kTemplate);
    o.disturb = seed;
    crash_everywhere(o);
  }
}

TEST(OwnDesign, TheTemplateAbortsATransactionThatIsTooLarge) {
  DesignMachine m(options(tiny(), kTemplate, {{"lines", "4"}}));
  m.run([&] {
    m.transaction(0, 4, 1);
    EXPECT_THROW(m.transaction(0, 5, 2), HtmAbort);
    EXPECT_EQ(m->tx_caught(), AbortCause::capacity);
    for (size_t line = 0; line < 5; ++line) {
      EXPECT_EQ(m.get(line), line < 4 ? 1u : 0u);
    }
  });
}

}  // namespace
}  // namespace holdfast::design_test::own_design_test
