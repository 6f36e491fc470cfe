// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/persistence.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::sim {
namespace {

/// The index of the line among the contents, which it joins if it is new.
uint32_t add_if_new(std::vector<std::byte>& contents, const std::vector<std::byte>& line) {
  uint32_t index = 0;
  for (size_t at = 0; at < contents.size(); at += line.size(), ++index) {
    if (std::memcmp(&contents[at], line.data(), line.size()) == 0) {
      return index;
    }
  }
  contents.insert(contents.end(), line.begin(), line.end());
  return index;
}

}  // namespace

Persistence::Persistence(Domain domain, size_t line_bytes, size_t limit, const Image& image)
    : domain_(domain),
      line_bytes_(line_bytes),
      limit_(limit),
      bytes_(image.size()),
      certain_(limit),
      page_(limit / kPageBytes + 1),
      index_(limit / line_bytes + 1) {
  for (size_t offset = 0; offset < image.size(); offset += kPageBytes) {
    const size_t n = std::min(kPageBytes, image.size() - offset);
    const std::byte* page = image.data() + offset;
    const bool zero = page[0] == std::byte{0} && std::memcmp(page, page + 1, n - 1) == 0;
    if (!zero) {
      std::memcpy(&certain_[offset], page, n);
      page_[offset / kPageBytes] = Page::own;
    }
  }
}

void Persistence::adopt(size_t offset, size_t n, const FileContent& file,
                        const std::byte* content) {
  if (adopted_ == nullptr) {
    adopted_ = std::make_unique<AdoptedContent>(limit_, line_bytes_);
  }
  adopted_->add(offset, file, content);
  for (size_t page = offset / kPageBytes; page < (offset + n) / kPageBytes; ++page) {
    page_[page] = Page::adopted;
  }
}

void Persistence::make_certain(const MaskedWord& word) {
  Page& page = page_[word.address / kPageBytes];
  if (page == Page::adopted) {
    adopted_->store(word);
    return;
  }
  page = Page::own;
  apply(word, certain_.data());
}

void Persistence::apply(const MaskedWord& word, std::byte* image) {
  uint64_t value;
  std::memcpy(&value, image + word.address, sizeof(value));
  value = word.over(value);
  std::memcpy(image + word.address, &value, sizeof(value));
}

void Persistence::watch() {
  touched_.clear();
  is_touched_.clear();
  watched_ = true;
}

void Persistence::touched(size_t offset) {
  const auto line = static_cast<uint32_t>(offset / line_bytes_);
  if (line >= is_touched_.size()) {
    is_touched_.resize(line + size_t{1});
  }
  if (!is_touched_[line]) {
    is_touched_[line] = true;
    touched_.push_back(line);
  }
}

std::vector<LineChoices> Persistence::choices() const {
  std::vector<LineChoices> all;
  all.reserve(touched_.size());
  std::vector<std::byte> line(line_bytes_);
  for (const uint32_t number : touched_) {
    LineChoices choices{number, {}};
    std::fill(line.begin(), line.end(), std::byte{0});
    const size_t offset = number * line_bytes_;
    copy_certain(offset, line_bytes_, line.data());
    choices.contents = line;
    if (index_[number] != 0) {
      const Dirty& dirty = dirty_[index_[number] - 1];
      size_t applied = 0;
      for (const size_t length : prefixes(dirty)) {
        for (; applied < length; ++applied) {
          apply(dirty.stores[applied].word, line.data() - offset);
        }
        choices.latest = add_if_new(choices.contents, line);
      }
    }
    all.push_back(std::move(choices));
  }
  return all;
}

void Persistence::stored(const MaskedWord& word, bool same_instant) {
  if (watched_) {
    touched(word.address);
  }
  if (certain_at_once()) {
    make_certain(word);
    return;
  }
  number_ += same_instant ? 0 : 1;
  const auto line = static_cast<uint32_t>(word.address / line_bytes_);
  if (index_[line] == 0) {
    dirty_.push_back({line, {}});
    if (!spare_.empty()) {
      dirty_.back().stores = std::move(spare_.back());
      spare_.pop_back();
    }
    index_[line] = static_cast<uint32_t>(dirty_.size());
  }
  dirty_[index_[line] - 1].stores.push_back({word, number_});
}

void Persistence::wrote_back(size_t offset, std::vector<WriteBack>& pending) {
  const auto line = static_cast<uint32_t>(offset / line_bytes_);
  if (domain_ == Domain::pmem && index_[line] != 0) {
    pending.push_back({line, number_});
  }
}

void Persistence::reached(size_t offset) {
  const uint32_t at = index_[offset / line_bytes_];
  if (at != 0) {
    dirty_[at - 1].reached = number_;
  }
}

void Persistence::fenced(std::vector<WriteBack>& pending) {
  for (const WriteBack& write_back : pending) {
    make_certain(write_back.line, write_back.upto);
  }
  pending.clear();
}

void Persistence::synced() {
  while (!dirty_.empty()) {
    for (const Store& store : dirty_.back().stores) {
      make_certain(store.word);
    }
    clean(static_cast<uint32_t>(dirty_.size() - 1));
  }
}

void Persistence::put(size_t offset, const std::byte* bytes, size_t n) {
  for (size_t at = 0; at < n; at += kWordBytes) {
    uint64_t value;
    std::memcpy(&value, bytes + at, sizeof(value));
    make_certain({offset + at, value, ~uint64_t{0}});
  }
  if (watched_) {
    touched(offset);
  }
}

void Persistence::make_certain(uint32_t line, uint64_t upto) {
  const uint32_t at = index_[line];
  if (at == 0) {
    return;
  }
  std::vector<Store>& stores = dirty_[at - 1].stores;
  size_t done = 0;
  while (done < stores.size() && stores[done].number <= upto) {
    make_certain(stores[done++].word);
  }
  if (done == stores.size()) {
    clean(at - 1);
  } else {
    stores.erase(stores.begin(), stores.begin() + static_cast<std::ptrdiff_t>(done));
  }
}

void Persistence::clean(uint32_t index) {
  Dirty& dirty = dirty_[index];
  index_[dirty.line] = 0;
  dirty.stores.clear();
  spare_.push_back(std::move(dirty.stores));
  if (index + 1 != dirty_.size()) {
    dirty = std::move(dirty_.back());
    index_[dirty.line] = index + 1;
  }
  dirty_.pop_back();
}

void Persistence::copy_certain(size_t offset, size_t n, std::byte* to) const {
  for (size_t done = 0; done < n;) {
    const size_t at = offset + done;
    const size_t piece = std::min(n - done, kPageBytes - at % kPageBytes);
    switch (page_[at / kPageBytes]) {
      case Page::zero:
        break;
      case Page::own:
        std::memcpy(to + done, &certain_[at], piece);
        break;
      case Page::adopted:
        adopted_->copy(at, piece, to + done);
        break;
    }
    done += piece;
  }
}

void Persistence::read_latest(size_t offset, size_t n, std::byte* to) const {
  copy_certain(offset, n, to);
  for (const Dirty& dirty : dirty_) {
    const size_t at = dirty.line * line_bytes_;
    if (at >= offset && at < offset + n) {
      for (const Store& store : dirty.stores) {
        apply(store.word, to - offset);
      }
    }
  }
}

Image Persistence::surviving_image() const {
  Image image = earliest_image();
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

Image Persistence::latest_image() const {
  Image image(bytes_);
  read_latest(0, bytes_, image.data());
  return image;
}

std::vector<size_t> Persistence::prefixes(const Dirty& dirty) {
  std::vector<size_t> lengths{0};
  for (size_t i = 1; i <= dirty.stores.size(); ++i) {
    if (i == dirty.stores.size() || dirty.stores[i].number != dirty.stores[i - 1].number) {
      lengths.push_back(i);
    }
  }
  return lengths;
}

Image Persistence::sample_image(Random& random) const {
  Image image = earliest_image();
  for (const Dirty& dirty : dirty_) {
    const std::vector<size_t> lengths = prefixes(dirty);
    const size_t length = lengths[random.below(lengths.size())];
    for (size_t i = 0; i < length; ++i) {
      apply(dirty.stores[i].word, image.data());
    }
  }
  return image;
}

uint64_t Persistence::image_count() const {
  uint64_t count = 1;
  for (const Dirty& dirty : dirty_) {
    if (__builtin_mul_overflow(count, prefixes(dirty).size(), &count)) {
      return ~uint64_t{0};
    }
  }
  return count;
}

uint64_t Persistence::for_each_image(uint64_t limit, FunctionRef<bool(const Image&)> f) const {
  Image image = earliest_image();
  std::vector<std::vector<size_t>> lengths;
  for (const Dirty& dirty : dirty_) {
    lengths.push_back(prefixes(dirty));
  }
  // An odometer with one wheel per dirty line; turning a wheel applies a few stores, and its
  // overflow puts the certain line back.
  std::vector<size_t> wheel(dirty_.size(), 0);
  for (uint64_t seen = 0; seen < limit;) {
    ++seen;
    if (!f(image)) {
      return seen;
    }
    size_t i = 0;
    for (; i < wheel.size(); ++i) {
      const Dirty& dirty = dirty_[i];
      if (wheel[i] + 1 < lengths[i].size()) {
        for (size_t k = lengths[i][wheel[i]]; k < lengths[i][wheel[i] + 1]; ++k) {
          apply(dirty.stores[k].word, image.data());
        }
        ++wheel[i];
        break;
      }
      wheel[i] = 0;
      std::byte* const line = &image[dirty.line * line_bytes_];
      std::memset(line, 0, line_bytes_);
      copy_certain(dirty.line * line_bytes_, line_bytes_, line);
    }
    if (i == wheel.size()) {
      return seen;
    }
  }
  return limit;
}

}  // namespace holdfast::sim
