// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/base/random.h"
#include "holdfast/workloads/parts/workload.h"

namespace holdfast {

/// The edges of an R-MAT graph (Chakrabarti, Zhan, Faloutsos, SDM 2004) with the parameters of
/// SSCA2 version 2.2: the four quadrants of the adjacency matrix, and again of each quadrant, have
/// the probabilities 0.55, 0.1, 0.1 and 0.25 (here in units of 1/256). Numbers of vertices are
/// permuted. Edges may appear more than once, and may lead back to their vertex.
///
/// The list is not stored: edge i is a function of i and the seed. Cost: about 30 ns.
class RmatEdges {
 public:
  struct Edge {
    uint64_t from;
    uint64_t to;
  };

  /// 2^scale vertices; scale is 1 to 32.
  RmatEdges(int scale, uint64_t seed) : scale_(scale), seed_(mix64(seed)) {}

  uint64_t vertices() const { return uint64_t{1} << scale_; }

  Edge operator[](uint64_t i) const {
    const Edge edge = before_permutation(i);
    return {permuted(edge.from), permuted(edge.to)};
  }

  /// Edge i before the permutation of vertices: small numbers have most edges.
  Edge before_permutation(uint64_t i) const {
    constexpr int kLevelsPerWord = 8;
    Edge edge{0, 0};
    uint64_t bits = mix64(seed_ ^ i);
    for (int level = 0; level < scale_; ++level) {
      if (level != 0 && level % kLevelsPerWord == 0) {
        bits = mix64(seed_ ^ i ^ static_cast<uint64_t>(level) << 56);
      }
      const uint8_t quadrant = kQuadrant[bits & 0xff];
      bits >>= 8;
      edge.from = edge.from << 1 | quadrant >> 1;
      edge.to = edge.to << 1 | (quadrant & 1);
    }
    return edge;
  }

 private:
  /// The quadrant of each value of a random byte.
  static constexpr std::array<uint8_t, 256> kQuadrant = [] {
    std::array<uint8_t, 256> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = i < 141 ? 0 : i < 167 ? 1 : i < 193 ? 2 : 3;
    }
    return all;
  }();

  /// A permutation of the vertices: each step can be reversed modulo 2^scale.
  uint64_t permuted(uint64_t vertex) const {
    const uint64_t mask = vertices() - 1;
    const int half = (scale_ + 1) / 2;
    for (int round = 0; round < 3; ++round) {
      vertex = (vertex * 0x9e3779b97f4a7c15ULL + seed_) & mask;
      vertex ^= vertex >> half;
    }
    return vertex;
  }

  int scale_;
  uint64_t seed_;
};

/// The list of edges that a workload takes from the generator: its first `size` edges.
struct RmatList {
  int scale;  ///< 2^scale vertices
  uint64_t size;
  uint64_t seed = 0;

  /// From the parameters scale, 1 to 20, and degree, edges per vertex.
  static RmatList of(const Parameters& parameters) {
    const auto scale = static_cast<int>(parameters.number("scale", 1, 20));
    return {scale, static_cast<uint64_t>(parameters.number("degree", 1, 1000)) << scale};
  }

  uint64_t vertices() const { return uint64_t{1} << scale; }
  RmatEdges::Edge operator[](uint64_t i) const { return RmatEdges(scale, seed)[i]; }
};

/// An RmatList in a heap.
template <class H>
struct StoredRmatList {
  template <class T>
  using Field = typename H::template Field<T>;

  explicit StoredRmatList(const RmatList& list)
      : scale(list.scale), size(list.size), seed(list.seed) {}
  RmatList load() const { return {static_cast<int>(scale.load()), size, seed}; }

  Field<int64_t> scale;
  Field<uint64_t> size;
  Field<uint64_t> seed;
};

}  // namespace holdfast
