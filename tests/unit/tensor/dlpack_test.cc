#include "tensor/dlpack.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "tensor/dlpack_abi.h"
#include "tensor/tensors.h"

namespace smdebug::tensor::dlpack_test {
namespace {

// A tensor as another framework would export it; counts the calls of its deleter.
class Exported {
 public:
  explicit Exported(std::vector<int64_t> shape) : shape_(std::move(shape)) {
    managed_.version = {1, 0};
    managed_.manager_ctx = this;
    managed_.deleter = [](DLManagedTensorVersioned *self) {
      ++static_cast<Exported *>(self->manager_ctx)->deletions_;
    };
    managed_.dl_tensor = {elements_,
                          {dlpack::kCpu, 0},
                          static_cast<int32_t>(shape_.size()),
                          {dlpack::kFloat, 32, 1},
                          shape_.data(),
                          nullptr,
                          0};
  }
  Exported(const Exported &) = delete;

  DLManagedTensorVersioned *Managed() { return &managed_; }
  DLTensor &Tensor() { return managed_.dl_tensor; }
  const float *Elements() const { return elements_; }
  int Deletions() const { return deletions_; }

  // Returns the code with which the changed tensor is refused.
  static Code CodeAfter(const std::function<void(Exported &)> &change) {
    Exported exported({2, 3});
    change(exported);
    const DlpackTensor tensor(exported.Managed());
    return tensor.AsView().GetStatus().GetCode();
  }

 private:
  float elements_[6] = {0, 1, 2, 3, 4, 5};
  std::vector<int64_t> shape_;
  DLManagedTensorVersioned managed_{};
  int deletions_ = 0;
};

TEST(DlpackTensor, IsViewedWithoutACopy) {
  Exported exported({2, 3});
  const DlpackTensor tensor(exported.Managed());
  const auto view = tensor.AsView();
  ASSERT_TRUE(view.IsOk());
  EXPECT_EQ(view->data, exported.Elements());
  EXPECT_EQ(view->dtype, DType::kFloat32);
  EXPECT_EQ(NumbersOf(*view), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(DlpackTensor, MayHaveStridesAndAnOffset) {
  Exported exported({2, 2});
  int64_t strides[] = {1, 2};
  exported.Tensor().strides = strides;
  exported.Tensor().byte_offset = 4;
  const DlpackTensor tensor(exported.Managed());
  EXPECT_EQ(NumbersOf(*tensor.AsView()), (std::vector<double>{1, 3, 2, 4}));
}

TEST(DlpackTensor, MayBePinned) {
  const auto on = [](int32_t device) {
    return Exported::CodeAfter(
        [=](Exported &exported) { exported.Tensor().device.device_type = device; });
  };
  EXPECT_EQ(on(dlpack::kCudaHost), Code::kOk);
  EXPECT_EQ(on(dlpack::kRocmHost), Code::kOk);
}

TEST(DlpackTensor, IsRefusedOnOtherDevicesByName) {
  const auto refused = [](int32_t type, int32_t id) {
    Exported exported({2, 3});
    exported.Tensor().device = {type, id};
    const DlpackTensor tensor(exported.Managed());
    const Status status = tensor.AsView().GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kUnsupported);
    EXPECT_NE(status.Message().find("smd_hook_save_statistics()"), std::string::npos);
    EXPECT_NE(status.Detail("device"), nullptr);
    return status.Detail("device") == nullptr ? "" : *status.Detail("device");
  };
  EXPECT_EQ(refused(2, 1), "cuda:1");
  EXPECT_EQ(refused(10, 0), "rocm:0");
  EXPECT_EQ(refused(8, 0), "metal:0");
  EXPECT_EQ(refused(99, 3), "device type 99:3");
}

TEST(DlpackTensor, MayBeEmpty) {
  Exported exported({0, 3});
  exported.Tensor().data = nullptr;
  exported.Tensor().byte_offset = 64;
  const DlpackTensor tensor(exported.Managed());
  const auto view = tensor.AsView();
  ASSERT_TRUE(view.IsOk());
  EXPECT_EQ(view->ElementCount(), 0);
}

TEST(DlpackTensor, IsDeletedOnceEvenIfRefused) {
  Exported good({2, 3});
  Exported bad({2, 3});
  bad.Managed()->version.major = 2;
  {
    const DlpackTensor first(good.Managed());
    const std::vector<DlpackTensor> copies(3, first);
    const DlpackTensor other(bad.Managed());
    EXPECT_FALSE(other.AsView().IsOk());
    EXPECT_EQ(good.Deletions() + bad.Deletions(), 0);
  }
  EXPECT_EQ(good.Deletions(), 1);
  EXPECT_EQ(bad.Deletions(), 1);
}

TEST(DlpackTensor, MayHaveNoDeleter) {
  EXPECT_EQ(Exported::CodeAfter([](Exported &exported) { exported.Managed()->deleter = nullptr; }),
            Code::kOk);
}

TEST(DlpackTensor, NullIsRefused) {
  const DlpackTensor tensor(nullptr);
  EXPECT_EQ(tensor.AsView().GetStatus().GetCode(), Code::kInvalidArgument);
}

TEST(DlpackTensor, UnknownTypesAreRefused) {
  const auto with = [](DLDataType type) {
    return Exported::CodeAfter([=](Exported &exported) { exported.Tensor().dtype = type; });
  };
  EXPECT_EQ(with({dlpack::kFloat, 32, 4}), Code::kUnsupported);
  EXPECT_EQ(with({dlpack::kFloat, 128, 1}), Code::kUnsupported);
  EXPECT_EQ(with({dlpack::kInt, 4, 1}), Code::kUnsupported);
  EXPECT_EQ(with({3, 64, 1}), Code::kUnsupported);  // an opaque handle
}

TEST(DlpackTensor, MalformedTensorsAreRefused) {
  using Change = std::function<void(Exported &)>;
  const Change changes[] = {
      [](Exported &exported) { exported.Tensor().ndim = -1; },
      [](Exported &exported) { exported.Tensor().ndim = 33; },
      [](Exported &exported) { exported.Tensor().shape = nullptr; },
      [](Exported &exported) { exported.Tensor().shape[0] = -1; },
      [](Exported &exported) { exported.Tensor().data = nullptr; },
      [](Exported &exported) { exported.Tensor().byte_offset = ~uint64_t{0}; },
  };
  for (const Change &change : changes) {
    EXPECT_EQ(Exported::CodeAfter(change), Code::kInvalidArgument);
  }
}

TEST(ToDlpack, ExportsReadOnlyWithoutACopy) {
  const Value value = TensorOf<float>(DType::kFloat32, {1, 2, 3, 4, 5, 6}, {2, 3});
  const auto exported = ToDlpack(value);
  ASSERT_TRUE(exported.IsOk());
  const DLManagedTensorVersioned &managed = **exported;
  EXPECT_EQ(managed.version.major, 1U);
  EXPECT_EQ(managed.flags, dlpack::kReadOnly);
  EXPECT_EQ(managed.dl_tensor.data, value.data.get());
  EXPECT_EQ(managed.dl_tensor.device.device_type, dlpack::kCpu);
  EXPECT_EQ(managed.dl_tensor.byte_offset, 0U);
  ASSERT_EQ(managed.dl_tensor.ndim, 2);
  EXPECT_EQ(managed.dl_tensor.strides[0], 3);
  EXPECT_EQ(managed.dl_tensor.strides[1], 1);
  managed.deleter(*exported);
}

TEST(ToDlpack, KeepsElementsUntilDeleted) {
  std::optional<Value> value = TensorOf<float>(DType::kFloat32, {1, 2});
  const std::weak_ptr<const std::byte> elements = value->data;
  DLManagedTensorVersioned *exported = *ToDlpack(*value);
  value.reset();
  EXPECT_FALSE(elements.expired());
  EXPECT_EQ(static_cast<const float *>(exported->dl_tensor.data)[1], 2);
  exported->deleter(exported);
  EXPECT_TRUE(elements.expired());
}

TEST(ToDlpack, EveryTypeRoundTrips) {
  for (int32_t number = 1; number <= 50; ++number) {
    const auto dtype = DTypeFromNumber(number);
    if (!dtype || *dtype == DType::kString) continue;
    const std::vector<std::byte> bytes(6 * DTypeSize(*dtype), std::byte{1});
    const Value value = Value::CopyOf(*dtype, bytes, {2, 1, 3});
    const DlpackTensor tensor(*ToDlpack(value));
    const auto view = tensor.AsView();
    ASSERT_TRUE(view.IsOk()) << DTypeName(*dtype);
    EXPECT_EQ(view->dtype, *dtype);
    EXPECT_EQ(view->data, value.data.get());
    EXPECT_TRUE(view->IsCompact());
    EXPECT_EQ(view->ByteCount(), value.size);
  }
}

TEST(ToDlpack, ScalarsAndEmptyTensorsRoundTrip) {
  const DlpackTensor scalar(*ToDlpack(Value::Scalar(DType::kFloat64, 2.5)));
  EXPECT_EQ(NumbersOf(*scalar.AsView()), std::vector<double>{2.5});
  const DlpackTensor empty(*ToDlpack(Value::CopyOf(DType::kFloat64, {}, {3, 0})));
  EXPECT_EQ(empty.AsView()->ElementCount(), 0);
}

TEST(ToDlpack, RefusesText) {
  Value text;
  text.dtype = DType::kString;
  EXPECT_EQ(ToDlpack(text).GetStatus().GetCode(), Code::kUnsupported);
}

}  // namespace
}  // namespace smdebug::tensor::dlpack_test
