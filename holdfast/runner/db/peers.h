// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/runner/db/store.h"

namespace holdfast::store_bench {

struct PeerInfo {
  const char* name;
  const char* package;  ///< the Debian package the plug-in is built with
};
/// The peers with a plug-in, built or not.
const std::vector<PeerInfo>& peer_list();

/// The path of a peer's plug-in, whether it is there or not. An empty folder means this build's.
std::string plug_in(const std::string& name, const std::string& folder);

/// The remedy for a peer whose plug-in is not in this build; empty if it is.
std::string why_missing(const PeerInfo& peer, const std::string& folder);

/// Another key-value store, loaded from a folder of plug-ins.
class Peer {
 public:
  /// Returns unsupported if the plug-in was not built; the message says which package to install.
  static Result<Peer> load(const std::string& name, const std::string& folder);

  const std::string& name() const { return name_; }
  std::string version() const { return version_(); }
  std::unique_ptr<Store> open(const std::string& path, int threads) const {
    return std::unique_ptr<Store>(open_(path, threads));
  }

 private:
  Peer(std::string name, OpenPeer* opener, PeerVersion* versioner)
      : name_(std::move(name)), open_(opener), version_(versioner) {}

  std::string name_;
  OpenPeer* open_;
  PeerVersion* version_;
};

}  // namespace holdfast::store_bench
