// Finds the certificates that a client trusts.
#pragma once

#include <string>
#include <vector>

namespace smdebug::net {

struct TrustStore {
  std::string file;    // a file of certificates (PEM), or ""
  std::string folder;  // a folder of certificates under hashed names, or ""
};

// Returns the first candidate with a readable file or folder, with the unreadable one of the
// two cleared.  Returns an empty store if there is none.
TrustStore FirstTrustStore(const std::vector<TrustStore> &candidates);

// Returns the store that SSL_CERT_FILE and SSL_CERT_DIR name, else the default of libcurl's
// build, else that of common Linux distributions: a statically linked libcurl may run on
// another system than it was built on.
TrustStore SystemTrustStore();

}  // namespace smdebug::net
