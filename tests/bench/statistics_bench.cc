// Compares the statistics of a tensor with a plain read of its memory.  Prints JSON: bytes per
// second by name.  Both take turns in every round, one part of the memory after the other.  The
// best time of each part counts, which excludes other work on the machine.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tensor/small_float.h"
#include "tensor/statistics.h"

namespace {

using smdebug::tensor::DType;
using smdebug::tensor::View;

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kPart = kMiB;
constexpr int kRounds = 40;

volatile uint64_t result;

using Wide = uint64_t __attribute__((vector_size(32), aligned(8)));

// Reads a part once, as fast as one thread can.
__attribute__((target_clones("avx2", "default"))) uint64_t Read(const std::byte *part) {
  const auto *from = reinterpret_cast<const Wide *>(part);
  const auto *end = from + kPart / sizeof(Wide);
  Wide a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  for (; from < end; from += 8) {
    // Prefetches as far ahead as the statistics: the processor's own prefetching stops at a page.
    for (int i = 64; i < 72; i += 2) __builtin_prefetch(from + i);
    a += from[0];
    b += from[1];
    c += from[2];
    d += from[3];
    e += from[4];
    f += from[5];
    g += from[6];
    h += from[7];
  }
  a += b + c + d + e + f + g + h;
  return a[0] + a[3];
}

template <class T, class Encode>
std::vector<std::byte> Normal(size_t bytes, Encode encode) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<T> some(kMiB / sizeof(T));
  for (T &element : some) element = encode(normal(random));
  std::vector<std::byte> memory(bytes);
  const auto *from = reinterpret_cast<const std::byte *>(some.data());
  for (size_t at = 0; at < bytes; at += kMiB) {
    std::copy_n(from, kMiB, memory.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return memory;
}

struct Tensor {
  const char *name;
  DType dtype;
  std::vector<std::byte> memory;
};

std::vector<Tensor> Tensors(size_t bytes) {
  using namespace smdebug::tensor;
  const auto half = [](SmallFloat format) {
    return [format](float x) { return static_cast<uint16_t>(EncodeSmallFloat(format, x)); };
  };
  return {
      {"float32", DType::kFloat32, Normal<float>(bytes, [](float x) { return x; })},
      {"bfloat16", DType::kBFloat16, Normal<uint16_t>(bytes, half(kBFloat16Format))},
      {"float16", DType::kFloat16, Normal<uint16_t>(bytes, half(kFloat16Format))},
      {"float64", DType::kFloat64, Normal<double>(bytes, [](float x) { return double{x}; })},
  };
}

// Runs `work` on every part, `times` times in a row, and keeps the best time of each part.
template <class Work>
void Time(int times, const std::vector<std::byte> &memory, std::vector<double> *best, Work work) {
  best->resize(memory.size() / kPart, std::numeric_limits<double>::infinity());
  while (times-- > 0) {
    for (size_t i = 0; i < best->size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      result = work(memory.data() + i * kPart);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      best->at(i) = std::min(best->at(i), time.count());
    }
  }
}

double BytesASecond(const std::vector<double> &best) {
  const double seconds = std::accumulate(best.begin(), best.end(), 0.0);
  return static_cast<double>(best.size() * kPart) / seconds;
}

uint64_t Compute(const std::byte *part, DType dtype) {
  const auto count = static_cast<int64_t>(kPart / smdebug::tensor::DTypeSize(dtype));
  const View view{part, {&count, 1}, {}, dtype};
  return static_cast<uint64_t>(smdebug::tensor::ComputeStatistics(view)->l2);
}

// Measures a size in MiB.
void Measure(size_t size) {
  const int times = static_cast<int>(64 / size);
  for (const Tensor &tensor : Tensors(size * kMiB)) {
    std::vector<double> read, statistics;
    for (int round = 0; round < kRounds; ++round) {
      Time(times, tensor.memory, &read, Read);
      Time(times, tensor.memory, &statistics,
           [&](const std::byte *part) { return Compute(part, tensor.dtype); });
    }
    std::printf(",\n \"read/%s/%zu\": %.4g", tensor.name, size, BytesASecond(read));
    std::printf(", \"statistics/%s/%zu\": %.4g", tensor.name, size, BytesASecond(statistics));
  }
}

}  // namespace

int main() {
  std::printf("{\"part\": %zu", kPart);
  for (const size_t size : {size_t{1}, size_t{16}, size_t{64}}) Measure(size);
  std::printf("}\n");
}
