#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace smdebug {
namespace {

// In this file a CRC is the contents of the register, without the two inversions, and bytes are
// polynomials with the highest power in the lowest bit.
constexpr uint32_t kPolynomial = 0x82F63B78;

static_assert(std::endian::native == std::endian::little);
inline uint64_t LoadWord(const std::byte *data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (size_t i = 0; i < 256; ++i) {
    for (size_t k = 1; k < 8; ++k) {
      const uint32_t crc = tables[k - 1][i];
      tables[k][i] = (crc >> 8) ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}

uint32_t ExtendByTables(uint32_t crc, ByteSpan bytes) {
  static constexpr Tables kTables = MakeTables();
  const Tables &t = kTables;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const uint64_t mixed = crc ^ LoadWord(bytes.data());
    const auto byte = [mixed](int index) { return (mixed >> (8 * index)) & 0xFF; };
    crc = t[7][byte(0)] ^ t[6][byte(1)] ^ t[5][byte(2)] ^ t[4][byte(3)] ^ t[3][byte(4)] ^
          t[2][byte(5)] ^ t[1][byte(6)] ^ t[0][byte(7)];
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ t[0][(crc ^ std::to_integer<uint32_t>(byte)) & 0xFF];
  }
  return crc;
}

// Returns the product of two remainders.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// Returns x^power modulo the polynomial.
constexpr uint32_t PowerOfX(size_t power) {
  uint32_t square = 0x40000000;
  uint32_t remainder = 0x80000000;
  for (; power > 0; power >>= 1) {
    if ((power & 1) != 0) remainder = Multiply(remainder, square);
    square = Multiply(square, square);
  }
  return remainder;
}

#if defined(__x86_64__)

#define SMD_CRC_TARGET __attribute__((target("sse4.2,crc32,pclmul")))
#define SMD_FOLD_TARGET __attribute__((target("sse4.2,crc32,pclmul,avx2,vpclmulqdq")))

// The factor that moves a CRC, or the lanes of Fold(), `bytes` ahead.  It compensates that
// reflected products are one power too low, and 32 bits in a word of 64 are 32 powers too high.
template <size_t bytes>
constexpr uint32_t kShiftFactor = PowerOfX(8 * bytes - 33);

// Returns the CRC after `bytes` further zero bytes.
template <size_t bytes>
SMD_CRC_TARGET inline uint32_t Shift(uint64_t crc) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(crc)),
                           _mm_cvtsi64_si128(int64_t{kShiftFactor<bytes>}), 0x00);
  const auto word = static_cast<uint64_t>(_mm_cvtsi128_si64(product));
  return static_cast<uint32_t>(_mm_crc32_u64(0, word));
}

SMD_CRC_TARGET inline uint64_t Step(uint64_t crc, const std::byte *data) {
  return _mm_crc32_u64(crc, LoadWord(data));
}

// The instruction has a throughput of one word a cycle, but a latency of three.  Three streams,
// from consecutive parts of the memory, keep it busy.
template <size_t kStream>
SMD_CRC_TARGET uint32_t ExtendByStreams(uint32_t crc, ByteSpan &bytes) {
  for (; bytes.size() >= 3 * kStream; bytes = bytes.subspan(3 * kStream)) {
    const std::byte *data = bytes.data();
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (const std::byte *end = data + kStream; data < end; data += 8) {
      first = Step(first, data);
      second = Step(second, data + kStream);
      third = Step(third, data + 2 * kStream);
    }
    crc = Shift<2 * kStream>(first) ^ Shift<kStream>(second) ^ static_cast<uint32_t>(third);
  }
  return crc;
}

SMD_CRC_TARGET uint32_t ExtendByInstruction(uint32_t crc, ByteSpan bytes) {
  crc = ExtendByStreams<2048>(crc, bytes);
  crc = ExtendByStreams<128>(crc, bytes);
  uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) wide = Step(wide, bytes.data());
  crc = static_cast<uint32_t>(wide);
  for (const std::byte byte : bytes) crc = _mm_crc32_u8(crc, std::to_integer<uint8_t>(byte));
  return crc;
}

// Returns the factors for both 128-bit lanes; the lower half of a lane is 8 bytes before the
// upper half.
template <size_t bytes>
SMD_FOLD_TARGET inline __m256i FoldFactors() {
  constexpr int64_t kLower = kShiftFactor<bytes + 8>;
  constexpr int64_t kUpper = kShiftFactor<bytes>;
  return _mm256_set_epi64x(kUpper, kLower, kUpper, kLower);
}

// Moves `lanes` ahead by the distance of `factors`, and adds `data`.
SMD_FOLD_TARGET inline __m256i Fold(__m256i lanes, __m256i factors, __m256i data) {
  const __m256i low = _mm256_clmulepi64_epi128(lanes, factors, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(lanes, factors, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), data);
}

SMD_FOLD_TARGET inline __m256i LoadLanes(const std::byte *data) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(data));
}

// Returns the CRC of the 128 bytes in four registers.
SMD_FOLD_TARGET inline uint32_t CrcOfLanes(const __m256i (&lanes)[4]) {
  const __m256i by_32 = FoldFactors<32>();
  const __m256i second = Fold(lanes[0], by_32, lanes[1]);
  const __m256i third = Fold(second, by_32, lanes[2]);
  const __m256i last = Fold(third, by_32, lanes[3]);
  const __m256i swapped = _mm256_permute2x128_si256(last, last, 1);
  const __m256i rest = Fold(last, FoldFactors<16>(), swapped);
  std::byte bytes[16];
  std::memcpy(bytes, &rest, sizeof bytes);
  return static_cast<uint32_t>(Step(Step(0, bytes), bytes + 8));
}

// The CRC instruction and the vector unit's carry-less multiplication run in parallel: the first
// part of a chunk is folded, and the rest is read in three streams.  Each width is what its unit
// processes in the same number of cycles.
constexpr size_t kFoldWidth = 128;
constexpr size_t kStreamWidth = 32;
constexpr size_t kRounds = 64;
constexpr size_t kFolded = kFoldWidth * kRounds;
constexpr size_t kStream = kStreamWidth * kRounds;
constexpr size_t kChunk = kFolded + 3 * kStream;

SMD_FOLD_TARGET uint32_t ExtendByChunk(uint32_t crc, const std::byte *folded) {
  const std::byte *streams = folded + kFolded;
  __m256i lanes[4];
#pragma GCC unroll 8
  for (size_t i = 0; i < 4; ++i) lanes[i] = LoadLanes(folded + 32 * i);
  lanes[0] =
      _mm256_xor_si256(lanes[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(crc))));
  const __m256i factors = FoldFactors<kFoldWidth>();
  uint64_t first = 0;
  uint64_t second = 0;
  uint64_t third = 0;
  for (size_t round = 0; round < kRounds; ++round, streams += kStreamWidth) {
    // The lanes already contain the bytes of the first round.
    if (round > 0) {
      folded += kFoldWidth;
#pragma GCC unroll 8
      for (size_t i = 0; i < 4; ++i) {
        lanes[i] = Fold(lanes[i], factors, LoadLanes(folded + 32 * i));
      }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kStreamWidth; i += 8) {
      first = Step(first, streams + i);
      second = Step(second, streams + i + kStream);
      third = Step(third, streams + i + 2 * kStream);
    }
  }
  return Shift<3 * kStream>(CrcOfLanes(lanes)) ^ Shift<2 * kStream>(first) ^
         Shift<kStream>(second) ^ static_cast<uint32_t>(third);
}

SMD_FOLD_TARGET uint32_t ExtendByFolding(uint32_t crc, ByteSpan bytes) {
  for (; bytes.size() >= kChunk; bytes = bytes.subspan(kChunk)) {
    crc = ExtendByChunk(crc, bytes.data());
  }
  return ExtendByInstruction(crc, bytes);
}

#elif defined(__aarch64__)

// ARMv8.0 does not require the instruction, so compilers need to be told.
__attribute__((target("+crc"))) uint32_t ExtendByInstruction(uint32_t crc, ByteSpan bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    crc = __crc32cd(crc, LoadWord(bytes.data()));
  }
  for (const std::byte byte : bytes) crc = __crc32cb(crc, std::to_integer<uint8_t>(byte));
  return crc;
}

#endif

}  // namespace

std::span<const ExtendCrc32cFunction> Crc32cImplementations() {
#if defined(__x86_64__)
  static constexpr ExtendCrc32cFunction kAll[] = {ExtendByFolding, ExtendByInstruction,
                                                  ExtendByTables};
  const std::span<const ExtendCrc32cFunction> all = kAll;
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) return all.last(1);
  const bool folds = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  return folds ? all : all.last(2);
#elif defined(__aarch64__)
  static constexpr ExtendCrc32cFunction kAll[] = {ExtendByInstruction, ExtendByTables};
  const std::span<const ExtendCrc32cFunction> all = kAll;
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0 ? all : all.last(1);
#else
  static constexpr ExtendCrc32cFunction kAll[] = {ExtendByTables};
  return kAll;
#endif
}

uint32_t ExtendCrc32c(uint32_t crc, ByteSpan bytes) {
  static const ExtendCrc32cFunction kExtend = Crc32cImplementations().front();
  return ~kExtend(~crc, bytes);
}

uint32_t JoinCrc32c(uint32_t first, uint32_t second, uint64_t size) {
  return Multiply(PowerOfX(8 * size), first) ^ second;
}

}  // namespace smdebug
