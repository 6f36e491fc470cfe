// SPDX-License-Identifier: Apache-2.0
#include "holdfast/check/crash/image_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"

namespace holdfast::check {
namespace {

using Pick = std::vector<uint32_t>;

/// A line with several possible contents. The picks of all such lines count like a number's digits.
struct Digit {
  size_t index;       ///< into Moment::choices
  uint32_t contents;  ///< the number of possible contents
};

std::vector<Digit> digits_of(const Moment& moment, size_t line_bytes) {
  std::vector<Digit> all;
  for (size_t i = 0; i < moment.choices.size(); ++i) {
    const size_t contents = moment.choices[i]->contents.size() / line_bytes;
    if (contents > 1) {
      all.push_back({i, static_cast<uint32_t>(contents)});
    }
  }
  return all;
}

/// A set of hashes in one piece of memory. Most moments have only a few images.
class Hashes {
 public:
  explicit Hashes(size_t expected) : slots_(std::bit_ceil(2 * expected + 2)) {}

  /// Returns false if the hash was there before.
  bool insert(uint64_t hash) {
    if (hash == 0) {
      return !std::exchange(has_zero_, true);
    }
    if (2 * (size_ + 1) > slots_.size()) {
      Hashes larger(size_);
      for (const uint64_t present : slots_) {
        if (present != 0) {
          larger.insert(present);
        }
      }
      std::swap(slots_, larger.slots_);
    }
    uint64_t* const at = find(hash);
    const bool fresh = *at == 0;
    *at = hash;
    size_ += fresh ? 1 : 0;
    return fresh;
  }

 private:
  uint64_t* find(uint64_t hash) {
    size_t i = hash & (slots_.size() - 1);
    while (slots_[i] != 0 && slots_[i] != hash) {
      i = (i + 1) & (slots_.size() - 1);
    }
    return &slots_[i];
  }

  std::vector<uint64_t> slots_;  ///< 0: free
  size_t size_ = 0;
  bool has_zero_ = false;
};

/// Changes `pick` to the next combination. Returns false after the last one.
bool increment(const std::vector<Digit>& digits, Pick& pick) {
  for (const Digit& digit : digits) {
    if (++pick[digit.index] < digit.contents) {
      return true;
    }
    pick[digit.index] = 0;
  }
  return false;
}

/// The lines of the moment, sorted.
std::vector<uint32_t> lines_of(const Moment& moment) {
  std::vector<uint32_t> lines;
  lines.reserve(moment.choices.size());
  for (const auto& line : moment.choices) {
    lines.push_back(line->line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Returns the lengths of up to `most` prefixes of a list with n elements, but at least the
/// shortest and the longest one.
std::vector<size_t> lengths_of_prefixes(size_t n, uint64_t most, Random& random) {
  std::vector<size_t> lengths = {0};
  if (n > 0) {
    lengths.push_back(n);
  }
  std::vector<size_t> others;
  for (size_t length = 1; length < n; ++length) {
    others.push_back(length);
  }
  while (lengths.size() < most && !others.empty()) {
    std::swap(others[random.below(others.size())], others.back());
    lengths.push_back(others.back());
    others.pop_back();
  }
  return lengths;
}

}  // namespace

uint64_t Moment::image_count(size_t line_bytes) const {
  if (order) {
    return order->size() + 1;
  }
  uint64_t count = 1;
  for (const auto& line : choices) {
    if (__builtin_mul_overflow(count, line->contents.size() / line_bytes, &count)) {
      return ~uint64_t{0};
    }
  }
  return count;
}

ImageSet::ImageSet(sim::Image base, size_t line_bytes)
    : base_(std::move(base)), line_bytes_(line_bytes), zero_(line_bytes), shared_(base_) {
  none_.bytes = base_.size();
}

Moment ImageSet::only(const sim::Image& image) const {
  Moment moment{image.size(), {}};
  std::vector<std::byte> line(line_bytes_);
  for (size_t at = 0; at < image.size(); at += line_bytes_) {
    const size_t n = std::min(line_bytes_, image.size() - at);
    std::copy_n(&image[at], n, line.data());
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(n), line.end(), std::byte{0});
    const auto number = static_cast<uint32_t>(at / line_bytes_);
    if (std::memcmp(line.data(), base_line(number), line_bytes_) != 0) {
      moment.choices.push_back(
          std::make_shared<const sim::LineChoices>(sim::LineChoices{number, line}));
    }
  }
  return moment;
}

const std::byte* ImageSet::base_line(uint32_t line) const {
  const size_t at = line * line_bytes_;
  return at < shared_.padded().size() ? &shared_.padded()[at] : zero_.data();
}

uint64_t ImageSet::line_hash(uint32_t line, const std::byte* content) const {
  return std::memcmp(content, base_line(line), line_bytes_) == 0
             ? 0
             : checksum(content, line_bytes_, mix64(line));
}

sim::Image ImageSet::build(const ImageDelta& delta) const {
  sim::Image image;
  build(delta, image);
  return image;
}

void ImageSet::build(const ImageDelta& delta, sim::Image& image) const {
  image.assign(base_.begin(), base_.end());
  image.resize(delta.bytes);
  for (size_t i = 0; i < delta.lines.size(); ++i) {
    const size_t at = delta.lines[i] * line_bytes_;
    std::copy_n(&delta.contents[i * line_bytes_], std::min(line_bytes_, image.size() - at),
                &image[at]);
  }
}

uint64_t ImageSet::enumerate(const Moment& moment, const ImageDelta* delta, uint64_t base_hash,
                             uint64_t most, Random& random,
                             FunctionRef<void(uint64_t, const Pick&)> f) const {
  // An image's hash is the exclusive or of its lines' hashes. `fixed` is the part that all images
  // of the moment share: of the delta's lines that the moment does not replace, and of lines with
  // one content.
  uint64_t fixed = base_hash ^ mix64(moment.bytes);
  if (delta != nullptr) {
    fixed ^= mix64(delta->bytes);
    const std::vector<uint32_t> replaced = lines_of(moment);
    for (size_t i = 0; i < delta->lines.size(); ++i) {
      if (std::binary_search(replaced.begin(), replaced.end(), delta->lines[i])) {
        fixed ^= line_hash(delta->lines[i], &delta->contents[i * line_bytes_]);
      }
    }
  }
  const std::vector<Digit> digits = digits_of(moment, line_bytes_);
  for (const auto& line : moment.choices) {
    if (line->contents.size() == line_bytes_) {
      fixed ^= line_hash(line->line, line->contents.data());
    }
  }
  std::vector<uint64_t> hashes;  // of the contents of the digits' lines, one after the other
  for (const Digit& digit : digits) {
    const sim::LineChoices& line = *moment.choices[digit.index];
    for (size_t at = 0; at < line.contents.size(); at += line_bytes_) {
      hashes.push_back(line_hash(line.line, &line.contents[at]));
    }
  }
  Hashes seen(std::min<uint64_t>(most, 64));
  uint64_t called = 0;
  const auto show = [&](const Pick& pick) {
    uint64_t hash = fixed;
    const uint64_t* of_line = hashes.data();
    for (const Digit& digit : digits) {
      hash ^= of_line[pick[digit.index]];
      of_line += digit.contents;
    }
    if (seen.insert(hash)) {
      ++called;
      f(hash, pick);
    }
  };

  Pick pick(moment.choices.size(), 0);
  if (moment.order) {
    for (const size_t length : lengths_of_prefixes(moment.order->size(), most, random)) {
      std::fill(pick.begin(), pick.end(), 0);
      for (size_t i = 0; i < length; ++i) {
        ++pick[(*moment.order)[i]];
      }
      show(pick);
    }
    return called;
  }
  if (moment.image_count(line_bytes_) <= most) {
    do {
      show(pick);
    } while (increment(digits, pick));
    return called;
  }
  show(pick);
  Pick latest = pick;
  for (const Digit& digit : digits) {
    latest[digit.index] = moment.choices[digit.index]->latest;
  }
  show(latest);
  for (const Digit& digit : digits) {
    std::swap(pick[digit.index], latest[digit.index]);
    if (called < most) {
      show(pick);
    }
    if (called < most) {
      show(latest);
    }
    std::swap(pick[digit.index], latest[digit.index]);
  }
  for (uint64_t tries = 0; called < most && tries < 2 * most; ++tries) {
    for (const Digit& digit : digits) {
      pick[digit.index] = static_cast<uint32_t>(random.below(digit.contents));
    }
    show(pick);
  }
  return called;
}

ImageDelta ImageSet::pick(const Moment& moment, const ImageDelta* delta, const Pick& pick) const {
  // First the lines, so that each list takes one piece of memory of the right size.
  std::vector<std::pair<uint32_t, const std::byte*>> lines;
  lines.reserve(pick.size() + (delta == nullptr ? 0 : delta->lines.size()));
  const auto add = [&](uint32_t line, const std::byte* content) {
    if (std::memcmp(content, base_line(line), line_bytes_) != 0) {
      lines.emplace_back(line, content);
    }
  };
  for (size_t i = 0; i < pick.size(); ++i) {
    const sim::LineChoices& line = *moment.choices[i];
    add(line.line, &line.contents[pick[i] * line_bytes_]);
  }
  if (delta != nullptr) {
    const std::vector<uint32_t> replaced = lines_of(moment);
    for (size_t i = 0; i < delta->lines.size(); ++i) {
      if (!std::binary_search(replaced.begin(), replaced.end(), delta->lines[i])) {
        add(delta->lines[i], &delta->contents[i * line_bytes_]);
      }
    }
  }
  ImageDelta image;
  image.bytes = moment.bytes;
  image.lines.reserve(lines.size());
  image.contents.reserve(lines.size() * line_bytes_);
  for (const auto& [line, content] : lines) {
    image.lines.push_back(line);
    image.contents.insert(image.contents.end(), content, content + line_bytes_);
  }
  return image;
}

}  // namespace holdfast::check
