// Compares two runs that should be equal but for rounding, and finds where they first differ.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "run_reader.h"
#include "run_tolerance.h"

namespace smdebug::cli {

// The first difference in the order of the computation.
struct FirstDifference {
  int64_t step = 0;
  RunTensor tensor;
  double relative = 0;  // infinite if the tensor is missing
  double limit = 0;
  std::string missing;           // "A" or "B" if only the other run has the tensor
  std::optional<double> factor;  // by which all gradients differ
  bool is_data = false;          // integers, such as token numbers
};

struct RunVerdict {
  size_t steps = 0;    // compared
  size_t tensors = 0;  // compared, of all steps
  std::optional<FirstDifference> first;
  size_t after = 0;            // tensors of the same step after the first difference
  size_t after_different = 0;  // those of them that differ
  double closest = 0;          // without a difference: the largest share of a tolerance
  std::string closest_tensor;
  int64_t closest_step = -1;
  std::set<std::string> not_compared;  // their parts do not fit together
  std::set<std::string> only_in_a;
  std::set<std::string> only_in_b;
};

class RunComparison {
 public:
  // If there are noise runs, they give the tolerances; otherwise the rounding unit does.  With
  // `uses_unit`, the larger of the two does.
  RunComparison(RunReader *a, RunReader *b, std::vector<RunReader *> noise, double unit,
                bool uses_unit)
      : a_(*a),
        b_(*b),
        noise_runs_(std::move(noise)),
        unit_(unit),
        uses_unit_(uses_unit),
        rounding_(unit) {}

  // Compares one step after the other, in ascending order.  Returns false after the step with the
  // first difference.
  bool Compare(int64_t step);
  const RunVerdict &Verdict() const { return verdict_; }

 private:
  using Tensors = std::map<std::string, RunTensor>;  // by key
  struct Gradient {
    RunTensor tensor;
    RunDistance distance;
    double floor;
    double limit;
  };

  void MeasureStep(const std::vector<RunTensor> &tensors, int64_t step);
  void MeasureMove(const RunTensor &tensor, const std::vector<double> &now);
  void CompareTensor(const RunTensor &tensor, const RunTensor &in_b, int64_t step);
  double LimitOf(const RunTensor &tensor, const RunParts &parts, int64_t step, double floor);
  double FloorOf(const RunTensor &tensor, const RunParts &parts) const;
  double MovedOf(const RunTensor &tensor, const RunParts &parts) const;
  void NoteMissing(const RunTensor &tensor, const std::string &run, int64_t step);
  void Note(FirstDifference difference);
  void FindFactor();

  RunReader &a_;
  RunReader &b_;
  const std::vector<RunReader *> noise_runs_;
  const double unit_;
  const bool uses_unit_;
  RoundingTolerance rounding_;
  NoiseTolerance noise_;
  RunVerdict verdict_;
  size_t depth_ = 0;
  std::vector<Tensors> in_noise_;                     // of this step, for each noise run
  std::map<std::string, double> modules_;             // the largest root mean square of a family
  std::map<std::string, double> moves_;               // of A's parameters since the last step
  double largest_move_ = 0;                           // the largest root mean square of a move
  std::map<std::string, std::vector<float>> before_;  // parameters of A at the last step
  Orders orders_;                                     // of this step
  std::vector<Orders> noise_orders_;
  std::vector<Gradient> gradients_;  // of this step
};

}  // namespace smdebug::cli
