#include "net/curl_trust.h"

#include <curl/curl.h>
#include <unistd.h>

#include "base/environment.h"

namespace smdebug::net {
namespace {

bool CanRead(const std::string &path) { return !path.empty() && access(path.c_str(), R_OK) == 0; }

std::string OrEmpty(const char *text) { return text == nullptr ? "" : text; }

}  // namespace

TrustStore FirstTrustStore(const std::vector<TrustStore> &candidates) {
  for (const TrustStore &candidate : candidates) {
    TrustStore found;
    if (CanRead(candidate.file)) found.file = candidate.file;
    if (CanRead(candidate.folder)) found.folder = candidate.folder;
    if (!found.file.empty() || !found.folder.empty()) return found;
  }
  return {};
}

TrustStore SystemTrustStore() {
  const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
  return FirstTrustStore({
      {Environment("SSL_CERT_FILE").value_or(""), Environment("SSL_CERT_DIR").value_or("")},
      {OrEmpty(curl->cainfo), OrEmpty(curl->capath)},
      {"/etc/ssl/certs/ca-certificates.crt", ""},                 // Debian, Ubuntu, Arch
      {"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", ""},  // Fedora, RHEL
      {"/etc/pki/tls/certs/ca-bundle.crt", ""},                   // older Fedora, RHEL
      {"/etc/ssl/ca-bundle.pem", ""},                             // SUSE
      {"/etc/ssl/cert.pem", ""},                                  // Alpine
      {"", "/etc/ssl/certs"},
  });
}

}  // namespace smdebug::net
