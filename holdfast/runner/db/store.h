// SPDX-License-Identifier: Apache-2.0
//
// What `holdfast db bench` needs of a key-value store. HoldfastDB implements it here, its peers in
// bench/peers/, one shared object each, which is loaded when it is asked for: a peer that is not
// installed costs nothing, and no program of ours is linked with any. A plug-in sees nothing of
// Holdfast but this header.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::store_bench {

using Entry = std::pair<std::string_view, std::string_view>;

/// A walk over a store. Each move says whether the cursor stands at an entry then; next and prev
/// need one to start from. Key and value stay until it moves.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool seek_first() = 0;
  virtual bool seek_last() = 0;
  /// To the first entry at or after key.
  virtual bool seek(std::string_view key) = 0;
  virtual bool next() = 0;
  virtual bool prev() = 0;
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
};

/// What one thread works with: a connection, where a store has such. A cursor ends before the
/// client's next call.
class Client {
 public:
  virtual ~Client() = default;
  virtual void put(std::string_view key, std::string_view value) = 0;
  /// Several puts, all or nothing where the store can.
  virtual void write(std::span<const Entry> entries) = 0;
  /// A key that is not there is no error.
  virtual void remove(std::string_view key) = 0;
  /// False where there is no such key. The value stays until the client's next call: stores that
  /// can show it in place need not copy it.
  virtual bool get(std::string_view key, std::string_view* value) = 0;
  virtual std::unique_ptr<Cursor> cursor() = 0;
};

/// An open store. Failures are exceptions with a message, of clients and cursors, too.
class Store {
 public:
  virtual ~Store() = default;
  /// What an acknowledged write of such a client survives, as the domains of Holdfast call it:
  /// "process" a killed process, "file" a power cut, too.
  virtual std::string survives(bool durable) const = 0;
  /// To be used and deleted by the calling thread. Clients of both kinds are never there at once.
  virtual std::unique_ptr<Client> client(bool durable) = 0;
};

/// A plug-in's functions, under the names "holdfast_peer_open" and "holdfast_peer_version". `path`
/// does not exist yet: the store makes a file or a folder of it. At most `threads` clients.
using OpenPeer = Store*(const std::string& path, int threads);
using PeerVersion = const char*();

}  // namespace holdfast::store_bench
