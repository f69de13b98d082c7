#include "tensor/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tensor/tensors.h"

namespace smdebug::tensor::view_test {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

constexpr float kElements[24] = {};

Result<View> Check(const std::vector<int64_t> &shape, const void *data = kElements,
                   DType dtype = DType::kFloat32) {
  return View::Check(data, shape.data(), nullptr, static_cast<int32_t>(shape.size()), dtype);
}

Result<View> CheckStrided(const std::vector<int64_t> &shape, const std::vector<int64_t> &strides,
                          DType dtype = DType::kFloat32) {
  return View::Check(kElements, shape.data(), strides.data(), static_cast<int32_t>(shape.size()),
                     dtype);
}

void ExpectFailure(const Result<View> &view, Code code, const std::string &message) {
  ASSERT_FALSE(view.IsOk());
  EXPECT_EQ(view.GetStatus().GetCode(), code);
  EXPECT_EQ(view.GetStatus().Message(), message);
}

TEST(ViewCheck, KeepsThePartsOfATensor) {
  const std::vector<int64_t> shape = {2, 3, 4};
  const auto view = Check(shape);
  ASSERT_TRUE(view.IsOk());
  EXPECT_EQ(view->data, kElements);
  EXPECT_EQ(view->shape.data(), shape.data());
  EXPECT_EQ(view->ElementCount(), 24);
  EXPECT_EQ(view->ByteCount(), 96U);
  EXPECT_TRUE(view->IsCompact());
}

TEST(ViewCheck, AScalarNeedsNoShape) {
  const auto view = View::Check(kElements, nullptr, nullptr, 0, DType::kFloat32);
  ASSERT_TRUE(view.IsOk());
  EXPECT_EQ(view->ElementCount(), 1);
}

TEST(ViewCheck, AnEmptyTensorNeedsNoData) {
  const std::vector<int64_t> shape = {3, 0, 2};
  const auto view = Check(shape, nullptr);
  ASSERT_TRUE(view.IsOk());
  EXPECT_EQ(view->ElementCount(), 0);
}

TEST(ViewCheck, RefusesUnknownTypes) {
  ExpectFailure(Check({2}, kElements, DType::kInvalid), Code::kInvalidArgument, "unknown dtype 0");
  ExpectFailure(Check({2}, kElements, static_cast<DType>(99)), Code::kInvalidArgument,
                "unknown dtype 99");
}

TEST(ViewCheck, RefusesWrongRanks) {
  const std::vector<int64_t> shape(33, 1);
  ExpectFailure(Check(shape), Code::kInvalidArgument, "a tensor has 0 to 32 dimensions, not 33");
  ExpectFailure(View::Check(kElements, shape.data(), nullptr, -1, DType::kFloat32),
                Code::kInvalidArgument, "a tensor has 0 to 32 dimensions, not -1");
  EXPECT_TRUE(Check(std::vector<int64_t>(32, 1)).IsOk());
}

TEST(ViewCheck, RefusesMissingParts) {
  ExpectFailure(View::Check(kElements, nullptr, nullptr, 1, DType::kFloat32),
                Code::kInvalidArgument, "the shape is NULL");
  ExpectFailure(Check({2}, nullptr), Code::kInvalidArgument,
                "the data is NULL, but the tensor is not empty");
}

TEST(ViewCheck, RefusesInvalidSizes) {
  ExpectFailure(Check({2, -3}), Code::kInvalidArgument, "dimension 1 has size -3");
  ExpectFailure(Check({kMin}), Code::kInvalidArgument, "dimension 0 has size -9223372036854775808");
  ExpectFailure(Check({kMax, 2}), Code::kInvalidArgument,
                "shape (9223372036854775807, 2) has too many elements");
  ExpectFailure(Check({kMax, 2, 0}), Code::kInvalidArgument,
                "shape (9223372036854775807, 2, 0) has too many elements");
}

TEST(ViewCheck, AcceptsTensorsTooLargeForARecord) {
  EXPECT_TRUE(Check({1 << 15, 1 << 14}).IsOk());
  EXPECT_TRUE(Check({int64_t{1} << 34}, kElements, DType::kInt8).IsOk());
}

TEST(ViewCheck, RefusesMoreBytesThanCanBeCounted) {
  ExpectFailure(Check({int64_t{1} << 31, int64_t{1} << 30}), Code::kInvalidArgument,
                "shape (2147483648, 1073741824) has too many elements");
}

TEST(ViewCheck, RefusesTextsTooLargeForARecord) {
  ExpectFailure(Check({int64_t{1} << 30}, kElements, DType::kString), Code::kUnsupported,
                "a tensor of text of shape (1073741824) is too large: its record holds less than "
                "2 GiB");
}

TEST(ViewCheck, RefusesDataBeyondTheAddressSpace) {
  const auto *last =
      reinterpret_cast<const void *>(~uintptr_t{7});  // NOLINT(performance-no-int-to-ptr)
  ExpectFailure(Check({4}, last), Code::kInvalidArgument, "the strides exceed the address space");
}

TEST(ViewCheck, RefusesStridesThatOverflow) {
  for (const int64_t stride : {kMax, kMin, kMax / 4, kMin / 4, kMax / 8 + 1, kMin + 1}) {
    ExpectFailure(CheckStrided({3}, {stride}), Code::kInvalidArgument,
                  "the strides exceed the address space");
  }
  EXPECT_FALSE(CheckStrided({2, 2, 2}, {kMax / 8, kMax / 8, kMax / 8}).IsOk());
}

TEST(ViewCheck, DropsStridesOfCompactTensors) {
  EXPECT_TRUE(CheckStrided({2, 3}, {3, 1})->IsCompact());
  // The stride of a dimension of size 1 does not matter, nor do strides of an empty tensor.
  EXPECT_TRUE(CheckStrided({2, 1, 3}, {3, kMax, 1})->IsCompact());
  EXPECT_TRUE(CheckStrided({1, 1}, {kMin, 7})->IsCompact());
  EXPECT_TRUE(CheckStrided({0, 3}, {kMin, kMax})->IsCompact());
}

TEST(ViewCheck, KeepsOtherStrides) {
  EXPECT_FALSE(CheckStrided({2, 3}, {1, 2})->IsCompact());
  EXPECT_FALSE(CheckStrided({2, 3}, {0, 1})->IsCompact());
  EXPECT_FALSE(CheckStrided({2}, {-1})->IsCompact());
}

TEST(CountElements, MultipliesSizes) {
  const auto count = [](std::vector<int64_t> shape) { return CountElements(shape); };
  EXPECT_EQ(*count({}), 1);
  EXPECT_EQ(*count({2, 3}), 6);
  EXPECT_EQ(*count({kMax, 0}), 0);
  EXPECT_FALSE(count({-1, 0}).IsOk());
  EXPECT_FALSE(count({kMax, 2}).IsOk());
}

struct Strided {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;  // of the first element
};

void PrintTo(const Strided &strided, std::ostream *out) { *out << strided.name; }

class CopyCompactTest : public testing::TestWithParam<Strided> {};

TEST_P(CopyCompactTest, WritesElementsInOrder) {
  const Strided &layout = GetParam();
  std::vector<std::byte> memory(size_t{8192} * 16);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 31 + i / 251);
  for (const DType dtype :
       {DType::kInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
    const size_t size = DTypeSize(dtype);
    const auto view =
        View::Check(memory.data() + static_cast<size_t>(layout.offset) * size, layout.shape.data(),
                    layout.strides.data(), static_cast<int32_t>(layout.shape.size()), dtype);
    ASSERT_TRUE(view.IsOk()) << view.GetStatus().Message();
    std::vector<std::byte> out(view->ByteCount());
    CopyCompact(*view, out.data());
    EXPECT_EQ(out, BytesInOrder(*view)) << DTypeName(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, CopyCompactTest,
    testing::Values(
        Strided{"scalar", {}, {}}, Strided{"compact", {5, 7}, {7, 1}},
        Strided{"columns cut off", {5, 7}, {11, 1}}, Strided{"transposed", {50, 70}, {1, 50}},
        Strided{"transposed, one tile", {16, 16}, {1, 16}}, Strided{"every other", {9}, {2}},
        Strided{"backwards", {9}, {-1}, 8}, Strided{"all backwards", {3, 4}, {-4, -1}, 11},
        Strided{"one backwards", {3, 4}, {4, -1}, 3}, Strided{"repeated rows", {4, 5}, {0, 1}},
        Strided{"one element repeated", {4, 5}, {0, 0}},
        Strided{"overlapping windows", {6, 4}, {1, 1}},
        Strided{"channels last", {2, 3, 8, 9}, {216, 1, 27, 3}},
        Strided{"channels first", {2, 8, 9, 3}, {216, 9, 1, 72}},
        Strided{"sizes of one", {1, 4, 1, 3, 1}, {99, 1, 77, 4, 55}},
        Strided{"outer two merge", {3, 4, 5}, {40, 10, 2}},
        Strided{"empty", {3, 0, 5}, {40, 10, 2}}),
    [](const auto &test) {
      std::string name;
      for (const char letter : test.param.name) {
        if (std::isalpha(static_cast<unsigned char>(letter)) != 0) name += letter;
      }
      return name;
    });

}  // namespace
}  // namespace smdebug::tensor::view_test
