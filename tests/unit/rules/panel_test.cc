#include "rules/panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/tensors.h"

namespace smdebug::rules::panel_test {
namespace {

using testing::ElementsAre;

class InNoCollection final : public Membership {
 public:
  bool IsIn(std::string_view, std::string_view) const override { return false; }
};

// Keeps the largest element of what it is shown.
class Maxima final : public Detector {
 public:
  Maxima(int64_t sample_size, std::vector<double> *maxima) : Detector("Maxima"), maxima_(maxima) {
    SetSampleSize(sample_size);
  }
  bool Wants(std::string_view, const Membership &) const override { return true; }
  void Observe(const Sample &sample, Findings &) override {
    maxima_->push_back(*sample.Reduce({tensor::ReductionKind::kMax}));
  }

 private:
  std::vector<double> *maxima_;
};

TEST(PanelTest, ShowsEachDetectorTheFiguresItAsksFor) {
  std::vector<double> numbers(1000, 1);
  numbers[999] = 7;
  const tensor::Value value = tensor::TensorOfNumbers(tensor::DType::kFloat32, numbers);
  Sample sample({}, "w", "t");
  sample.SetElements(value.AsView());
  std::vector<double> maxima;
  Panel panel;
  for (const int64_t size : {0, 16, 1000, 16}) {
    panel.Add(std::make_unique<Maxima>(size, &maxima));
  }
  panel.Observe(sample, InNoCollection());
  EXPECT_THAT(maxima, ElementsAre(7, 1, 7, 1));
}

}  // namespace
}  // namespace smdebug::rules::panel_test
