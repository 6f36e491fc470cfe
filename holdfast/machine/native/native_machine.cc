// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/native_machine.h"

#include <chrono>
#include <new>
#include <random>

#include "holdfast/machine/native/htm/htm_support.h"
#include "holdfast/machine/native/medium/journaled_memory.h"

namespace holdfast {
namespace {

/// Runs of lines that a thread can always list between two of its fences.
constexpr size_t kLeastRuns = 64;

}  // namespace

Result<std::unique_ptr<NativeMachine>> NativeMachine::open(const std::string& path,
                                                           const NativeOptions& options) {
  if (options.max_threads < 0 || options.max_threads > kMaxThreads) {
    return Status(Code::invalid_argument,
                  "max_threads is from 1 to " + std::to_string(kMaxThreads));
  }
  if (options.create && options.read_only) {
    return Status(Code::invalid_argument, path + " cannot be both created and read-only");
  }
  auto htm = native::choose_htm(options);
  if (!htm) {
    return htm.status();
  }
  try {
    auto file = options.create
                    ? native::create_file(path)
                    : native::open_file(
                          path, options.read_only ? native::Access::read : native::Access::change);
    if (!file) {
      return file.status();
    }
    auto persistence = native::choose_persistence(path, native::examine(file->fd()), options);
    auto size = file->size();
    if (!persistence || !size) {
      if (options.create) {
        file->remove_name();
      }
      return persistence ? size.status() : persistence.status();
    }
    return std::unique_ptr<NativeMachine>(new NativeMachine(
        std::move(*file), static_cast<size_t>(size->bytes), *persistence, *htm, options));
  } catch (...) {
    if (options.create) {  // no memory; the new file may be there, and is empty
      if (auto left = native::create_file(path)) {
        left->remove_name();
      }
    }
    throw;
  }
}

NativeMachine::NativeMachine(native::File file, size_t bytes,
                             const native::Persistence& persistence, const HtmCapabilities& htm,
                             const NativeOptions& options)
    : slots_(std::make_shared<native::SlotTable>(
          options.max_threads != 0 ? options.max_threads : native::kDefaultThreads,
          options.probes)),
      write_back_(persistence.write_back),
      domain_(persistence.domain),
      read_only_(options.read_only),
      in_hardware_(options.htm_backend != HtmBackend::soft),
      counters_(static_cast<size_t>(slots()) + 1),
      processors_(native::allowed_processors()),
      htm_capabilities_(htm),
      soft_(slots(), options.htm, !in_hardware_),
      medium_(std::move(file), bytes, persistence, options) {
  native::count_for(options.probes);
  threads_.reserve(static_cast<size_t>(slots()));
  for (int slot = 0; slot < slots(); ++slot) {
    threads_.push_back(std::make_unique<HtmThread>(soft_, slot, htm.suspend));
  }
  if (options.latency.any()) {
    pwb_delay_ = ticks_.from_ns(options.latency.pwb_ns);
    pwb_is_slow_ = pwb_delay_ != 0;
    pfence_delay_ = ticks_.from_ns(options.latency.pfence_ns);
    psync_delay_ = ticks_.from_ns(options.latency.psync_ns);
  }
}

NativeMachine::~NativeMachine() {
  end_background();
  slots_->close();
}

/// Stops and joins the background thread, which returns its slot.
void NativeMachine::end_background() {
  if (background_ && forked_child()) {
    // The background thread does not exist in the child, and its mutex may stay locked for ever.
    // Destroying the object would hang, so it is leaked.
    const native::Background* left = background_.release();
    static_cast<void>(left);
  }
  background_.reset();
}

void NativeMachine::set_background(std::function<bool()> f) {
  end_background();
  if (!f) {
    slots_->expect_background(false);
    return;
  }
  // Before others ask for theirs: then one slot stays free for guests.
  if (!slots_->take_background()) {
    throw Error(Status(Code::too_many_threads,
                       "a thread beyond max_threads has the slot of the background thread"));
  }
  auto round = [this, f = std::move(f)] {
    const StoreScope storing(*this);
    const bool found = f();
    if (failed()) {
      medium_.sync().throw_failure();  // ends the thread: no round can do more
    }
    return found;
  };
  try {
    background_ = std::make_unique<native::Background>(
        [table = slots_] { native::hold_background_slot(table); }, std::move(round), processors_);
  } catch (...) {  // no thread
    slots_->give_back(native::SlotTable::kBackground);
    throw;
  }
}

void NativeMachine::store_nontemporal(void* to, const void* from, size_t n, Site /*site*/) {
  check_nontemporal(to, from, n);
  constexpr size_t kLine = native::kNativeLineBytes;
  const uintptr_t first = reinterpret_cast<uintptr_t>(to) & ~(kLine - 1);
  const uintptr_t end = n == 0 ? first : reinterpret_cast<uintptr_t>(to) + n;
  const uint64_t lines = (end - first + kLine - 1) / kLine;
  native::store_word(&mine().nontemporal, native::load_word(&mine().nontemporal) + lines);
  if (domain_ != Domain::pmem) {
    native::copy_words(to, from, n);
    if (journaled_ && n != 0) [[unlikely]] {
      list_lines(to, n);
    }
    return;
  }
  if constexpr (native::kStoresAroundCaches) {
    native::copy_around_caches(to, from, n);
  } else {
    native::copy_words(to, from, n);
    for (uintptr_t line = first; line < end; line += kLine) {
      native::write_back_line(write_back_, reinterpret_cast<const void*>(line));
    }
  }
  if (pwb_delay_ != 0) [[unlikely]] {
    ticks_.spin(pwb_delay_ * lines);  // each line is a write to the medium, as after a pwb
  }
}

Status NativeMachine::start_journal(uint64_t offset, uint64_t bytes, bool fresh) {
  Status status = medium_.start_journal(offset, bytes, fresh, entropy(), slots());
  if (status.ok() && medium_.journaled() != nullptr) {
    listed_.resize(static_cast<size_t>(slots()));
    for (Listed& listed : listed_) {
      listed.lines.reserve(kLeastRuns);
    }
    journaled_ = pwb_is_slow_ = true;
    store_gate_ = medium_.store_gate();
  }
  return status;
}

void NativeMachine::await_durable(uint64_t position, Site /*site*/) {
  if (!durable(position)) {
    medium_.journaled()->await(position);
  }
}

void NativeMachine::let_psyncs_lag(uint64_t age_ms) {
  if (journaled_) {
    medium_.journaled()->journal().limit_age(std::chrono::milliseconds(age_ms));
    lagging_.store(true, std::memory_order_release);
  }
}

void NativeMachine::finish_pwb(const void* p) {
  if (journaled_) {
    constexpr uintptr_t kLine = native::kNativeLineBytes;
    const uintptr_t offset = reinterpret_cast<uintptr_t>(p) % kLine;
    list_lines(static_cast<const std::byte*>(p) - offset, kLine);
  }
  if (pwb_delay_ != 0) {
    ticks_.spin(pwb_delay_);
  }
}

void NativeMachine::list_lines(const void* p, size_t n) {
  const int slot = self();
  if (slot >= 0) {
    native::LineList& lines = listed_[static_cast<size_t>(slot)].lines;
    try {
      lines.add(p, n);
    } catch (const std::bad_alloc&) {
      // The lines may reach the medium before the thread's fence, and leave room then.
      medium_.journaled()->fence(lines, false);
      medium_.journaled()->list(lines, p, n);
    }
  } else {
    // A thread without a slot has no list. The line may reach the medium at any time.
    native::LineList lines;
    medium_.journaled()->list(lines, p, n);
    medium_.journaled()->fence(lines, false);
  }
}

uint64_t NativeMachine::complete_write_backs(uint64_t delay, bool wait) {
  uint64_t position = 0;
  switch (domain_) {
    case Domain::process:
      native::compiler_barrier();  // fences_nothing() says why it is enough
      break;
    case Domain::file:
      if (journaled_) {
        native::LineList none;
        const int slot = self();
        position = medium_.journaled()->fence(
            slot >= 0 ? listed_[static_cast<size_t>(slot)].lines : none, wait);
      } else if (!read_only_) {
        medium_.sync().wait_durable();
      }
      break;
    case Domain::pmem:
    case Domain::eadr:
      native::persist_fence(write_back_);
      break;
  }
  if (failed()) [[unlikely]] {  // in domains without fdatasync, a failure to grow
    medium_.sync().throw_failure();
  }
  if (delay != 0) [[unlikely]] {
    ticks_.spin(delay);
  }
  return position;
}

bool NativeMachine::waited_in_vain() {
  if (failed()) {
    medium_.sync().throw_failure();
  }
  const int slot = native::find_slot(slots_.get());  // a wait alone takes no slot
  return slot >= 0 && htm(slot).doomed();
}

uint64_t NativeMachine::entropy() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

PersistCounters NativeMachine::counters() const {
  PersistCounters sum;
  for (const Counters& c : counters_) {
    sum.pwb += native::load_word(&c.pwb);
    sum.pfence += native::load_word(&c.pfence);
    sum.psync += native::load_word(&c.psync);
    sum.fence += native::load_word(&c.fence);
    sum.nontemporal += native::load_word(&c.nontemporal);
  }
  return sum;
}

}  // namespace holdfast
