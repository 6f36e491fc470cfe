// SPDX-License-Identifier: Apache-2.0
//
// The interface of `holdfast db bench` to a key-value store. HoldfastDB implements it here, its
// peers in bench/peers/, one shared object each. The benchmark loads a peer when it is named, so a
// peer that is not installed costs nothing and no program is linked with one. A plug-in includes no
// other header of Holdfast.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::store_bench {

using Entry = std::pair<std::string_view, std::string_view>;

/// A walk over a store. Each move returns whether the cursor is at an entry; next and prev start
/// from one. Key and value stay valid until the next move.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool seek_first() = 0;
  virtual bool seek_last() = 0;
  /// Moves to the first entry at or after key.
  virtual bool seek(std::string_view key) = 0;
  virtual bool next() = 0;
  virtual bool prev() = 0;
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
};

/// One thread's access to a store, such as a connection. A cursor ends before the client's next
/// call.
class Client {
 public:
  virtual ~Client() = default;
  virtual void put(std::string_view key, std::string_view value) = 0;
  /// Several puts; all or nothing, if the store can.
  virtual void write(std::span<const Entry> entries) = 0;
  /// An absent key is no error.
  virtual void remove(std::string_view key) = 0;
  /// Returns false for an absent key. The value stays valid until the client's next call, so a
  /// store need not copy it.
  virtual bool get(std::string_view key, std::string_view* value) = 0;
  virtual std::unique_ptr<Cursor> cursor() = 0;
};

/// An open store. Failures are exceptions with a message, of clients and cursors, too.
class Store {
 public:
  virtual ~Store() = default;
  /// The domain, in Holdfast's terms, of an acknowledged write of such a client: "process" survives
  /// a killed process, "file" a power cut as well.
  virtual std::string survives(bool durable) const = 0;
  /// The calling thread uses and deletes the client. Durable and other clients never exist at once.
  virtual std::unique_ptr<Client> client(bool durable) = 0;
};

/// A plug-in's functions, under the names "holdfast_peer_open" and "holdfast_peer_version". `path`
/// does not exist yet; the store creates a file or a folder there. At most `threads` clients exist.
using OpenPeer = Store*(const std::string& path, int threads);
using PeerVersion = const char*();

}  // namespace holdfast::store_bench
