// SPDX-License-Identifier: Apache-2.0
//
// The registers in a heap on which a RegisterProgram runs. Every word names the write that stored
// it, and the recorder records every access.
#pragma once

#include <functional>
#include <vector>

#include "holdfast/check/history/recorder.h"
#include "holdfast/check/registers/register_program.h"
#include "holdfast/heap/heap.h"

namespace holdfast::check {

/// The exception that a body of Body::Kind::throwing throws.
struct ProgramThrow {};

/// The heap's root object.
template <class H>
struct CheckedRoot {
  template <class T>
  using Field = typename H::template Field<T>;
  /// A word in a block of its own. Each write allocates a new box and frees the old one.
  struct Box {
    Field<uint64_t> word;
    Field<uint64_t> object;
  };
  struct alignas(kLineBytes) Register {
    Field<uint64_t> word;
    Field<Box*> box;
  };
  static constexpr const char* kTypeName = "holdfast.check.Registers";
  static constexpr uint32_t kTypeVersion = 1;

  CheckedRoot() {
    count = 0;
    registers = nullptr;
  }

  static Box* make_box(uint64_t word, Object object) {
    Box* const box = H::template make<Box>();
    box->word = word;
    box->object = object;
    return box;
  }

  Field<uint64_t> count;
  Field<Register*> registers;
};

/// An array of registers, and the execution of transactions on it.
///
/// Thread safety: any number of clients may call execute(), each with its own log.
template <class H>
class CheckedRegisters {
  using Root = CheckedRoot<H>;
  using Register = typename Root::Register;
  using Box = typename Root::Box;

 public:
  CheckedRegisters(Object objects, Object shared, Object boxed)
      : objects_(objects), shared_(shared), boxed_(std::min(boxed, shared)) {}

  /// Makes the registers. Its transactions are small, because logs may have few entries.
  Status set_up(H& heap) {
    auto root = heap.template root<Root>(kName);
    if (!root) {
      return root.status();
    }
    Status status = heap.update([&] {
      (*root)->registers = static_cast<Register*>(H::allocate(objects_ * sizeof(Register)));
    });
    for (Object i = 0; i < objects_ && status.ok(); ++i) {
      status = heap.update([&] {
        // The last of the shared objects live in boxes.
        const bool in_box = i >= shared_ - boxed_ && i < shared_;
        Register& r = (*root)->registers[i];
        r.word = 0;
        r.box = in_box ? Root::make_box(0, i) : nullptr;
        (*root)->count = i + 1;
      });
    }
    return status;
  }

  /// Finds the registers in a heap.
  Status attach(H& heap) {
    auto root = heap.template find_root<Root>(kName);
    if (!root) {
      return root.status();
    }
    root_ = *root;
    return heap.read([&] { registers_ = root_->registers; });
  }

  /// Runs one transaction of the program as the client of `log`. Returns the heap's status.
  Status execute(H& heap, const Body& body, ClientLog& log) const {
    const bool read_only = body.read_only();
    log.invoke(read_only, body.commit());
    if (body.kind == Body::Kind::fence) {
      log.attempt();
      const Status status = heap.fence();
      if (status.ok()) {
        log.answer(Outcome::committed);
      }
      return status;
    }
    Status status;
    bool rolled_back = false;
    try {
      const auto run = [&] { perform(body, log); };
      status = read_only ? heap.read(run) : heap.update(run, body.commit());
    } catch (const ProgramThrow&) {
      rolled_back = true;
    }
    if (status.ok()) {
      log.answer(rolled_back ? Outcome::aborted : Outcome::committed);
    }
    return status;
  }

  /// Stores the initial value again, in the running update.
  void touch(Object object) const { store(object, 0); }

  /// Returns the words of all objects, read in one transaction.
  Result<std::vector<uint64_t>> observe(H& heap) const {
    std::vector<uint64_t> words(objects_);
    const Status status = heap.read([&] {
      for (Object i = 0; i < objects_; ++i) {
        words[i] = load(i);
      }
    });
    return status.ok() ? Result<std::vector<uint64_t>>(std::move(words)) : status;
  }

  /// Calls visit(address, bytes) for each block of the registers, except the root.
  void visit_blocks(const std::function<void(const void*, size_t)>& visit) const {
    visit(registers_, objects_ * sizeof(Register));
    for (Object i = 0; i < objects_; ++i) {
      if (const Box* const box = registers_[i].box) {
        visit(box, sizeof(Box));
      }
    }
  }

 private:
  static constexpr const char* kName = "registers";
  /// The word read from a box that belongs to another object. No transaction has this number.
  static constexpr uint64_t kStray = ~uint64_t{0};

  uint64_t load(Object object) const {
    const Box* const box = registers_[object].box;
    if (box == nullptr) {
      return registers_[object].word;
    }
    return box->object == object ? box->word.load() : kStray;
  }

  void store(Object object, uint64_t word) const {
    Register& r = registers_[object];
    Box* const box = r.box;
    if (box == nullptr) {
      r.word = word;
      return;
    }
    r.box = Root::make_box(word, object);
    H::destroy(box);
  }

  void perform(const Body& body, ClientLog& log) const {
    log.attempt();
    for (const RegisterStep& step : body.steps) {
      switch (step.kind) {
        case RegisterStep::Kind::read:
          log.read(step.object, load(step.object));
          break;
        case RegisterStep::Kind::write: {
          const uint64_t replaced = load(step.object);
          store(step.object, log.write(step.object, replaced));
          break;
        }
        case RegisterStep::Kind::blind:
          store(step.object, log.write_blindly(step.object));
          break;
        case RegisterStep::Kind::scan:
          for (Object i = 0; i < shared_; ++i) {
            log.read(i, load(i));
          }
          break;
      }
    }
    if (body.kind == Body::Kind::throwing) {
      throw ProgramThrow{};
    }
  }

  Object objects_;
  Object shared_;
  Object boxed_;
  Root* root_ = nullptr;
  Register* registers_ = nullptr;
};

}  // namespace holdfast::check
