#include "tensor/view.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/strings.h"
#include "tensor/layout.h"

namespace smdebug::tensor {
namespace {

// Each text takes at least its tag and its length in a record.
constexpr uint64_t kMaxTexts = kMaxPayload / 2;

std::string ShapeText(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += StrCat(i == 0 ? "" : ", ", shape[i]);
  return out + ")";
}

Status CheckSize(std::span<const int64_t> shape, int64_t count, DType dtype) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(DTypeSize(dtype)), &bytes)) {
    return InvalidArgument(StrCat("shape ", ShapeText(shape), " has too many elements"));
  }
  if (dtype != DType::kString || static_cast<uint64_t>(count) < kMaxTexts) return Status::Ok();
  return Unsupported(StrCat("a tensor of text of shape ", ShapeText(shape),
                            " is too large: its record holds less than 2 GiB"))
      .With("elements", std::to_string(count));
}

bool IsCompactAnyway(std::span<const int64_t> shape, const int64_t *strides, int64_t count) {
  if (count <= 1) return true;
  int64_t compact_stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != compact_stride) return false;
    compact_stride *= shape[i];
  }
  return true;
}

// Returns true if the addresses of all elements can be represented.
bool FitsMemory(const void *data, std::span<const int64_t> shape, const int64_t *strides,
                int64_t element_size) {
  int64_t first = 0;
  int64_t last = element_size;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    int64_t reach = 0;
    int64_t &end = strides[i] < 0 ? first : last;
    if (__builtin_mul_overflow(strides[i], element_size, &reach) ||
        __builtin_mul_overflow(reach, shape[i] - 1, &reach) ||
        __builtin_add_overflow(end, reach, &end)) {
      return false;
    }
  }
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (first == std::numeric_limits<int64_t>::min()) return false;
  return address >= static_cast<uint64_t>(-first) &&
         address + static_cast<uint64_t>(last) > address;
}

Status CheckParts(const int64_t *shape, int32_t ndim, DType dtype) {
  const auto number = static_cast<int64_t>(dtype);
  if (!DTypeFromNumber(number)) return InvalidArgument(StrCat("unknown dtype ", number));
  if (ndim < 0 || ndim > kMaxRank) {
    return InvalidArgument(StrCat("a tensor has 0 to ", kMaxRank, " dimensions, not ", ndim));
  }
  if (ndim > 0 && shape == nullptr) return InvalidArgument("the shape is NULL");
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] < 0) return InvalidArgument(StrCat("dimension ", i, " has size ", shape[i]));
  }
  return Status::Ok();
}

// Copies a plane whose rows, not columns, are adjacent in memory.  Source and destination of
// a tile fit the first-level cache together.
template <size_t kSize>
void CopyPlane(const std::byte *from, Dimension rows, Dimension columns, std::byte *to,
               int64_t row_size) {
  constexpr int64_t kTile = 16;
  for (int64_t row = 0; row < rows.size; row += kTile) {
    const int64_t row_end = std::min(row + kTile, rows.size);
    for (int64_t column = 0; column < columns.size; column += kTile) {
      const int64_t column_end = std::min(column + kTile, columns.size);
      for (int64_t i = row; i < row_end; ++i) {
        for (int64_t j = column; j < column_end; ++j) {
          std::memcpy(to + i * row_size + j * static_cast<int64_t>(kSize),
                      from + i * rows.stride + j * columns.stride, kSize);
        }
      }
    }
  }
}

using PlaneCopier = void (*)(const std::byte *from, Dimension rows, Dimension columns,
                             std::byte *to, int64_t row_size);

PlaneCopier PlaneCopierFor(size_t element_size) {
  switch (element_size) {
    case 1: return CopyPlane<1>;
    case 2: return CopyPlane<2>;
    case 4: return CopyPlane<4>;
    case 8: return CopyPlane<8>;
    default: return CopyPlane<16>;
  }
}

// Returns the dimension along which memory is read fastest, or nothing if it is the last.
std::optional<size_t> BetterDimension(const Layout &layout) {
  const auto step = [&](size_t i) { return std::abs(layout.dimensions[i].stride); };
  size_t best = layout.rank - 1;
  for (size_t i = 0; i + 1 < layout.rank; ++i) {
    if (step(i) < step(best)) best = i;
  }
  if (best + 1 == layout.rank) return {};
  return best;
}

// Returns the layout of the compact copy at `out`, with the same dimensions.
Layout CompactLayout(const Layout &layout, std::byte *out, size_t element_size) {
  Layout compact = layout;
  compact.origin = out;
  auto stride = static_cast<int64_t>(element_size);
  for (size_t i = layout.rank; i-- > 0;) {
    compact.dimensions[i].stride = stride;
    stride *= layout.dimensions[i].size;
  }
  return compact;
}

}  // namespace

Result<View> View::Check(const void *data, const int64_t *shape, const int64_t *strides,
                         int32_t ndim, DType dtype) {
  SMD_ASSIGN_OR_RETURN(View view, Form(shape, ndim, dtype));
  view.data = data;
  const int64_t count = view.ElementCount();
  if (count == 0) return view;
  if (data == nullptr) return InvalidArgument("the data is NULL, but the tensor is not empty");
  const bool is_text = dtype == DType::kString;
  const auto size = static_cast<int64_t>(is_text ? sizeof(const char *) : DTypeSize(dtype));
  if (strides == nullptr || IsCompactAnyway(view.shape, strides, count)) {
    const int64_t row = count;
    const int64_t one = 1;
    if (FitsMemory(data, {&row, 1}, &one, size)) return view;
  } else {
    view.strides = {strides, static_cast<size_t>(ndim)};
    if (FitsMemory(data, view.shape, strides, size)) return view;
  }
  return InvalidArgument("the strides exceed the address space");
}

Result<View> View::Form(const int64_t *shape, int32_t ndim, DType dtype) {
  SMD_RETURN_IF_ERROR(CheckParts(shape, ndim, dtype));
  const View form{nullptr, {shape, static_cast<size_t>(ndim)}, {}, dtype};
  SMD_ASSIGN_OR_RETURN(const int64_t count, CountElements(form.shape));
  SMD_RETURN_IF_ERROR(CheckSize(form.shape, count, dtype));
  return form;
}

int64_t View::ElementCount() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

Result<int64_t> CountElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return InvalidArgument(StrCat("a dimension has size ", size));
    // An empty tensor has strides too, so the product of the other sizes must not overflow.
    if (size == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      return InvalidArgument(StrCat("shape ", ShapeText(shape), " has too many elements"));
    }
  }
  return is_empty ? 0 : count;
}

void CopyCompact(const View &view, std::byte *out) {
  if (view.ByteCount() == 0) return;
  const size_t size = DTypeSize(view.dtype);
  Layout source = InOrder(view);
  Layout target = CompactLayout(source, out, size);
  const auto better = BetterDimension(source);
  if (better) {
    std::swap(source.dimensions[*better], source.dimensions[source.rank - 2]);
    std::swap(target.dimensions[*better], target.dimensions[source.rank - 2]);
  }
  const PlaneCopier copy_plane = PlaneCopierFor(size);
  const size_t outer = source.rank - (better ? 2 : 1);
  Odometer from(source, outer);
  Odometer to(target, outer);
  do {
    std::byte *place = out + (to.Address() - out);
    if (better) {
      copy_plane(from.Address(), source.dimensions[outer], source.Last(), place,
                 target.dimensions[outer].stride);
    } else {
      CopyStrided(from.Address(), source.Last().stride, size, source.Last().size, place);
    }
    to.Advance();
  } while (from.Advance());
}

}  // namespace smdebug::tensor
