// SPDX-License-Identifier: Apache-2.0
//
// The longer members of Heap. Included by heap.h only.
#pragma once

#include <algorithm>

#include "holdfast/base/round.h"
#include "holdfast/heap/caught_at_start.h"

namespace holdfast {

template <class E>
Result<std::unique_ptr<Heap<E>>> Heap<E>::create(Machine& machine, const CreateOptions& options) {
  try {
    auto description = EngineFactory<E>::describe(options.engine);
    if (!description) {
      return description.status();
    }
    Options merged = options.options;
    merged.insert(options.run_options.begin(), options.run_options.end());
    if (Status status = check_option_names(**description, merged); !status.ok()) {
      return status;
    }
    if (options.partitions < 0 || options.partitions > Partitions::kMost) {
      return Status(Code::invalid_argument,
                    "partitions is from 0 to " + std::to_string(Partitions::kMost));
    }
    if (options.slots < 0 || options.slots > kMostThreadSlots) {
      return Status(Code::invalid_argument,
                    "slots is from 0 to " + std::to_string(kMostThreadSlots));
    }
    const int slots = std::max(options.slots, machine.slots());
    auto area = (*description)->area_bytes(merged, slots);
    auto recorded = (*description)->area_bytes(options.options, slots);
    if (!area) {
      return area.status();
    }
    if (recorded.ok() && *recorded != *area) {
      return Status(Code::invalid_argument,
                    "run_options lay out the file, and it does not record them; give such an "
                    "option in CreateOptions::options");
    }
    std::unique_ptr<Heap> heap(new Heap(machine));
    Status status = heap->file_.create(options, **description);
    if (status.ok()) {
      status = heap->start(*description, options.engine, merged,
                           static_cast<int>(heap->file_.superblock().slots));
    }
    if (status.ok()) {
      status = heap->fill(options);
    }
    if (status.ok()) {
      // Last: if creation is interrupted the file has no superblock, and is not taken for a heap.
      status = heap->file_.publish();
    }
    if (!status.ok()) {
      return status;
    }
    heap->closed_ = false;
    give_back_memory(machine, true);
    return heap;
  } catch (...) {
    return caught_at_start(machine.medium().name());
  }
}

/// Asks the medium to take the content over without a copy. Returns false if it cannot.
template <class E>
bool Heap<E>::adopt(std::byte* to, const std::byte* content, size_t n) {
  if constexpr (requires { machine_.medium().adopt(to, content, n); }) {
    return machine_.medium().adopt(to, content, n);
  } else {
    return false;
  }
}

template <class E>
Status Heap<E>::fill(const CreateOptions& o) {
  const Regions& r = regions();
  if (o.content != nullptr) {
    if (o.content_bytes > r.bytes) {
      return {Code::invalid_argument, "the content is larger than the heap"};
    }
    // A copy-on-write working copy may not show later stores to its home, so it gets the content
    // too.
    std::byte* const copies[] = {r.home, r.twin, r.data != r.home ? r.data : nullptr};
    for (std::byte* to : copies) {
      if (to != nullptr && !adopt(to, o.content, o.content_bytes)) {
        Machine::copy(to, o.content, o.content_bytes);
        machine_.pwb_range(to, o.content_bytes, Site{"heap.content"});
      }
    }
    machine_.psync(Site{"heap.content.sync"});
  }
  Status status = engine_->format();
  if (status.ok()) {
    status = engine_->recover(recovery_);
  }
  if (!status.ok()) {
    return status;
  }
  const auto arenas = static_cast<size_t>(file_.superblock().slots);
  const auto partitions = static_cast<size_t>(o.partitions);
  const size_t metadata_bytes =
      round_up(DataHeader<E>::bytes(arenas, partitions), file_.superblock().chunk_bytes);
  if (o.content == nullptr && metadata_bytes > r.bytes) {
    return {Code::invalid_argument,
            "the heap's metadata for " + std::to_string(arenas) + " threads and " +
                std::to_string(partitions) + " partitions takes " + std::to_string(metadata_bytes) +
                " bytes in whole chunks; make the heap larger, or lower max_threads, partitions or "
                "chunk_bytes"};
  }
  auto format = [&] {
    if (o.content == nullptr) {
      const uint64_t mark = o.fine_classes ? kLayoutMark3 : kLayoutMark2;
      Allocator<E>::format(r.data, mark, file_.superblock().chunk_bytes, arenas, partitions,
                           r.bytes);
    } else {
      header()->limit = r.bytes / header()->chunk_bytes;
    }
    count_partitions();
  };
  call_update(*engine_, Partitions::all(), format, Commit::durable);
  return {};
}

template <class E>
Result<std::unique_ptr<Heap<E>>> Heap<E>::open(Machine& machine, const OpenOptions& options) {
  try {
    std::unique_ptr<Heap> heap(new Heap(machine));
    Status status = heap->file_.read(options.max_bytes);
    if (!status.ok()) {
      return status;
    }
    const Superblock& s = heap->file_.superblock();
    if (!options.engine.empty() && options.engine != s.engine) {
      return Status(Code::wrong_format,
                    heap->file_.name() + ": the heap belongs to engine '" + s.engine + "', not '" +
                        options.engine +
                        "'; open it with that engine, or change it with `holdfast convert`");
    }
    auto description = EngineFactory<E>::describe(s.engine);
    if (!description) {
      return Status(description.status().code(),
                    heap->file_.name() + ": " + description.status().message());
    }
    Options merged = s.options;
    merged.insert(options.options.begin(), options.options.end());
    status = check_option_names(**description, merged);
    status = status.ok() ? heap->file_.bound_by(**description) : status;
    if (status.ok() && !heap->read_only_) {
      heap->file_.keep_newest();  // before anything relies on what it says
    }
    status = status.ok() ? heap->map_and_recover(*description, merged) : status;
    if (status.ok() && !heap->read_only_ && (s.clean || heap->file_.must_publish())) {
      // Before any transaction: recovery may read no log of a heap that counts as closed.
      heap->file_.set_clean(false);
      status = heap->file_.publish();
    }
    heap->published_.publish(heap->file_.superblock());
    status = status.ok() ? heap->announce_growth() : status;
    if (!status.ok()) {
      return status;
    }
    heap->closed_ = false;
    give_back_memory(machine, true);
    return heap;
  } catch (...) {
    return caught_at_start(machine.medium().name());
  }
}

/// Checks that the engine runs in the domain, and that its area has the length that it needs,
/// before it stores there. `options`: the recorded ones, and those given now.
template <class E>
Status Heap<E>::check_area(const Description* description, const Options& options) const {
  if (Status status = file_.check_domain(*description); !status.ok()) {
    return status;
  }
  const Superblock& s = file_.superblock();
  auto recorded = description->area_bytes(s.options, static_cast<int>(s.slots));
  auto needed = description->area_bytes(options, static_cast<int>(s.slots));
  if (!needed) {
    return needed.status();
  }
  if (recorded.ok() && *recorded != *needed) {
    return {Code::invalid_argument,
            "engine options that lay out the file are fixed when the heap is made, and those given "
            "now lay it out differently; leave them out, or copy the heap with `holdfast convert`"};
  }
  return *needed <= s.area_bytes()
             ? Status()
             : Status(Code::corrupt, "the engine area has " + std::to_string(s.area_bytes()) +
                                         " bytes, the engine needs " + std::to_string(*needed) +
                                         "; restore the file from a copy");
}

/// Maps the regions and recovers. Metadata may look damaged before recovery because a transaction
/// was interrupted. Then it first rehearses recovery on private mappings, so that real damage
/// leaves the file unchanged.
template <class E>
Status Heap<E>::map_and_recover(const Description* description, const Options& options) {
  Status status = check_area(description, options);
  status = status.ok() ? file_.open_journal(*description) : status;
  if (status.ok()) {
    status = file_.map_regions(description->layout);
  }
  bool wiped = false;
  if (status.ok() && file_.lacks_slots()) {
    Result<bool> added = add_slots(description, options);
    status = added.status();
    wiped = added.ok() && *added;
  }
  if (status.ok() && !(metadata(regions().home).ok() && metadata(regions().twin).ok())) {
    file_.unmap_regions();
    status = rehearse(description, options);
    if (status.ok()) {
      status = file_.map_regions(description->layout);
    }
  }
  if (status.ok() && wiped) {
    status = renew_area(description, options, "made the engine area anew, for more thread slots");
  } else if (status.ok()) {
    status = recover(description, options);
  }
  if (!status.ok()) {
    const bool has_name = status.message().rfind(file_.name(), 0) == 0;
    return {status.code(), (has_name ? "" : file_.name() + ": ") + status.message()};
  }
  return {};
}

/// Gives the heap as many thread slots as the machine has. Returns whether the engine area is new
/// and all zeros; otherwise it does not depend on the number of slots.
///
/// Only the data of a heap that was closed is whole without the engine area. The area is zeros on
/// the medium before the superblocks describe its new length. So a crash leaves a closed heap with
/// the old number of slots or the new one, and the next opening makes the area anew.
template <class E>
Result<bool> Heap<E>::add_slots(const Description* description, const Options& options) {
  const Superblock& s = file_.superblock();
  auto before = description->area_bytes(options, static_cast<int>(s.slots));
  auto needed = description->area_bytes(options, machine_.slots());
  if (!needed) {
    return Status(needed.status().code(),
                  needed.status().message() + "; so the heap cannot get more thread slots");
  }
  // The lengths may be equal because of their rounding.
  auto most = description->area_bytes(options, kMaxThreads);
  if (*before == *needed && most && *most == *needed) {
    file_.add_slots();
    return false;
  }
  if (description->layout == Layout::cells) {
    return Status(Code::unsupported, "engine " + s.engine + " cannot raise max_threads, which is " +
                                         std::to_string(s.slots - 1) +
                                         " in this heap; copy the heap with `holdfast " +
                                         "convert --max-threads N`");
  }
  if (!s.clean) {
    return Status(Code::misuse,
                  "the heap was not closed, so its logs must be recovered before it gets more "
                  "thread slots; open it with " +
                      std::to_string(s.slots) + " slots and close it");
  }
  Status status = metadata(regions().home);
  if (status.ok()) {
    status = metadata(regions().twin);
  }
  if (status.ok()) {
    status = file_.extend_area(*needed);
  }
  if (status.ok()) {
    wipe_area();
    file_.add_slots();
    status = file_.publish();
  }
  return status.ok() ? Result<bool>(true) : status;
}

/// Recovers on private mappings and discards them. Returns the status that recovery would have.
template <class E>
Status Heap<E>::rehearse(const Description* description, const Options& options) {
  Status status = file_.map_regions(description->layout, true);
  if (status.ok()) {
    status = recover(description, options);
  }
  machine_.set_background(nullptr);
  engine_.reset();
  file_.unmap_regions();
  recovery_ = RecoveryReport();
  return status;
}

/// Makes the engine, recovers the mapped regions, and validates the metadata.
template <class E>
Status Heap<E>::recover(const Description* description, const Options& options) {
  const Superblock& s = file_.superblock();
  Status status = start(description, s.engine, options, static_cast<int>(s.slots));
  if (status.ok()) {
    status = engine_->recover(recovery_);
  }
  if (status.code() == Code::corrupt && s.clean && description->layout != Layout::cells) {
    wipe_area();
    status =
        renew_area(description, options,
                   "made the damaged engine area anew; the heap had been closed and needs no log");
  }
  return status.ok() ? metadata(regions().data) : status;
}

/// Overwrites the engine area with zeros. Old records must not look valid to a later recovery.
template <class E>
void Heap<E>::wipe_area() {
  machine_.set_background(nullptr);
  engine_.reset();
  const std::vector<std::byte> zeros(kPageBytes);
  for (size_t at = 0; at < regions().area_bytes; at += zeros.size()) {
    Machine::copy(regions().area + at, zeros.data(), zeros.size());
  }
  machine_.pwb_range(regions().area, regions().area_bytes, Site{"heap.area"});
  machine_.psync(Site{"heap.area.sync"});
}

/// Makes an engine area of zeros anew. Only for a heap that was closed, whose data is whole without
/// it; the values in cells are not. A crash leaves the heap closed with an area that the
/// next opening makes anew. `text`: for the report of recovery.
template <class E>
Status Heap<E>::renew_area(const Description* description, const Options& options,
                           const char* text) {
  const Superblock& s = file_.superblock();
  Status status = start(description, s.engine, options, static_cast<int>(s.slots));
  if (status.ok()) {
    status = engine_->format();
  }
  if (status.ok()) {
    recovery_ = RecoveryReport();
    status = engine_->recover(recovery_);
  }
  recovery_.needed = true;
  recovery_.text = text;
  return status.ok() ? metadata(regions().data) : status;
}

/// Validates the allocator's metadata in this copy of the data. Null is valid.
template <class E>
Status Heap<E>::metadata(std::byte* copy) const {
  const Superblock& s = file_.superblock();
  return copy == nullptr ? Status() : check_header<E>(copy, regions().data, regions().bytes, s);
}

template <class E>
std::optional<RootInfo> Heap<E>::describe(std::string_view name) const {
  use_metadata<E>();
  const Root<E>* root = roots().find(name);
  if (root == nullptr) {
    return std::nullopt;
  }
  return RootInfo{std::string(name), root_string(root->type), root->version, root->bytes,
                  root->object};
}

template <class E>
std::vector<RootInfo> Heap<E>::list_roots() {
  std::vector<RootInfo> list;
  read([&] {
    use_metadata<E>();
    list = roots().list();
  }).check();
  return list;
}

template <class E>
Result<std::byte*> Heap<E>::find_root(std::string_view name, const RootType& type,
                                      const RootMigration* migrate) {
  std::optional<RootInfo> info;
  Status status = read([&] { info = describe(name); });
  if (!status.ok()) {
    return status;
  }
  if (!info) {
    return no_root(file_.name(), name);
  }
  if (type.is_of(*info)) {
    return info->object;
  }
  if (migrate == nullptr || info->type != type.name || info->version == type.version) {
    return other_root(file_.name(), *info, type);
  }
  std::byte* object = nullptr;
  status = update([&] {
    object = (*migrate)(*info);
    if (!contains(object)) {
      throw_no_root_object();
    }
    use_metadata<E>();
    roots().remove(roots().find(name));
    roots().add(name, type, object);
  });
  return status.ok() ? Result<std::byte*>(object) : Result<std::byte*>(std::move(status));
}

template <class E>
Status Heap<E>::add_root(std::string_view name, const RootType& type,
                         FunctionRef<std::byte*()> make) {
  return update([&] {
    std::byte* const object = make();
    use_metadata<E>();
    roots().add(name, type, object);
  });
}

/// Tells the allocator about all of the data region.
template <class E>
Status Heap<E>::announce_growth() {
  const Superblock& s = file_.superblock();
  // A crash may have come between the growth of the file and the transaction that announces it.
  const uint64_t limit = regions().bytes / s.chunk_bytes;
  count_partitions();
  if (header()->limit < limit) {
    auto announce = [&] { header()->limit = limit; };
    update_metadata(*engine_, announce);
  }
  if (!read_only_) {
    const auto all = Partitions::all();
    const auto changing = [&](FunctionRef<void()> body) {
      call_update(*engine_, all, with_metadata<E>(body), Commit::durable);
    };
    const auto reading = [&](FunctionRef<void()> body) {
      call_read(*engine_, all, with_metadata<E>(body));
    };
    Compaction<E>(regions().data, changing, reading).finish();
  }
  return {};
}

template <class E>
Status Heap<E>::named(const Status& status) const {
  const bool add = status.code() == Code::corrupt && status.message().rfind(file_.name(), 0) != 0;
  return add ? Status(Code::corrupt, file_.name() + ": " + status.message()) : status;
}

template <class E>
Status Heap<E>::why_not_ready(Context::Mode mode) {
  if constexpr (requires { machine_.forked_child(); }) {
    if (machine_.forked_child()) {
      return {Code::misuse,
              file_.name() + ": the heap was opened before fork(); open it anew in the child"};
    }
  }
  if (machine_.failed()) {
    return machine_.failure();
  }
  if (closed_) {
    return {Code::misuse, "the heap is closed"};
  }
  if (mode == Context::Mode::update && read_only_) {
    return {Code::misuse, file_.name() + ": the heap was opened read-only"};
  }
  if (machine_.self() < 0) {
    return {Code::too_many_threads,
            file_.name() + ": more threads use the heap than its max_threads, which is " +
                std::to_string(machine_.slots() - 1) + "; open it with more, or end some threads"};
  }
  return {};
}

}  // namespace holdfast
