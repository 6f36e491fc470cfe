// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/machine/sim/design/design_types.h"

namespace holdfast::sim {

/// The non-volatile structures of a hardware design: the bytes as the design reads them, and the
/// bytes that would survive. The two differ only behind a planted bug.
class DesignStructures {
 public:
  explicit DesignStructures(std::vector<StructureInfo> infos) : infos_(std::move(infos)) {
    for (const StructureInfo& info : infos_) {
      now_.emplace_back(info.entries * info.entry_bytes);
    }
    surviving_ = now_;
  }

  const std::vector<StructureInfo>& infos() const { return infos_; }
  std::span<const std::byte> entry(size_t structure, size_t entry) const {
    return of(now_, structure, entry);
  }
  std::span<const std::byte> surviving_entry(size_t structure, size_t entry) const {
    return of(surviving_, structure, entry);
  }
  const std::vector<std::vector<std::byte>>& surviving() const { return surviving_; }

  /// Throws Error(misuse) if the hardware cannot make these changes at one instant.
  void check(size_t structure, std::span<const EntryChange> changes) const {
    const StructureInfo& info = info_of(structure);
    if (changes.size() > info.together) {
      misuse(info, "changes " + std::to_string(changes.size()) +
                       " entries together, and declares " + std::to_string(info.together));
    }
    for (const EntryChange& change : changes) {
      check_entry(info, change.entry);
    }
  }
  void change(size_t structure, std::span<const EntryChange> changes) {
    apply(now_, structure, changes);
  }
  void survive(size_t structure, std::span<const EntryChange> changes) {
    apply(surviving_, structure, changes);
  }
  /// The structures as an image has them. Throws Error(wrong_format) if they are others.
  void restore(std::vector<std::vector<std::byte>> bytes) {
    bool same = bytes.size() == now_.size();
    for (size_t i = 0; same && i < bytes.size(); ++i) {
      same = bytes[i].size() == now_[i].size();
    }
    if (!same) {
      throw Error(Status(Code::wrong_format,
                         "the image was left behind by a hardware design with structures of other "
                         "sizes; use the options and the machine of the run"));
    }
    surviving_ = now_ = std::move(bytes);
  }

 private:
  [[noreturn]] static void misuse(const StructureInfo& info, const std::string& what) {
    throw Error(Status(Code::misuse,
                       std::string("the hardware design's structure '") + info.name + "' " + what));
  }
  static void check_entry(const StructureInfo& info, size_t entry) {
    if (entry >= info.entries) {
      misuse(info, "has " + std::to_string(info.entries) + " entries, not one with number " +
                       std::to_string(entry));
    }
  }
  const StructureInfo& info_of(size_t structure) const {
    if (structure >= infos_.size()) {
      throw Error(Status(Code::misuse,
                         "the hardware design uses a structure that it has not "
                         "declared"));
    }
    return infos_[structure];
  }
  std::span<const std::byte> of(const std::vector<std::vector<std::byte>>& bytes, size_t structure,
                                size_t entry) const {
    const StructureInfo& info = info_of(structure);
    check_entry(info, entry);
    return std::span(bytes[structure]).subspan(entry * info.entry_bytes, info.entry_bytes);
  }
  void apply(std::vector<std::vector<std::byte>>& bytes, size_t structure,
             std::span<const EntryChange> changes) {
    const size_t size = infos_[structure].entry_bytes;
    for (const EntryChange& change : changes) {
      std::memcpy(&bytes[structure][change.entry * size], change.bytes, size);
    }
  }

  std::vector<StructureInfo> infos_;
  std::vector<std::vector<std::byte>> now_;
  std::vector<std::vector<std::byte>> surviving_;
};

}  // namespace holdfast::sim
