// SPDX-License-Identifier: Apache-2.0
//
// The registers in a heap on which a RegisterProgram runs. Every word names the write that stored
// it, and so does every piece of the string. The recorder records every access.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
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
  /// A word in a block of its own. Each write allocates a new box and frees the old one. The
  /// allocator keeps links in the first two words of a free block, and calls the rest fresh. An
  /// engine need not log that, unless the transaction has freed the block itself.
  struct Box {
    Field<uint64_t> word;
    Field<uint64_t> object;
    Field<uint64_t> again;  ///< the same as `word`
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
    box->again = word;
    return box;
  }

  Field<uint64_t> count;
  Field<Register*> registers;
};

/// A piece of the string: the word that names its write, and three bytes computed from the word. A
/// piece of two writes is stray. Its length is odd, so pieces begin at every alignment.
struct Piece {
  static constexpr size_t kCheckBytes = 3;
  static constexpr size_t kBytes = sizeof(uint64_t) + kCheckBytes;
  using Bytes = std::array<std::byte, kBytes>;

  static Bytes of(uint64_t word) {
    const uint64_t check = mix64(word);
    Bytes bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    std::memcpy(bytes.data() + sizeof word, &check, kCheckBytes);
    return bytes;
  }
  /// Returns the word, or `stray`.
  static uint64_t word(const std::byte* piece, uint64_t stray) {
    uint64_t word = 0;
    std::memcpy(&word, piece, sizeof word);
    return std::memcmp(of(word).data(), piece, kBytes) == 0 ? word : stray;
  }
};

/// The root object of the string.
template <class H>
struct CheckedString {
  static constexpr const char* kTypeName = "holdfast.check.String";
  static constexpr uint32_t kTypeVersion = 1;

  CheckedString() { bytes = nullptr; }

  typename H::template Field<std::byte*> bytes;
};

/// An array of registers and a string, and the execution of transactions on them. In the history,
/// piece i of the string is object `objects` + i.
///
/// Thread safety: any number of clients may call execute(), each with its own log.
template <class H>
class CheckedRegisters {
  using Root = CheckedRoot<H>;
  using Register = typename Root::Register;
  using Box = typename Root::Box;
  using String = CheckedString<H>;
  using E = typename H::Engine;

 public:
  CheckedRegisters(Object objects, Object shared, Object boxed, Object pieces = 0)
      : objects_(objects), shared_(shared), boxed_(std::min(boxed, shared)), pieces_(pieces) {}

  /// The objects of the history: registers and pieces.
  Object all_objects() const { return objects_ + pieces_; }

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
    return status.ok() && pieces_ > 0 ? set_up_string(heap) : status;
  }

  /// Finds the registers in a heap.
  Status attach(H& heap) {
    auto root = heap.template find_root<Root>(kName);
    if (!root) {
      return root.status();
    }
    root_ = *root;
    if (pieces_ > 0) {
      auto string = heap.template find_root<String>(kStringName);
      if (!string) {
        return string.status();
      }
      string_root_ = *string;
    }
    return heap.read([&] {
      registers_ = root_->registers;
      string_ = pieces_ > 0 ? string_root_->bytes.load() : nullptr;
    });
  }

  /// Runs one transaction of the program as the client of `log`. Returns the heap's status. A
  /// transaction for which a log is too small is rolled back (Code::too_large).
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
    if (status.ok() || status.code() == Code::too_large) {
      log.answer(rolled_back || !status.ok() ? Outcome::aborted : Outcome::committed);
    }
    return status;
  }

  /// Calls `between` before each step of a body and behind the last one, on the thread that runs
  /// the body: a test lets other threads run there. Not while clients run.
  void between_steps(std::function<void()> between) { between_ = std::move(between); }

  /// Stores the initial value again, in the running update.
  void touch(Object object) const { store(object, 0); }
  /// Stores the initial values of pieces again, in the running update.
  void touch_pieces(Object first, Object count) const {
    std::vector<std::byte> bytes;
    for (Object i = 0; i < count; ++i) {
      const auto initial = Piece::of(0);
      bytes.insert(bytes.end(), initial.begin(), initial.end());
    }
    E::store_range(piece(first), bytes.data(), bytes.size());
  }

  /// Returns the words of all objects and pieces, read in one transaction. After a crash a pointer
  /// may be any word, so it follows none that leaves the heap.
  Result<std::vector<uint64_t>> observe(H& heap) const {
    std::vector<uint64_t> words(all_objects());
    if (!has(heap, registers_, objects_ * sizeof(Register)) ||
        (pieces_ > 0 && !has(heap, string_, pieces_ * Piece::kBytes))) {
      return Status(Code::corrupt, "the pointer to the registers leaves the heap");
    }
    const Status status = heap.read([&] {
      for (Object i = 0; i < objects_; ++i) {
        const Box* const box = registers_[i].box;
        words[i] = box == nullptr || has(heap, box, sizeof(Box)) ? load(i) : kStray;
      }
      const std::vector<std::byte> bytes = load_pieces(0, pieces_);
      for (Object i = 0; i < pieces_; ++i) {
        words[objects_ + i] = Piece::word(&bytes[i * Piece::kBytes], kStray);
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
    if (pieces_ > 0) {
      visit(string_, pieces_ * Piece::kBytes);
    }
  }

 private:
  static constexpr const char* kName = "registers";
  static constexpr const char* kStringName = "string";
  /// Pieces that one transaction of set_up() writes.
  static constexpr Object kFewPieces = 4;
  /// The word read from a box that belongs to another object or is half written, or from a piece of
  /// two writes. No transaction has this number.
  static constexpr uint64_t kStray = ~uint64_t{0};

  static bool has(const H& heap, const void* block, size_t n) {
    return heap.contains(block) && heap.contains(static_cast<const std::byte*>(block) + n - 1);
  }

  uint64_t load(Object object) const {
    const Box* const box = registers_[object].box;
    if (box == nullptr) {
      return registers_[object].word;
    }
    const uint64_t word = box->word;
    return box->object == object && box->again == word ? word : kStray;
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

  Status set_up_string(H& heap) {
    auto string = heap.template root<String>(kStringName);
    if (!string) {
      return string.status();
    }
    Status status = heap.update([&] {
      string_ = static_cast<std::byte*>(H::allocate(pieces_ * Piece::kBytes));
      (*string)->bytes = string_;
    });
    for (Object i = 0; i < pieces_ && status.ok(); i += kFewPieces) {
      status = heap.update([&] { touch_pieces(i, std::min(kFewPieces, pieces_ - i)); });
    }
    return status;
  }

  std::byte* piece(Object i) const { return string_ + i * Piece::kBytes; }

  std::vector<std::byte> load_pieces(Object first, Object count) const {
    std::vector<std::byte> bytes(count * Piece::kBytes);
    if (count > 0) {
      E::load_range(bytes.data(), piece(first), bytes.size());
    }
    return bytes;
  }

  /// One access to a range of pieces.
  void perform_on_pieces(const RegisterStep& step, ClientLog& log) const {
    using Kind = RegisterStep::Kind;
    std::vector<std::byte> bytes = step.kind == Kind::blind
                                       ? std::vector<std::byte>(step.pieces * Piece::kBytes)
                                       : load_pieces(step.object, step.pieces);
    for (Object i = 0; i < step.pieces; ++i) {
      std::byte* const at = &bytes[i * Piece::kBytes];
      const Object object = objects_ + step.object + i;
      if (step.kind == Kind::read) {
        log.read(object, Piece::word(at, kStray));
        continue;
      }
      const auto written =
          Piece::of(step.kind == Kind::blind ? log.write_blindly(object)
                                             : log.write(object, Piece::word(at, kStray)));
      std::copy(written.begin(), written.end(), at);
    }
    if (step.kind != Kind::read) {
      E::store_range(piece(step.object), bytes.data(), bytes.size());
    }
  }

  void perform(const Body& body, ClientLog& log) const {
    log.attempt();
    for (const RegisterStep& step : body.steps) {
      pause();
      if (step.pieces > 0) {
        perform_on_pieces(step, log);
        continue;
      }
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
    pause();
    if (body.kind == Body::Kind::throwing) {
      throw ProgramThrow{};
    }
  }

  void pause() const {
    if (between_) {
      between_();
    }
  }

  Object objects_;
  Object shared_;
  Object boxed_;
  Object pieces_;
  Root* root_ = nullptr;
  Register* registers_ = nullptr;
  String* string_root_ = nullptr;
  std::byte* string_ = nullptr;
  std::function<void()> between_;
};

}  // namespace holdfast::check
