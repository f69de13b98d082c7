// The certificates that a client trusts.
#pragma once

#include <string>
#include <vector>

namespace smdebug::net {

struct TrustStore {
  std::string file;    // of certificates (PEM), or ""
  std::string folder;  // of certificates under hashed names, or ""
};

// The first that has a file or a folder that can be read, without what cannot; or none.
TrustStore FirstTrustStore(const std::vector<TrustStore> &candidates);

// What SSL_CERT_FILE and SSL_CERT_DIR name; else what libcurl was built for; else the
// usual places of Linux systems, since a libcurl that is linked in travels.
TrustStore SystemTrustStore();

}  // namespace smdebug::net
