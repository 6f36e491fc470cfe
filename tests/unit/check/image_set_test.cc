// SPDX-License-Identifier: Apache-2.0
// Does the crash explorer look at exactly the legal images, at each once?
#include "holdfast/check/crash/image_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::check::image_set_test {
namespace {

constexpr uint64_t kEverything = 1'000'000;

/// A medium of one page with some words stored, some of them written back.
class Medium {
 public:
  explicit Medium(uint64_t seed, bool journal = false)
      : machine_(journal ? SimOptions{.domain = Domain::file, .journal = true} : SimOptions()),
        random_(seed) {
    machine_.medium().grow(kPageBytes).check();
    words_ = reinterpret_cast<uint64_t*>(
        machine_.medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
    base_ = machine_.earliest_image();
    machine_.watch_images();
  }

  void scribble(int steps) {
    for (int i = 0; i < steps; ++i) {
      const size_t word = random_.below(4) * 8 + random_.below(2);
      SimMachine::store(words_ + word, random_.below(3));
      if (random_.chance(0.3)) {
        machine_.pwb(words_ + word);
      }
      if (random_.chance(0.1)) {
        machine_.pfence();
      }
    }
  }

  SimMachine& machine() { return machine_; }
  const SimImage& base() const { return base_; }
  Moment moment() const {
    Moment now = {machine_.medium_bytes(), machine_.image_choices()};
    if (machine_.defers_psync()) {
      now.order = machine_.image_order();
    }
    return now;
  }

 private:
  SimMachine machine_;
  Random random_;
  uint64_t* words_;
  SimImage base_;
};

/// Enumerates all images of the moment, compares them with those of the persistence model, and
/// returns their number.
uint64_t enumerate_all(Medium& medium) {
  const ImageSet set(medium.base(), 64);
  const Moment moment = medium.moment();
  std::set<SimImage> legal;
  medium.machine().for_each_image(kEverything, [&](const SimImage& image) {
    legal.insert(image);
    return true;
  });
  std::map<uint64_t, SimImage> seen;
  Random random(1);
  const uint64_t called =
      set.enumerate(moment, nullptr, 0, kEverything, random, [&](uint64_t hash, const auto& pick) {
        seen[hash] = set.build(set.pick(moment, nullptr, pick));
      });
  EXPECT_EQ(called, seen.size());
  std::set<SimImage> built;
  for (const auto& [hash, image] : seen) {
    built.insert(image);
  }
  EXPECT_EQ(built, legal);
  return legal.size();
}

TEST(CheckImageSet, EnumeratesWhatThePersistenceModelDoes) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Medium medium(seed);
    medium.scribble(12);
    EXPECT_EQ(medium.moment().image_count(64), enumerate_all(medium));
  }
}

TEST(CheckImageSet, EnumeratesThePrefixesOfAJournalOnly) {
  uint64_t images = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Medium medium(seed, true);
    medium.scribble(60);
    const uint64_t found = enumerate_all(medium);
    EXPECT_GE(medium.moment().image_count(64), found) << "neighbouring prefixes may be equal";
    images += found;
  }
  EXPECT_GT(images, 100u);
}

TEST(CheckImageSet, TakesBothEndsOfAJournalFirst) {
  Medium medium(2, true);
  medium.scribble(100);
  const ImageSet set(medium.base(), 64);
  const Moment moment = medium.moment();
  ASSERT_GT(moment.image_count(64), 4u);
  std::vector<SimImage> seen;
  Random random(1);
  set.enumerate(moment, nullptr, 0, 4, random, [&](uint64_t, const auto& pick) {
    seen.push_back(set.build(set.pick(moment, nullptr, pick)));
  });
  ASSERT_GE(seen.size(), 2u);
  EXPECT_LE(seen.size(), 4u);
  EXPECT_EQ(seen[0], medium.machine().earliest_image());
  EXPECT_EQ(seen[1], medium.machine().latest_image());
}

TEST(CheckImageSet, NamesAnImageTheSameAtEveryMoment) {
  Medium medium(5);
  const ImageSet set(medium.base(), 64);
  std::map<uint64_t, SimImage> images;
  std::map<SimImage, uint64_t> hashes;
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    medium.scribble(3);
    const Moment moment = medium.moment();
    set.enumerate(moment, nullptr, 0, kEverything, random, [&](uint64_t hash, const auto& pick) {
      const SimImage image = set.build(set.pick(moment, nullptr, pick));
      EXPECT_EQ(images.try_emplace(hash, image).first->second, image);
      EXPECT_EQ(hashes.try_emplace(image, hash).first->second, hash);
    });
  }
  EXPECT_GT(images.size(), 50U);
}

TEST(CheckImageSet, AnImageOfARecoveryIsNamedLikeOneOfTheRun) {
  Medium medium(9);
  medium.scribble(10);
  const ImageSet set(medium.base(), 64);
  const Moment first = medium.moment();
  Random random(1);
  set.enumerate(first, nullptr, 0, 20, random, [&](uint64_t hash, const auto& pick) {
    const ImageDelta delta = set.pick(first, nullptr, pick);
    // A recovery that stores nothing has one image: the one it started from.
    const Moment idle{first.bytes, {}};
    uint64_t inner = 0;
    set.enumerate(idle, &delta, hash, 20, random, [&](uint64_t h, const auto&) { inner = h; });
    EXPECT_EQ(inner, hash);
    // A recovery that restores a line's old content has the image without that line.
    if (!delta.lines.empty()) {
      const size_t at = delta.lines[0] * size_t{64};
      sim::LineChoices line{delta.lines[0], {}};
      line.contents.assign(medium.base().begin() + static_cast<std::ptrdiff_t>(at),
                           medium.base().begin() + static_cast<std::ptrdiff_t>(at + 64));
      const Moment undone{first.bytes, {std::make_shared<const sim::LineChoices>(line)}};
      set.enumerate(undone, &delta, hash, 20, random, [&](uint64_t h, const auto& none) {
        const ImageDelta without = set.pick(undone, &delta, none);
        EXPECT_EQ(without.lines.size() + 1, delta.lines.size());
        EXPECT_NE(h, hash);
      });
    }
  });
}

/// A moment shares the choices of unchanged lines with the moment before. Stale ones would show.
TEST(CheckImageSet, ChoicesOfEveryMomentAreThoseOfTheMediumThen) {
  size_t shared = 0;
  for (const bool journal : {false, true}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(seed);
      Medium medium(seed, journal);
      std::vector<std::shared_ptr<const sim::LineChoices>> before;
      for (int round = 0; round < 15; ++round) {
        medium.scribble(2);
        if (journal && round % 5 == 4) {
          medium.machine().psync();
        }
        const Moment now = medium.moment();
        for (size_t i = 0; i < before.size(); ++i) {
          shared += now.choices[i] == before[i] ? 1 : 0;
        }
        before = now.choices;
        if (now.image_count(64) <= 200) {
          enumerate_all(medium);
        }
      }
    }
  }
  EXPECT_GT(shared, 100U);
}

TEST(CheckImageSet, SamplesExtremesAndSinglesWhenThereAreTooMany) {
  Medium medium(3);
  medium.scribble(40);
  const ImageSet set(medium.base(), 64);
  const Moment moment = medium.moment();
  ASSERT_GT(moment.image_count(64), 12U);
  std::set<SimImage> seen;
  Random random(1);
  const uint64_t called = set.enumerate(
      moment, nullptr, 0, 12, random,
      [&](uint64_t, const auto& pick) { seen.insert(set.build(set.pick(moment, nullptr, pick))); });
  EXPECT_LE(called, 12U);
  EXPECT_EQ(seen.size(), called);
  EXPECT_EQ(seen.count(medium.machine().earliest_image()), 1U);
  EXPECT_EQ(seen.count(medium.machine().latest_image()), 1U);
}

// Moments that were never on a machine: so many contents of each line, all different.

Moment made(const std::vector<uint32_t>& contents) {
  Moment moment{contents.size() * 64, {}};
  for (uint32_t number = 0; number < contents.size(); ++number) {
    sim::LineChoices line{number, {}, contents[number] - 1};
    for (uint32_t content = 0; content < contents[number]; ++content) {
      std::vector<std::byte> bytes(64, std::byte{static_cast<uint8_t>(content % 200 + 1)});
      bytes[0] = std::byte{static_cast<uint8_t>(content / 200)};
      line.contents.insert(line.contents.end(), bytes.begin(), bytes.end());
    }
    moment.choices.push_back(std::make_shared<const sim::LineChoices>(line));
  }
  return moment;
}

/// Returns the picks that are shown, in their order.
std::vector<std::vector<uint32_t>> shown(const Moment& moment, uint64_t most, Random& random) {
  const ImageSet set({}, 64);
  std::vector<std::vector<uint32_t>> picks;
  std::set<SimImage> images;
  const uint64_t called =
      set.enumerate(moment, nullptr, 0, most, random, [&](uint64_t, const auto& pick) {
        picks.push_back(pick);
        images.insert(set.build(set.pick(moment, nullptr, pick)));
      });
  EXPECT_EQ(called, picks.size());
  EXPECT_EQ(images.size(), picks.size()) << "each image once";
  return picks;
}

TEST(CheckImageSet, TakesTheExtremesThenSinglesThenRandomOnes) {
  Random random(1);
  const Moment moment = made({3, 1, 3, 3});
  const std::vector<std::vector<uint32_t>> begin = {{0, 0, 0, 0}, {2, 0, 2, 2}, {2, 0, 0, 0},
                                                    {0, 0, 2, 2}, {0, 0, 2, 0}, {2, 0, 0, 2},
                                                    {0, 0, 0, 2}, {2, 0, 2, 0}};
  for (const uint64_t most : {1, 2, 3, 4, 7, 8}) {
    const auto picks = shown(moment, most, random);
    ASSERT_EQ(picks.size(), std::max<uint64_t>(most, 2));
    EXPECT_TRUE(std::equal(picks.begin(), picks.end(), begin.begin()));
  }
  EXPECT_EQ(shown(moment, 12, random).size(), 12u);
  EXPECT_EQ(shown(moment, 27, random).size(), 27u) << "all of them, without chance";
}

TEST(CheckImageSet, TriesTwiceAsManyRandomImagesAsItMayTake) {
  Moment moment = made({2, 2});
  for (auto& choice : moment.choices) {  // four contents, and two different ones
    sim::LineChoices line = *choice;
    line.contents.insert(line.contents.end(), choice->contents.begin(), choice->contents.end());
    choice = std::make_shared<const sim::LineChoices>(line);
  }
  ASSERT_EQ(moment.image_count(64), 16u);
  Random random(1);
  Random other(1);
  EXPECT_EQ(shown(moment, 5, random).size(), 4u);
  for (int i = 0; i < 2 * 5 * 2; ++i) {  // two lines of each try
    other.next();
  }
  EXPECT_EQ(random.next(), other.next());
}

TEST(CheckImageSet, KnowsTheImagesThatItHasShown) {
  // 300 prefixes of a journal whose line has each of 150 contents twice.
  Moment moment = made({150});
  sim::LineChoices line = *moment.choices[0];
  line.contents.insert(line.contents.end(), moment.choices[0]->contents.begin(),
                       moment.choices[0]->contents.end());
  moment.choices[0] = std::make_shared<const sim::LineChoices>(line);
  moment.order = std::vector<uint32_t>(299, 0);
  EXPECT_EQ(moment.image_count(64), 300u);
  Random random(1);
  EXPECT_EQ(shown(moment, 1000, random).size(), 150u);
}

TEST(CheckImageSet, TakesAsManyPrefixesAsAskedForAndBothEnds) {
  Moment moment = made({201});
  Random random(1);
  moment.order = std::vector<uint32_t>(200, 0);
  for (const uint64_t most : {1, 2, 3, 10, 150}) {
    const auto picks = shown(moment, most, random);
    ASSERT_EQ(picks.size(), std::max<uint64_t>(most, 2));
    EXPECT_EQ(picks[0][0], 0u);
    EXPECT_EQ(picks[1][0], 200u);
  }
  std::set<std::vector<uint32_t>> all;
  for (const auto& pick : shown(moment, 201, random)) {
    all.insert(pick);
  }
  EXPECT_EQ(all.size(), 201u);
  moment.order = std::vector<uint32_t>();
  EXPECT_EQ(shown(moment, 10, random).size(), 1u);
}

TEST(CheckImageSet, CountsImagesUpToTheLargestNumber) {
  EXPECT_EQ(made({}).image_count(64), 1u);
  EXPECT_EQ(made({3, 1, 2}).image_count(64), 6u);
  EXPECT_EQ(made(std::vector<uint32_t>(63, 2)).image_count(64), uint64_t{1} << 63);
  EXPECT_EQ(made(std::vector<uint32_t>(64, 2)).image_count(64), ~uint64_t{0});
}

TEST(CheckImageSet, DescribesAnImageThatEndsWithinALine) {
  SimImage base(200, std::byte{7});
  const ImageSet set(base, 64);
  for (const size_t bytes : {0, 1, 64, 100, 199, 200, 256, 300}) {
    SimImage image(bytes, std::byte{7});
    for (const size_t changed : {70, 99, 250}) {
      if (changed < bytes) {
        image[changed] = std::byte{9};
      }
    }
    const Moment moment = set.only(image);
    Random random(1);
    uint64_t seen = 0;
    set.enumerate(moment, nullptr, 0, 1, random, [&](uint64_t, const auto& pick) {
      ++seen;
      EXPECT_EQ(set.build(set.pick(moment, nullptr, pick)), image) << bytes;
    });
    EXPECT_EQ(seen, 1u);
    EXPECT_LE(moment.choices.size(), bytes / 64 + 1);
    EXPECT_TRUE(bytes != 200 || moment.choices.size() == 1) << "only the line that differs";
  }
}

}  // namespace
}  // namespace holdfast::check::image_set_test
