#include "aws/digest.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

namespace smdebug::aws {
namespace {

constexpr size_t kBlockSize = 64;  // of SHA-256; HMAC pads its key to this size

Status NoSha256() {
  return {Code::kInternal,
          "OpenSSL offers no SHA-256; check its configuration (OPENSSL_CONF, FIPS module)"};
}

// Returns the cached SHA-256, or NULL if there is none; it is never freed.  Fetching searches
// OpenSSL's providers and costs more than a short digest.
const EVP_MD *FetchedSha256() {
  static std::atomic<EVP_MD *> fetched{nullptr};
  EVP_MD *sha256 = fetched;
  // Tries twice: OpenSSL does not report whether SHA-256 is missing or memory was short.
  for (int i = 0; i < 2 && sha256 == nullptr; ++i) {
    sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    EVP_MD *other = nullptr;
    if (sha256 != nullptr && !fetched.compare_exchange_strong(other, sha256)) {
      EVP_MD_free(sha256);
      sha256 = other;
    }
  }
  return sha256;
}

// Removes the errors that OpenSSL queues in this thread: they use memory, and the host would
// take them for its own.
class OwnErrors {
 public:
  OwnErrors() { ERR_set_mark(); }
  ~OwnErrors() { ERR_pop_to_mark(); }
  OwnErrors(const OwnErrors &) = delete;
  OwnErrors &operator=(const OwnErrors &) = delete;
};

struct FreeContext {
  void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
};

struct FreeDigest {
  void operator()(EVP_MD *digest) const { EVP_MD_free(digest); }
};

}  // namespace

Result<Sha256Digest> Sha256(std::span<const ByteSpan> pieces) {
  const OwnErrors errors;
  const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  const EVP_MD *sha256 = FetchedSha256();
  if (sha256 == nullptr) return NoSha256();
  if (!context || EVP_DigestInit_ex2(context.get(), sha256, nullptr) != 1) throw std::bad_alloc();
  for (const ByteSpan &piece : pieces) {
    if (EVP_DigestUpdate(context.get(), piece.data(), piece.size()) != 1) return NoSha256();
  }
  Sha256Digest digest;
  auto *out = reinterpret_cast<unsigned char *>(digest.data());
  if (EVP_DigestFinal_ex(context.get(), out, nullptr) != 1) return NoSha256();
  return digest;
}

Result<Sha256Digest> Sha256(std::string_view text) {
  const std::array pieces = {AsBytes(text)};
  return Sha256(pieces);
}

// Built from the digest: EVP_MAC would need a fetch and a new context for each call.
Result<Sha256Digest> HmacSha256(ByteSpan key, std::string_view text) {
  Sha256Digest short_key;
  if (key.size() > kBlockSize) {
    const std::array long_key = {key};
    SMD_ASSIGN_OR_RETURN(short_key, Sha256(long_key));
    key = short_key;
  }
  std::array<std::byte, kBlockSize> inner{};
  std::copy(key.begin(), key.end(), inner.begin());
  std::array<std::byte, kBlockSize> outer = inner;
  for (std::byte &byte : inner) byte ^= std::byte{0x36};
  for (std::byte &byte : outer) byte ^= std::byte{0x5C};

  const std::array inside = {ByteSpan(inner), AsBytes(text)};
  SMD_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256(inside));
  const std::array outside = {ByteSpan(outer), ByteSpan(digest)};
  return Sha256(outside);
}

Result<Sha1Digest> Sha1(std::string_view text) {
  const OwnErrors errors;
  const std::unique_ptr<EVP_MD, FreeDigest> sha1(EVP_MD_fetch(nullptr, "SHA1", nullptr));
  Sha1Digest digest;
  auto *out = reinterpret_cast<unsigned char *>(digest.data());
  if (sha1 && EVP_Digest(text.data(), text.size(), out, nullptr, sha1.get(), nullptr) == 1) {
    return digest;
  }
  return Status(Code::kInternal,
                "OpenSSL offers no SHA-1; check its configuration (OPENSSL_CONF, FIPS module)");
}

std::string ToHex(ByteSpan bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    out.push_back(kDigits[std::to_integer<size_t>(byte >> 4)]);
    out.push_back(kDigits[std::to_integer<size_t>(byte & std::byte{0x0F})]);
  }
  return out;
}

}  // namespace smdebug::aws
