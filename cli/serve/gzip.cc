#include "serve/gzip.h"

#include <zlib.h>

#include <new>

namespace smdebug::cli::serve {
namespace {

constexpr size_t kLeast = 1024;
constexpr int kFastest = 1;
constexpr int kGzipWindow = 15 + 16;  // a gzip header, the largest window
constexpr int kMemory = 8;

// Ends a stream.
struct Deflater {
  z_stream stream{};
  ~Deflater() { static_cast<void>(deflateEnd(&stream)); }
};

}  // namespace

std::string Gzip(std::string_view text, int level) {
  Deflater deflater;
  z_stream &stream = deflater.stream;
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  // zlib counts in 32 bits.
  constexpr size_t kMost = size_t{1} << 30;
  size_t left = text.size();
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const auto some = static_cast<uInt>(left < kMost ? left : kMost);
    left -= some;
    stream.avail_in = some;
    const int flush = left == 0 ? Z_FINISH : Z_NO_FLUSH;
    do {
      const size_t before = out.size();
      const size_t room = deflateBound(&stream, stream.avail_in) + 64;
      out.resize(before + room);
      stream.next_out = reinterpret_cast<Bytef *>(out.data() + before);
      stream.avail_out = static_cast<uInt>(room);
      status = deflate(&stream, flush);
      out.resize(out.size() - stream.avail_out);
    } while (stream.avail_out == 0 && status == Z_OK);
  }
  return out;
}

void Compress(Response *response) {
  if (response->status != 200 || response->body.size() < kLeast) return;
  response->body = Gzip(response->body, kFastest);
  response->headers.emplace_back("Content-Encoding", "gzip");
  response->headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace smdebug::cli::serve
