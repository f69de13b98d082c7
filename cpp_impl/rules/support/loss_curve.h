// How a loss has moved since a job's first steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace smdebug::rules {

// What a new loss is compared with.  Losses are medians of a window of some.
struct LossComparison {
  double now;
  double before;
  int64_t step_before;
  double first;
  bool is_of_start;  // the first loss was of the job's first steps
  bool has_fallen;   // since the first steps, by more than chance
  double most_fall;  // percentage by which it may have fallen since, apart from chance
  double first_loss;
  int64_t steps;  // since the first one
  double error;   // the standard error of the difference
  bool was_below_0;
  bool was_above_0;
  bool steepens;  // its later half falls by far more than its first one
};

// The shape of a curve in few points.
class CurveShape {
 public:
  void Add(double value);
  bool Steepens() const;

 private:
  std::vector<double> points_;
  size_t every_ = 1;
  size_t added_ = 0;
};

// Which losses are compared: `window` of them, with as many that are at least `num_steps` older.
struct CurveWindow {
  int64_t num_steps;
  int64_t window;
};

// Holds one loss at the steps of one mode; all calls have the same CurveWindow.  For one thread.
class LossCurve {
 public:
  bool IsEmpty() const { return points_.empty(); }
  void Add(int64_t step, double value, const CurveWindow &compared);
  // Returns the comparison for the newest point, or nothing if no comparison is due.
  std::optional<LossComparison> Compare(const CurveWindow &compared);

 private:
  class Spread;
  using Points = std::deque<std::pair<int64_t, double>>;  // by step
  using Point = Points::const_iterator;

  static double MedianOf(const Point &begin, int64_t count);
  static double ErrorOf(const Point &now, const Point &before, int64_t count);
  int64_t Count() const { return static_cast<int64_t>(points_.size()); }
  // How many losses at the beginning and at the end are compared.
  size_t Compared() const;
  Spread First() const;
  Spread Last() const;
  // Returns how far the mean has fallen since the first steps, plus some standard errors.
  double FallOf(double errors) const;
  double MostFall() const;

  Points points_;
  size_t before_ = 0;
  int64_t next_ = std::numeric_limits<int64_t>::min();
  std::optional<double> first_;
  int64_t first_step_ = -1;
  double first_loss_ = 0;
  size_t losses_ = 0;
  bool was_below_0_ = false;
  bool was_above_0_ = false;
  std::vector<double> first_losses_;
  std::deque<double> last_losses_;
  CurveShape shape_;
};

}  // namespace smdebug::rules
