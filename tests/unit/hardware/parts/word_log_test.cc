// SPDX-License-Identifier: Apache-2.0
// Does the word log keep its content over laps and power failures, gaps included?
#include "holdfast/hardware/parts/word_log.h"

#include <gtest/gtest.h>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::word_log_test {
namespace {

constexpr uint64_t kBytes = 64 + 10 * 128;  // the tail, and ten slots

/// The content of a log in one line: slot, transaction, and the words or "committed".
std::string text_of(const WordLog::Entry& entry) {
  std::string text = std::to_string(entry.slot) + ": " + std::to_string(entry.tx);
  for (const LoggedWord& word : entry.words) {
    text += " " + std::to_string(word.home) + "=" + std::to_string(word.value);
  }
  return entry.record ? text + " committed" : text;
}

/// A design that does nothing by itself. A test uses its log.
class HasALog final : public HardwareDesign {
 public:
  struct Result {
    WordLog* log = nullptr;
    DesignContext* context = nullptr;
    std::vector<std::string> found;  ///< by recovery
    Time recovered = 0;
  };
  HasALog(Result* result, bool restarts, size_t entry_words = 1)
      : result_(result), restarts_(restarts), entry_words_(entry_words) {}

  void attach(DesignContext& context) override {
    HardwareDesign::attach(context);
    log_.attach(context, entry_words_ * kBytes, entry_words_);
    result_->log = &log_;
    result_->context = &context;
  }
  Time recover(DesignRecovery&, Time now) override {
    result_->found.clear();
    const Time done = log_.scan(
        [&](const WordLog::Entry& entry) { result_->found.push_back(text_of(entry)); }, now);
    result_->recovered = done - now;
    return restarts_ ? log_.slots().restart(done) : done;
  }

 private:
  Result* result_;
  bool restarts_;
  size_t entry_words_;
  WordLog log_;
};

class WordLogTest : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;

  SimOptions options(bool restarts = false) {
    return options_for<HasALog>(machine_, Domain::pmem, &result_, restarts);
  }
  WordLog& log() { return *result_.log; }
  /// Appends a slice with one word.
  WordLog::Appended add(uint64_t tx, uint64_t home, uint64_t value, Time now) {
    const LoggedWord word{home, value};
    return log().append(tx, std::span(&word, 1), now);
  }
  /// The content that recovery finds if the power fails at `now`.
  Texts found_after(const SimImage& image) {
    SimMachine after(options(), image);
    after.power_on();
    return result_.found;
  }

  HasALog::Result result_;
  MachineDescription machine_ = roomy();
};

TEST_F(WordLogTest, RecoveryFindsSlicesAndRecordsInTheirOrder) {
  SimImage image;
  {
    SimMachine m(options());
    std::vector<LoggedWord> words;
    for (uint64_t i = 0; i < WordLog::kEntries; ++i) {
      words.push_back({(uint64_t{1} << 42) + 8 * i, ~i});  // 51 bits of five bytes of words
    }
    Time now = log().append(7, words, 0).accepted;
    now = add(8, 24, 5, now).accepted;
    now = log().append_record(7, now).accepted;
    m.settle_design();
    image = m.earliest_image();
  }
  std::string first = "0: 7";
  for (uint64_t i = 0; i < WordLog::kEntries; ++i) {
    first += " " + std::to_string((uint64_t{1} << 42) + 8 * i) + "=" + std::to_string(~i);
  }
  EXPECT_EQ(found_after(image), (Texts{first, "1: 8 24=5", "2: 7 committed"}));
}

TEST_F(WordLogTest, ASliceTakesTwoWritesAndARecordOne) {
  SimMachine m(options());
  add(1, 0, 1, 0);
  EXPECT_EQ(m.design_counters().writes, 2u);
  log().append_record(1, 0);
  EXPECT_EQ(m.design_counters().writes, 3u);
}

// Entries of 64 bytes: the header has their homes, the lines behind it their words.
TEST_F(WordLogTest, EntriesOf64BytesTakeALineEach) {
  for (const size_t line_bytes : {64u, 128u}) {
    machine_.line_bytes = line_bytes;
    SimOptions o =
        options_for<HasALog>(machine_, Domain::pmem, &result_, false, WordLog::kLineWords);
    o.line_bytes = line_bytes;
    SimImage image;
    {
      SimMachine m(o);
      std::vector<LoggedWord> words;
      for (const uint64_t home : {256u, 64u, 640u}) {
        for (size_t i = 0; i < WordLog::kLineWords; ++i) {
          words.push_back({home + 8 * i, home + i});
        }
      }
      const Time now = log().append(7, words, 0).accepted;
      EXPECT_EQ(m.design_counters().writes, line_bytes == 64 ? 4u : 2u);
      log().append_record(7, now);
      m.settle_design();
      image = m.earliest_image();
    }
    SimMachine after(o, image);
    after.power_on();
    std::string slice = "0: 7";
    for (const uint64_t home : {256u, 64u, 640u}) {
      for (size_t i = 0; i < WordLog::kLineWords; ++i) {
        slice += " " + std::to_string(home + 8 * i) + "=" + std::to_string(home + i);
      }
    }
    EXPECT_EQ(result_.found, (Texts{slice, "1: 7 committed"}));
    result_.found.clear();
    log().read(
        0, 2, [&](const WordLog::Entry& entry) { result_.found.push_back(text_of(entry)); }, 0);
    EXPECT_EQ(result_.found, (Texts{slice, "1: 7 committed"}));
  }
}

TEST_F(WordLogTest, WithLinesOf128BytesBothTakeOne) {
  machine_.line_bytes = 128;
  SimOptions o = options();
  o.line_bytes = 128;
  SimImage image;
  {
    SimMachine m(o);
    add(1, 8, 9, 0);
    log().append_record(1, 0);
    EXPECT_EQ(m.design_counters().writes, 2u);
    uint64_t values[WordLog::kEntries];
    log().read_words(0, values, 0);
    EXPECT_EQ(values[0], 9u);
    EXPECT_EQ(m.design_counters().reads, 1u);
    m.settle_design();
    image = m.earliest_image();
  }
  SimMachine after(o, image);
  after.power_on();
  EXPECT_EQ(result_.found, (Texts{"0: 1 8=9", "1: 1 committed"}));
}

TEST_F(WordLogTest, TheTailHidesWhatIsBeforeItAndLapsFollow) {
  SimImage image;
  uint64_t tail = 0;
  {
    SimMachine m(options());
    Time now = 0;
    for (uint64_t i = 0; i < 25; ++i) {
      if (log().slots().free() == 0) {
        now = log().slots().write_tail(log().slots().head() - 3, now);
        log().slots().free_before(log().slots().head() - 3);
      }
      now = add(i, 8 * i, i, now).accepted;
    }
    EXPECT_EQ(log().slots().slots(), 10u);
    tail = log().slots().tail();
    m.settle_design();
    image = m.earliest_image();
  }
  const Texts found = found_after(image);
  ASSERT_EQ(found.size(), 25 - tail);
  EXPECT_EQ(found.front(), "21: 21 168=21");
  EXPECT_EQ(found.back(), "24: 24 192=24");
}

// Words that look like a header lie where no header can.
TEST_F(WordLogTest, WordsOfAnEarlierLapAreNoHeaders) {
  SimImage image;
  {
    SimMachine m(options());
    Time now = 0;
    for (uint64_t i = 0; i < 10; ++i) {
      std::vector<LoggedWord> words(WordLog::kEntries);
      for (LoggedWord& word : words) {
        word = {0, 11 + i};  // the number of the slot in the next lap
      }
      now = log().append(i, words, now).accepted;
    }
    now = log().slots().write_tail(10, now);
    log().slots().free_before(10);
    now = log().append_record(99, now).accepted;
    m.settle_design();
    image = m.earliest_image();
  }
  EXPECT_EQ(found_after(image), (Texts{"10: 99 committed"}));
}

// Slot 0 is written later than the record behind it.
TEST_F(WordLogTest, AGapDoesNotHideTheSlotsBehindIt) {
  std::vector<SimImage> images;
  {
    SimOptions o = options();
    o.count_main_events = true;
    SimMachine m(o);
    m.before_persist_event([&](uint64_t) { images.push_back(m.earliest_image()); });
    constexpr Time kLate = 1'000'000;
    add(1, 0, 1, kLate);
    log().append_record(2, 0);
    m.settle_design();
    images.push_back(m.earliest_image());
  }
  std::vector<Texts> found;
  for (const SimImage& image : images) {
    found.push_back(found_after(image));
  }
  const Texts gap = {"1: 2 committed"};
  const Texts both = {"0: 1 0=1", "1: 2 committed"};
  const Texts words_missing = {"0: 1 0=0", "1: 2 committed"};
  EXPECT_EQ(found, (std::vector<Texts>{{}, gap, words_missing, both}));
}

TEST_F(WordLogTest, TheWindowBoundsWhatAGapMayHide) {
  SimMachine m(options());
  OwnLog log;
  log.attach(*result_.context, 1 << 20, 64 + 1000 * 64, 64);
  const std::vector<std::byte> line(64);
  constexpr Time kLate = 1'000'000'000;
  const Time accepted = log.write(log.take(), 0, line.data(), kLate);
  for (uint64_t i = 1; i < OwnLog::kWindow; ++i) {
    EXPECT_EQ(log.ready(5), 5u);
    log.take();
  }
  EXPECT_EQ(log.ready(5), accepted);
  EXPECT_EQ(log.ready(accepted), accepted);
}

TEST_F(WordLogTest, ARestartMakesItEmptyAndOlderSlotsStayForgotten) {
  SimImage image;
  {
    SimMachine m(options());
    Time now = 0;
    for (uint64_t i = 0; i < 6; ++i) {
      now = add(1, 0, i, now).accepted;
    }
    m.settle_design();
    image = m.earliest_image();
  }
  {
    SimMachine m(options(true), image);
    m.power_on();
    EXPECT_EQ(result_.found.size(), 6u);
    EXPECT_EQ(log().slots().free(), 10u);
    log().append_record(5, m.design_recovery().duration);
    m.settle_design();
    image = m.earliest_image();
  }
  const Texts found = found_after(image);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find(": 5 committed"), std::string::npos) << found[0];
}

// A read takes 50 ns and the bus 2. As many go together as the queue has entries.
TEST_F(WordLogTest, AScanReadsAsManyLinesTogetherAsTheQueueHas) {
  Time times[2] = {};
  for (const int queue : {1, 16}) {
    machine_.medium.read_queue = queue;
    machine_.medium.banks = 16;
    SimImage image;
    {
      SimMachine m(options());
      image = m.earliest_image();
    }
    found_after(image);
    times[queue == 1 ? 0 : 1] = result_.recovered;
  }
  EXPECT_GE(times[0], 10 * 50'000u);
  EXPECT_LE(times[1], times[0] / 2);
}

TEST_F(WordLogTest, ASlotHasNoLinesBeyondItsSize) {
  SimMachine m(options());
  EXPECT_THROW(log().slots().place(0, 2), Error);
}

}  // namespace
}  // namespace holdfast::design_test::word_log_test
