// SPDX-License-Identifier: Apache-2.0
//
// Does each hardware design do the same as ever: to the picosecond, and to the bit in the images of
// power failures? Each design's folder has a file golden.txt. Each paragraph there has a machine, a
// design's options, and what a run of them has shown.
//
// TO UPDATE after an intended change of a design or of the timing model: run
//     unit_test --gtest_filter='*DesignGolden*'
// and copy the text that a failure prints into the file. Name the changed rule in the commit
// message. If the numbers change without such a reason, that is a bug.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "holdfast/base/checksum.h"
#include "tests/unit/hardware/design_rules.h"
#include "tests/unit/hardware/design_sweep.h"

namespace holdfast::design_test::design_golden_test {
namespace {

constexpr size_t kLines = 1024;
constexpr size_t kOwn = 24;    ///< lines that one worker stores to
constexpr size_t kEvery = 97;  ///< one of so many persist events is a power failure
constexpr size_t kMostImages = 24;

uint64_t sum_of(const SimImage& image, uint64_t seed) {
  return checksum(image.data(), image.size(), seed);
}

/// A line of a worker: some lie together, the others in a page each, which all workers share.
size_t line_of(size_t owner, size_t i) {
  const size_t together = kOwn / 2;
  return i < together ? owner * together + i : (i - together + 1) * 64 + owner;
}

/// A machine with a design, and a program of up to three workers.
struct Setting {
  SimOptions machine;
  bool shared = false;  ///< the workers store to each other's lines
  bool leaves = false;  ///< a thread ends without a commit

  size_t line_bytes() const { return machine.machine->line_bytes; }
  size_t bytes() const { return kLines * line_bytes(); }
  int workers() const { return std::min(3, machine.machine->hardware_threads()); }
};

/// A sum of what the program has loaded, and how often the design has aborted a transaction.
struct Seen {
  uint64_t sum = 0;
  uint64_t dooms = 0;
};

class Worker {
 public:
  Worker(DesignMachine& m, const Setting& setting, size_t owner, uint64_t seed, Seen& seen)
      : m_(m), setting_(setting), owner_(owner), random_(seed), seen_(seen) {}

  /// Transactions of many sizes, some of which abort, and between them other stores and loads.
  void work() {
    for (uint64_t n = 1; n <= 10; ++n) {
      try {
        m_->tx_start();
        store_some(n % 3 == 0 ? 30 : 1 + random_.below(6));
        if (n % 4 == 3) {
          m_->tx_abort();
        } else {
          m_->tx_commit();
        }
      } catch (const HtmAbort&) {
        m_->tx_caught();
        ++seen_.dooms;
      }
      outside();
    }
  }
  /// Leaves a transaction open, as a thread that ends without a commit. No other one has its lines.
  void end_without_commit() {
    m_->tx_start();
    for (size_t i = 0; i < 3; ++i) {
      SimMachine::store(word(kLines - 1 - i, 0), i);
    }
  }

 private:
  size_t some_line() {
    const size_t owner = setting_.shared && random_.below(4) == 0 ? random_.below(3) : owner_;
    return line_of(owner, random_.below(kOwn));
  }
  uint64_t* word(size_t line, size_t i) const {
    return m_.word(line * setting_.line_bytes() / 64, i);
  }
  void load(size_t line) {
    seen_.sum = mix64(seen_.sum ^ SimMachine::load(word(line, random_.below(8))));
  }

  void store_some(uint64_t stores) {
    for (; stores > 0; --stores) {
      const size_t line = some_line();
      uint64_t* const at = word(line, random_.below(8));
      const uint64_t value = random_.next();
      if (random_.below(4) == 0) {
        auto* bytes = reinterpret_cast<uint8_t*>(at);
        SimMachine::store(bytes + random_.below(8), static_cast<uint8_t>(value));
      } else {
        SimMachine::store(at, value);
      }
      if (random_.below(3) == 0) {
        load(some_line());
      }
      if (random_.below(6) == 0) {
        load(random_.below(kLines - 64));
      }
    }
  }

  void outside() {
    if (random_.below(2) == 0) {
      const size_t i = random_.below(8);
      uint64_t* const at = word(some_line(), i);
      SimMachine::store(at, random_.next());
      if (random_.below(2) == 0) {
        m_->pwb(at);
        m_->psync();
      }
    }
    for (int i = 0; i < 3; ++i) {
      load(some_line());
    }
    m_->work(random_.below(300));
    if (random_.below(3) == 0) {
      m_->fence();
    }
  }

  DesignMachine& m_;
  const Setting& setting_;
  size_t owner_;
  Random random_;
  Seen& seen_;
};

/// All workers once, each on the lines of another one than in the phase before.
void run_phase(DesignMachine& m, const Setting& setting, uint64_t phase, Seen& seen) {
  const int n = setting.workers();
  m->run_threads(n, [&](int worker) {
    const auto w = static_cast<uint64_t>(worker);
    const uint64_t owner = (w + phase) % static_cast<uint64_t>(n);
    Worker own(m, setting, owner, 10 * phase + w, seen);
    own.work();
    if (setting.leaves && phase == 1 && worker == 0) {
      own.end_without_commit();
    }
  });
}

template <class Numbers>
void put(std::ostream& out, const char* name, const Numbers& numbers) {
  out << ' ' << name;
  for (const auto number : numbers) {
    out << ' ' << number;
  }
}

void put_counters(std::ostream& out, DesignMachine& m, const Seen& seen) {
  const SimCounters all = m->statistics();
  const DesignCounters c = m->design_counters();
  const sim::MemoryCounters medium = m->medium_counters();
  out << " now " << m->now() << " events " << m->persist_events() << " seen " << seen.sum << ' '
      << seen.dooms << " transactions " << c.transactions << '+' << c.aborts << " waits "
      << c.begin_waits << ' ' << c.commit_waits << ' ' << c.store_waits << " stores "
      << c.first_stores << ' ' << c.stores << " lines " << c.fills << ' ' << c.dropped << ' '
      << c.written_back << " medium " << medium.reads << ' ' << medium.writes << ' '
      << medium.merged << ' ' << medium.reads_waited << ' ' << medium.writes_waited << " dram "
      << all.dram_reads << ' ' << all.dram_writes;
  put(out, "writes", c.by_cause);
  put(out, "reads", c.reads_by_cause);
  std::vector<uint64_t> covered;
  for (const DesignCoverageRow& row : m->design_coverage()) {
    covered.push_back(row.count);
  }
  put(out, "covered", covered);
  for (const auto& [name, count] : m->hardware_design()->counters()) {
    out << ' ' << name << ' ' << count;
  }
}

/// The sums over all recoveries.
struct Recovered {
  uint64_t transactions = 0;
  uint64_t discarded = 0;
  uint64_t lines = 0;
  uint64_t events = 0;
  Time time = 0;
  uint64_t sum = 0;  ///< of texts and images

  void look(const Setting& setting, const SimImage& image, bool inside) {
    std::vector<SimImage> images;
    DesignMachine m(setting.machine, image, setting.bytes(), inside ? &images : nullptr);
    const DesignRecovery found = m->design_recovery();
    transactions += found.transactions;
    discarded += found.discarded;
    lines += found.lines_written;
    events += m->persist_events();
    time += found.duration;
    sum = checksum(found.text.data(), found.text.size(), sum);
    images.push_back(m->earliest_image());
    for (const SimImage& partly : images) {
      sum = sum_of(partly, sum);
    }
  }
};

/// A run with power failures, and then another one on the machine that has recovered last.
void show(std::ostream& out, const Setting& setting) {
  const SimOptions& o = setting.machine;
  std::vector<SimImage> images;
  {
    DesignMachine m(o, {}, setting.bytes());
    Seen seen;
    m->before_persist_event([&](uint64_t event) {
      if (event % kEvery == 0 && images.size() < kMostImages) {
        images.push_back(m->earliest_image());
      }
    });
    for (uint64_t phase = 0; phase < 3; ++phase) {
      run_phase(m, setting, phase, seen);
    }
    m->before_persist_event({});
    images.push_back(m->earliest_image());
    put_counters(out, m, seen);
    m.settle();
    out << " settled";
    put(out, "writes", m->design_counters().by_cause);
    images.push_back(m->earliest_image());
    out << " structures " << m->design_structure_bytes();
  }
  uint64_t sum = 0;
  Recovered all;
  for (size_t i = 0; i < images.size(); ++i) {
    sum = sum_of(images[i], sum);
    all.look(setting, images[i], i % 8 == 1);
  }
  out << " images " << images.size() << ' ' << sum << " recovered " << all.transactions << ' '
      << all.discarded << ' ' << all.lines << ' ' << all.events << ' ' << all.time << ' '
      << all.sum;
  DesignMachine again(o, images[images.size() / 2], setting.bytes());
  Seen seen;
  run_phase(again, setting, 3, seen);
  out << " again " << again->now() << ' ' << again->persist_events() << ' ' << seen.sum << ' '
      << sum_of(again->earliest_image(), 0);
}

std::string shown(const Setting& setting) {
  std::ostringstream out;
  try {
    show(out, setting);
  } catch (const Error& error) {  // a variant by the letter of a paper may lose data
    out << " error " << error.what();
  }
  return out.str();
}

// ---- the files

MachineDescription description_of(const std::string& name) {
  MachineDescription m = name == "roomy"    ? roomy()
                         : name == "large"  ? large_caches()
                         : name == "queues" ? with_queues(tiny())
                                            : tiny();
  if (name == "pair") {  // two threads on one core
    m.cores = 1;
  } else if (name == "wide") {
    m.line_bytes = 128;
  } else if (name == "one") {
    m.one_memory = true;
  } else if (name == "patient") {  // writes wait until they must go
    m.medium = patient(16).medium;
  }
  return m;
}

/// A paragraph of a file: "machine+change: option=value ...", and what a run has shown.
struct Paragraph {
  std::string machine;
  Options options;
  std::string shown;
};

Setting setting_of(const Paragraph& run, const std::string& design) {
  const MachineDescription machine = description_of(run.machine.substr(0, run.machine.find('+')));
  Setting setting{small_tables(options(machine, design, run.options))};
  setting.machine.line_bytes = machine.line_bytes;
  setting.machine.threads = setting.workers();
  if (run.machine.ends_with("+eadr")) {
    setting.machine.domain = Domain::eadr;
  }
  setting.machine.slot_order = 4;
  setting.machine.disturb = run.machine.ends_with("+disturb") ? 3 : 0;
  setting.leaves = run.machine.ends_with("+leaves");
  setting.shared = run.machine.ends_with("+shared");
  return setting;
}

std::vector<Paragraph> paragraphs_of(const std::string& design) {
  std::ifstream file(HOLDFAST_SOURCE_DIR "/tests/unit/hardware/" + design + "/golden.txt");
  std::vector<Paragraph> runs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream words(line);
    std::string word;
    if (line[0] != ' ') {
      words >> word;
      runs.push_back({word.substr(0, word.find(':')), {}, {}});
    }
    while (words >> word) {
      if (line[0] == ' ') {
        runs.back().shown += ' ' + word;
      } else {
        runs.back().options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      }
    }
  }
  return runs;
}

/// The paragraph as it stands in a file.
std::string text_of(const Paragraph& run, const std::string& shown) {
  std::string text = run.machine + ":";
  for (const auto& [name, value] : run.options) {
    text += ' ' + name + '=' + value;
  }
  std::istringstream words(shown);
  std::string line = "\n ";
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > 100) {
      text += line;
      line = "\n ";
    }
    line += ' ' + word;
  }
  return text + line + "\n";
}

class DesignGolden : public testing::TestWithParam<const DesignInfo*> {};

TEST_P(DesignGolden, ARunIsTheSameAsEver) {
  std::vector<Paragraph> runs = paragraphs_of(GetParam()->name);
  ASSERT_FALSE(runs.empty());
  runs.resize(kSanitized ? 1 : runs.size());
  for (const Paragraph& run : runs) {
    const std::string text = shown(setting_of(run, GetParam()->name));
    EXPECT_TRUE(text == run.shown) << GetParam()->name << "/golden.txt:\n" << text_of(run, text);
  }
}

INSTANTIATE_TEST_SUITE_P(Designs, DesignGolden, testing::ValuesIn(all_designs()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace holdfast::design_test::design_golden_test
