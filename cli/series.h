// The numbers of a tensor over the steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "saved.h"
#include "smdebug.hpp"
#include "table.h"
#include "trial_arguments.h"

namespace smdebug::cli {

// Returns "0.001234", or "-" if there is no number.
std::string NumberText(const std::optional<double> &number);

class Series {
 public:
  // Counts of non-finite elements.
  struct Odd {
    size_t nans = 0;
    size_t infinities = 0;
  };
  struct Point {
    int64_t step = -1;  // the step number in the mode of the series
    Mode mode = Mode::kGlobal;
    int64_t mode_step = -1;
    std::string worker;
    Saved saved;                                 // without the value if ReadAll() read it
    std::vector<std::optional<double>> numbers;  // one for each column
    Odd odd;
    std::string text;  // the first element of a text tensor
  };

  // If `worker` is "", uses the first; if `reductions` is empty, chooses suitable ones.  `trial`
  // and `tensor` must outlive the series.
  Series(const Trial &trial, const Tensor &tensor, Mode mode, std::string worker,
         std::vector<std::string> reductions);

  // Fails as smdebug::Tensor::Value(), except for values that were not saved.
  Point Read(int64_t step) const;
  // Reads all steps, and shows the progress.  Skips steps without this worker and damaged steps.
  std::vector<Point> ReadAll(const TrialArguments &arguments) const;

  // Returns the names of the numbers of each point.
  const std::vector<std::string> &Columns() const { return columns_; }
  // Returns true if the tensor has one element, which is then the only number.
  bool IsSingle() const { return is_single_; }

  // Returns the steps at which the tensor was saved, in order.
  const std::vector<int64_t> &Steps() const { return steps_; }
  const Trial &TheTrial() const { return trial_; }
  std::string WorkerText() const;
  // Returns "step 7 (TRAIN 3)".
  std::string PlaceText(const Point &point) const;
  std::vector<Table::Column> Headings() const;
  std::vector<std::string> Row(const Point &point) const;
  std::string ToJson(const Point &point, bool with_values) const;
  void PrintSparklines(const std::vector<Point> &points) const;

 private:
  void ChooseColumns();
  std::vector<std::optional<double>> NumbersOf(const Saved &saved, int64_t step) const;

  const Trial &trial_;
  const Tensor &tensor_;
  const Mode mode_;
  const std::string worker_;
  const std::vector<int64_t> steps_;
  std::vector<std::string> columns_;
  bool is_single_ = false;
  bool are_texts_ = false;
};

}  // namespace smdebug::cli
