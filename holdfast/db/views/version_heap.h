// SPDX-License-Identifier: Apache-2.0
//
// The old versions that one view holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::db {

/// A version that has been replaced and not yet freed.
struct OldVersion {
  void* version = nullptr;
  uint64_t created = 0;   ///< the stamp of the transaction that wrote it
  uint64_t replaced = 0;  ///< of the one that replaced it; 0: a deletion, its key's newest version
  uint64_t slot = 0;      ///< the thread slot whose list has it
};

/// A leftist heap of old versions: the one that the fewest views see is at the top. `since` is the
/// rank of the oldest view that sees the version.
///
/// Cost. push, pop and merge take O(log n). push takes O(1) if no version in the heap has a higher
/// `since`, which is usual.
///
/// Thread safety: one thread at a time.
class VersionHeap {
 public:
  VersionHeap() = default;
  VersionHeap(const VersionHeap&) = delete;
  VersionHeap& operator=(const VersionHeap&) = delete;
  ~VersionHeap() { clear(); }

  bool empty() const { return root_ == nullptr; }
  /// Returns the version at the top.
  const OldVersion& front() const { return root_->old; }
  /// Returns the `since` of the version at the top.
  uint64_t top() const { return root_->since; }

  void push(const OldVersion& old, uint64_t since) {
    root_ = merged(root_, new Node{old, since, nullptr, nullptr, 1});
  }
  OldVersion pop() {
    Node* const top = std::exchange(root_, merged(root_->left, root_->right));
    const OldVersion old = top->old;
    delete top;
    return old;
  }
  /// Moves all versions of `other` into this heap.
  void merge(VersionHeap& other) { root_ = merged(root_, std::exchange(other.root_, nullptr)); }

 private:
  struct Node {
    OldVersion old;
    uint64_t since;
    Node* left;
    Node* right;
    size_t distance;  ///< nodes on the path that goes right only; at most log2 of the heap's size
  };

  static size_t distance(const Node* node) { return node == nullptr ? 0 : node->distance; }

  /// Recursive along both paths to the right, which are short.
  static Node* merged(Node* a, Node* b) {
    if (a == nullptr || b == nullptr) {
      return a == nullptr ? b : a;
    }
    if (a->since < b->since) {
      std::swap(a, b);
    }
    a->right = merged(a->right, b);
    if (distance(a->left) < distance(a->right)) {
      std::swap(a->left, a->right);
    }
    a->distance = distance(a->right) + 1;
    return a;
  }

  void clear() {
    std::vector<Node*> left;
    if (root_ != nullptr) {
      left.push_back(root_);
    }
    while (!left.empty()) {
      Node* const node = left.back();
      left.pop_back();
      for (Node* const child : {node->left, node->right}) {
        if (child != nullptr) {
          left.push_back(child);
        }
      }
      delete node;
    }
  }

  Node* root_ = nullptr;
};

}  // namespace holdfast::db
