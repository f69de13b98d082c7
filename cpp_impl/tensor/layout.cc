#include "tensor/layout.h"

#include <algorithm>

namespace smdebug::tensor {
namespace {

// Omits dimensions of size 1: their strides have no meaning.
Layout Unmerged(const View &view) {
  const auto size = static_cast<int64_t>(DTypeSize(view.dtype));
  Layout layout;
  layout.origin = static_cast<const std::byte *>(view.data);
  if (view.ElementCount() == 0) {
    layout.dimensions[layout.rank++] = {0, size};
    return layout;
  }
  int64_t compact_stride = size;
  for (size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1) {
      const int64_t stride = view.IsCompact() ? compact_stride : view.strides[i] * size;
      layout.dimensions[layout.rank++] = {view.shape[i], stride};
    }
    compact_stride *= view.shape[i];
  }
  if (layout.rank == 0) layout.dimensions[layout.rank++] = {1, size};
  const auto begin = layout.dimensions.begin();
  std::reverse(begin, begin + static_cast<std::ptrdiff_t>(layout.rank));
  return layout;
}

void Merge(Layout *layout) {
  size_t last = 0;
  for (size_t i = 1; i < layout->rank; ++i) {
    Dimension &outer = layout->dimensions[last];
    const Dimension inner = layout->dimensions[i];
    if (outer.stride == inner.stride * inner.size) {
      outer = {outer.size * inner.size, inner.stride};
    } else {
      layout->dimensions[++last] = inner;
    }
  }
  layout->rank = last + 1;
}

template <size_t kSize>
void CopyElements(const std::byte *from, int64_t stride, int64_t count, std::byte *to) {
  for (int64_t i = 0; i < count; ++i, to += kSize) std::memcpy(to, from + i * stride, kSize);
}

}  // namespace

Layout InOrder(const View &view) {
  Layout layout = Unmerged(view);
  Merge(&layout);
  return layout;
}

Layout InAnyOrder(const View &view) {
  Layout layout = Unmerged(view);
  const auto begin = layout.dimensions.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(layout.rank);
  for (auto it = begin; it != end; ++it) {
    if (it->stride >= 0) continue;
    layout.origin += it->stride * (it->size - 1);
    it->stride = -it->stride;
  }
  std::stable_sort(begin, end,
                   [](const Dimension &a, const Dimension &b) { return a.stride > b.stride; });
  Merge(&layout);
  return layout;
}

void CopyStrided(const std::byte *from, int64_t stride, size_t size, int64_t count, std::byte *to) {
  if (stride == static_cast<int64_t>(size)) {
    std::memcpy(to, from, size * static_cast<size_t>(count));
    return;
  }
  switch (size) {
    case 1: return CopyElements<1>(from, stride, count, to);
    case 2: return CopyElements<2>(from, stride, count, to);
    case 4: return CopyElements<4>(from, stride, count, to);
    case 8: return CopyElements<8>(from, stride, count, to);
    default: return CopyElements<16>(from, stride, count, to);
  }
}

}  // namespace smdebug::tensor
