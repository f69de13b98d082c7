// A tensor at one step after another, in numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "saved.h"
#include "smdebug.hpp"
#include "table.h"

namespace smdebug::cli {

// "0.001234", "-" where there is none.
std::string NumberText(const std::optional<double> &number);

class Series {
 public:
  // Elements that are not finite.
  struct Odd {
    size_t nans = 0;
    size_t infinities = 0;
  };
  struct Point {
    int64_t step = -1;  // of the series' mode
    Mode mode = Mode::kGlobal;
    int64_t mode_step = -1;
    std::string worker;
    Saved saved;                                 // in a row of points: without the value
    std::vector<std::optional<double>> numbers;  // a column each
    Odd odd;
    std::string text;  // the element of a tensor with one text
  };

  // `worker` "": the first; `reductions` empty: those that suit.  Both others outlive this.
  Series(const Trial &trial, const Tensor &tensor, Mode mode, std::string worker,
         std::vector<std::string> reductions);

  // Fails as smdebug::Tensor::Value(), but for values that were not saved.
  Point Read(int64_t step) const;
  // All steps, those without this worker passed over; with progress.
  std::vector<Point> ReadAll() const;

  // What numbers there are of each point.
  const std::vector<std::string> &Columns() const { return columns_; }
  // Whether the tensor has one element, which is the only number.
  bool IsSingle() const { return is_single_; }

  std::string WorkerText() const;
  // "step 7 (TRAIN 3)".
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
