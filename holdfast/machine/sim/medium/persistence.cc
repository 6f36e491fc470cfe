// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/medium/persistence.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::sim {
namespace {

/// The index of the line in `contents`. Appends the line if it is new.
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

Persistence::Persistence(Domain domain, size_t line_bytes, size_t limit, const StartImage& start,
                         HostPages* pages, bool journaled)
    : domain_(domain),
      line_bytes_(line_bytes),
      limit_(limit),
      bytes_(0),
      certain_(limit, pages),
      page_(limit / kPageBytes + 1, pages),
      shared_(start.base()),
      index_(limit / line_bytes + 1, pages),
      journaled_(journaled),
      is_touched_(limit / line_bytes + 1, pages) {
  if (start.whole() != nullptr) {
    start_with(*start.whole());
  } else if (shared_ != nullptr) {
    start_with(*shared_, *start.delta());
  }
}

void Persistence::start_with(const Image& image) {
  bytes_ = image.size();
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

void Persistence::start_with(const SharedImage& base, const ImageDelta& delta) {
  bytes_ = delta.bytes;
  for (size_t page = 0; page < base.pages(); ++page) {
    page_[page] = base.page(page) == nullptr ? Page::zero : Page::shared;
  }
  for (size_t i = 0; i < delta.lines.size(); ++i) {
    const size_t offset = delta.lines[i] * line_bytes_;
    make_own(offset / kPageBytes);
    std::memcpy(&certain_[offset], &delta.contents[i * line_bytes_],
                std::min(line_bytes_, bytes_ - offset));
  }
}

void Persistence::make_own(size_t page) {
  if (page_[page] == Page::shared) {
    std::memcpy(&certain_[page * kPageBytes], shared_->page(page), kPageBytes);
  }
  page_[page] = Page::own;
}

Persistence::~Persistence() {
  if (!certain_.is_handed_on()) {
    return;
  }
  for (const Dirty& dirty : dirty_) {
    index_[dirty.line] = 0;
  }
  forget_touched();
  const size_t pages = (bytes_ + kPageBytes - 1) / kPageBytes;
  for (size_t page = 0; page < pages;) {
    size_t end = page;
    for (; end < pages && page_[end] == Page::own; ++end) {
    }
    certain_.clear(page * kPageBytes, (end - page) * kPageBytes);
    page = end + 1;
  }
  page_.clear(0, pages);
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
  const size_t page = word.address / kPageBytes;
  if (page_[page] == Page::adopted) {
    adopted_->store(word);
    return;
  }
  if (page_[page] != Page::own) {
    make_own(page);
  }
  apply(word, certain_.data());
}

void Persistence::apply(const MaskedWord& word, std::byte* image) {
  uint64_t value;
  std::memcpy(&value, image + word.address, sizeof(value));
  value = word.over(value);
  std::memcpy(image + word.address, &value, sizeof(value));
}

void Persistence::forget_touched() {
  for (const uint32_t line : touched_) {
    is_touched_[line] = 0;
  }
  touched_.clear();
}

void Persistence::watch() {
  forget_touched();
  known_choices_.clear();
  watched_ = true;
}

void Persistence::touched(size_t offset) {
  const auto line = static_cast<uint32_t>(offset / line_bytes_);
  if (is_touched_[line] == 0) {
    touched_.push_back(line);
    known_choices_.emplace_back();
    is_touched_[line] = static_cast<uint32_t>(touched_.size());
  } else {
    known_choices_[is_touched_[line] - 1].reset();
  }
}

void Persistence::changed(uint32_t line) {
  if (is_touched_[line] != 0) {
    known_choices_[is_touched_[line] - 1].reset();
  }
}

std::vector<std::shared_ptr<const LineChoices>> Persistence::choices() const {
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (known_choices_[i] == nullptr) {
      known_choices_[i] = std::make_shared<const LineChoices>(
          journaled_ ? journal_choices_of(touched_[i]) : choices_of(touched_[i]));
    }
  }
  return known_choices_;
}

LineChoices Persistence::choices_of(uint32_t number) const {
  LineChoices choices{number, std::vector<std::byte>(line_bytes_)};
  const size_t offset = number * line_bytes_;
  copy_certain(offset, line_bytes_, choices.contents.data());
  if (index_[number] != 0) {
    const Dirty& dirty = dirty_[index_[number] - 1];
    std::vector<std::byte> line = choices.contents;
    Choice before = {};
    for (const Choice& choice : legal(dirty)) {
      apply(dirty, std::exchange(before, choice), choice, line.data() - offset);
      choices.latest = add_if_new(choices.contents, line);
    }
  }
  return choices;
}

std::vector<uint32_t> Persistence::order() const {
  std::vector<uint32_t> all;
  all.reserve(journal_.size());
  for (const WriteBack& appended : journal_) {
    all.push_back(touched_index(appended.line));
  }
  return all;
}

LineChoices Persistence::journal_choices_of(uint32_t number) const {
  LineChoices choices{number, std::vector<std::byte>(line_bytes_)};
  const size_t offset = number * line_bytes_;
  copy_certain(offset, line_bytes_, choices.contents.data());
  std::vector<std::byte> line = choices.contents;
  for (const WriteBack& appended : journal_) {
    if (appended.line == number) {
      apply(appended, line.data() - offset);
      choices.contents.insert(choices.contents.end(), line.begin(), line.end());
      ++choices.latest;
    }
  }
  return choices;
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
    dirty_.push_back({line, {}, 0, {}});
    if (!spare_.empty()) {
      dirty_.back().stores = std::move(spare_.back());
      spare_.pop_back();
    }
    index_[line] = static_cast<uint32_t>(dirty_.size());
  }
  dirty_[index_[line] - 1].stores.push_back({word, number_});
}

void Persistence::stored_around_caches(const MaskedWord& word, int slot,
                                       std::vector<WriteBack>& pending) {
  stored(word);
  const auto line = static_cast<uint32_t>(word.address / line_bytes_);
  dirty_[index_[line] - 1].around.push_back({number_, slot});
  if (!pending.empty() && pending.back().line == line) {
    pending.back().upto = number_;
  } else {
    pending.push_back({line, number_});
  }
}

void Persistence::wrote_back(size_t offset, std::vector<WriteBack>& pending) {
  const auto line = static_cast<uint32_t>(offset / line_bytes_);
  // A journal copies the line at the fence, with stores that are still to come.
  if (journaled_ || (domain_ == Domain::pmem && index_[line] != 0)) {
    pending.push_back({line, number_});
  }
}

void Persistence::appended(std::vector<WriteBack>& pending) {
  for (const WriteBack& write_back : pending) {
    if (index_[write_back.line] != 0) {  // else the medium has its content
      journal_.push_back({write_back.line, number_});
      ++position_;
      changed(write_back.line);
    }
  }
  pending.clear();
}

void Persistence::reached(size_t offset) {
  const uint32_t at = index_[offset / line_bytes_];
  if (at != 0) {
    dirty_[at - 1].reached = number_;
  }
}

void Persistence::fenced(int slot, std::vector<WriteBack>& pending) {
  for (const WriteBack& write_back : pending) {
    make_certain(write_back.line, write_back.upto, slot);
  }
  pending.clear();
}

void Persistence::synced() {
  if (journaled_) {
    for (const WriteBack& appended : journal_) {
      changed(appended.line);
      make_certain(appended.line, appended.upto, 0);  // a journal has no non-temporal stores
    }
    journal_.clear();
    return;
  }
  while (!dirty_.empty()) {
    changed(dirty_.back().line);
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

/// Makes the stores to the line up to number `upto` certain, without non-temporal ones of other
/// slots.
void Persistence::make_certain(uint32_t line, uint64_t upto, int slot) {
  const uint32_t at = index_[line];
  if (at == 0) {
    return;
  }
  changed(line);
  Dirty& dirty = dirty_[at - 1];
  std::vector<Store>& stores = dirty.stores;
  const auto stays = [&](const Store& store) {
    return std::any_of(dirty.around.begin(), dirty.around.end(), [&](const Around& around) {
      return around.number == store.number && around.slot != slot;
    });
  };
  size_t done = 0;
  size_t kept = 0;  // the first ones of `stores`
  for (; done < stores.size() && stores[done].number <= upto; ++done) {
    const Store store = stores[done];
    if (stays(store)) {
      stores[kept++] = store;
      continue;
    }
    make_certain(store.word);
    for (size_t i = 0; i < kept; ++i) {  // what a certain store has replaced does not come back
      MaskedWord& older = stores[i].word;
      if (older.address == store.word.address) {
        older.mask &= ~store.word.mask;
        older.value &= older.mask;
      }
    }
  }
  const auto replaced = [](const Store& store) { return store.word.mask == 0; };
  const auto first = stores.begin();
  const auto rest = std::remove_if(first, first + static_cast<std::ptrdiff_t>(kept), replaced);
  stores.erase(rest, first + static_cast<std::ptrdiff_t>(done));
  if (stores.empty()) {
    clean(at - 1);
    return;
  }
  std::erase_if(dirty.around, [&](const Around& around) {
    return std::none_of(stores.begin(), stores.end(),
                        [&](const Store& store) { return store.number == around.number; });
  });
}

void Persistence::clean(uint32_t index) {
  Dirty& dirty = dirty_[index];
  index_[dirty.line] = 0;
  dirty.stores.clear();
  dirty.around.clear();
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
      case Page::shared:
        std::memcpy(to + done, shared_->page(at / kPageBytes) + at % kPageBytes, piece);
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

}  // namespace holdfast::sim
