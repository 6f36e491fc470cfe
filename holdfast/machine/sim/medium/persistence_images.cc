// SPDX-License-Identifier: Apache-2.0
// The images of the medium after a power failure.
#include <algorithm>
#include <bit>
#include <cstring>

#include "holdfast/machine/sim/medium/persistence.h"

namespace holdfast::sim {

Image Persistence::surviving_image() const {
  Image image = earliest_image();
  if (journaled_) {
    return image;
  }
  for (const Dirty& dirty : dirty_) {
    for (const Store& store : dirty.stores) {
      if (store.number <= dirty.reached) {
        apply(store.word, image.data());
      }
    }
  }
  return image;
}

Image Persistence::earliest_image() const {
  Image image(bytes_);
  copy_certain(0, bytes_, image.data());
  return image;
}

void Persistence::apply(const WriteBack& appended, std::byte* image) const {
  if (index_[appended.line] == 0) {
    return;
  }
  for (const Store& store : dirty_[index_[appended.line] - 1].stores) {
    if (store.number <= appended.upto) {
      apply(store.word, image);
    }
  }
}

void Persistence::apply_first(size_t n, Image& image) const {
  for (size_t i = 0; i < n; ++i) {
    apply(journal_[i], image.data());
  }
}

Image Persistence::latest_image() const {
  if (journaled_) {
    Image image = earliest_image();
    apply_first(journal_.size(), image);
    return image;
  }
  Image image(bytes_);
  read_latest(0, bytes_, image.data());
  return image;
}

std::vector<Persistence::Choice> Persistence::legal(const Dirty& dirty) {
  std::vector<Choice> choices{{}};
  size_t older = 0;  // non-temporal stores before the last store of the prefix; that one is kept
  for (size_t i = 1; i <= dirty.stores.size(); ++i) {
    const uint64_t number = dirty.stores[i - 1].number;
    if (i < dirty.stores.size() && dirty.stores[i].number == number) {
      continue;
    }
    while (older < dirty.around.size() && dirty.around[older].number < number) {
      ++older;
    }
    const size_t loose = std::min(older, kMostLost);
    for (uint32_t lost = uint32_t{1} << loose; lost-- > 0;) {
      choices.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(older - loose), lost});
    }
  }
  return choices;
}

void Persistence::apply(const Dirty& dirty, const Choice& before, const Choice& choice,
                        std::byte* image) const {
  const bool more = before.lost == 0 && choice.lost == 0;
  if (!more) {
    restore(dirty.line, image);
  }
  const auto is_lost = [&](uint64_t number) {
    for (uint32_t rest = choice.lost; rest != 0; rest &= rest - 1) {
      if (dirty.around[choice.from + static_cast<size_t>(std::countr_zero(rest))].number ==
          number) {
        return true;
      }
    }
    return false;
  };
  for (size_t i = more ? before.length : 0; i < choice.length; ++i) {
    if (!is_lost(dirty.stores[i].number)) {
      apply(dirty.stores[i].word, image);
    }
  }
}

/// Gives the line its certain content in the image.
void Persistence::restore(uint32_t line, std::byte* image) const {
  const size_t offset = line * line_bytes_;
  std::memset(image + offset, 0, line_bytes_);
  copy_certain(offset, line_bytes_, image + offset);
}

Image Persistence::sample_image(Random& random) const {
  Image image = earliest_image();
  if (journaled_) {
    apply_first(random.below(journal_.size() + 1), image);
    return image;
  }
  for (const Dirty& dirty : dirty_) {
    const std::vector<Choice> choices = legal(dirty);
    apply(dirty, {}, choices[random.below(choices.size())], image.data());
  }
  return image;
}

uint64_t Persistence::image_count() const {
  if (journaled_) {
    return journal_.size() + 1;
  }
  uint64_t count = 1;
  for (const Dirty& dirty : dirty_) {
    if (__builtin_mul_overflow(count, legal(dirty).size(), &count)) {
      return ~uint64_t{0};
    }
  }
  return count;
}

uint64_t Persistence::for_each_image(uint64_t limit, FunctionRef<bool(const Image&)> f) const {
  Image image = earliest_image();
  if (journaled_) {
    uint64_t seen = 0;
    while (seen < limit && seen <= journal_.size()) {
      if (seen > 0) {
        apply(journal_[seen - 1], image.data());
      }
      ++seen;
      if (!f(image)) {
        break;
      }
    }
    return seen;
  }
  std::vector<std::vector<Choice>> choices;
  choices.reserve(dirty_.size());
  for (const Dirty& dirty : dirty_) {
    choices.push_back(legal(dirty));
  }
  // An odometer with one wheel for each dirty line. A step of a wheel applies a few stores. A wheel
  // that overflows restores the line's certain content.
  std::vector<size_t> wheel(dirty_.size(), 0);
  for (uint64_t seen = 0; seen < limit;) {
    ++seen;
    if (!f(image)) {
      return seen;
    }
    size_t i = 0;
    for (; i < wheel.size(); ++i) {
      const Dirty& dirty = dirty_[i];
      if (wheel[i] + 1 < choices[i].size()) {
        apply(dirty, choices[i][wheel[i]], choices[i][wheel[i] + 1], image.data());
        ++wheel[i];
        break;
      }
      wheel[i] = 0;
      restore(dirty.line, image.data());
    }
    if (i == wheel.size()) {
      return seen;
    }
  }
  return limit;
}

}  // namespace holdfast::sim
