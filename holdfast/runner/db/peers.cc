// SPDX-License-Identifier: Apache-2.0
#include "holdfast/runner/db/peers.h"

#include <dlfcn.h>

#include <filesystem>

#include "holdfast/base/catalogue.h"

namespace holdfast::store_bench {

std::string plug_in(const std::string& name, const std::string& folder) {
  return (folder.empty() ? HOLDFAST_PEERS_DIR : folder) + "/" + name + ".so";
}

const std::vector<PeerInfo>& peer_list() {
  static const std::vector<PeerInfo> list{{"leveldb", "libleveldb-dev"},
                                          {"rocksdb", "librocksdb-dev"},
                                          {"lmdb", "liblmdb-dev"},
                                          {"sqlite", "libsqlite3-dev"}};
  return list;
}

std::string why_missing(const PeerInfo& peer, const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(plug_in(peer.name, folder), error)
             ? ""
             : "not built: install " + std::string(peer.package) + " and run `make` again";
}

Result<Peer> Peer::load(const std::string& name, const std::string& folder) {
  const auto known = find_row("peer", name, peer_list(), Code::invalid_argument);
  if (!known.ok()) {
    return known.status();
  }
  if (const std::string why = why_missing(*known.value(), folder); !why.empty()) {
    return Status(Code::unsupported, why);
  }
  const std::string file = plug_in(name, folder);
  // RTLD_LOCAL keeps the symbols of peers and their libraries apart. A plug-in is never closed,
  // because its threads may outlive a store.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(Code::unsupported, dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
  }
  auto* const open = reinterpret_cast<OpenPeer*>(dlsym(library, "holdfast_peer_open"));
  auto* const version = reinterpret_cast<PeerVersion*>(dlsym(library, "holdfast_peer_version"));
  if (open == nullptr || version == nullptr) {
    return Status(Code::unsupported, file + " is no plug-in of this version");
  }
  return Peer(name, open, version);
}

}  // namespace holdfast::store_bench
