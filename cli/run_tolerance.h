// Tolerances for the comparison of two runs that should be equal.  docs/cli.md gives the formulas.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run_distance.h"

namespace smdebug::cli {

// Returns the rounding unit of a floating-point type, such as 2^-24 for "float32"; 0 if the name is
// not one.
double RoundingUnit(const std::string &dtype);

// Gives tolerances from the rounding unit: a tensor may differ by what the differences that were
// accepted before it explain, and by the rounding of the operations so far.
class RoundingTolerance {
 public:
  explicit RoundingTolerance(double unit) : unit_(unit) {}

  void BeginStep();
  // Returns the tolerance of the relative difference.  `moved` is how far a parameter may have
  // moved since the last step, relative to its norm.
  double Limit(const RunTensor &tensor, double moved) const;
  // Returns the part of it that accepted differences of the parameter and its gradient explain;
  // 0 for other tensors.
  double Explained(const RunTensor &tensor, double moved) const;
  // Notes an accepted difference.
  void Accept(const RunTensor &tensor, const RunDistance &distance, double relative);

 private:
  double Carried(const std::string &parameter) const;

  const double unit_;
  double weights_ = 0;  // the squares of the parameters' differences, and of their norms
  double norms_ = 0;
  double activations_ = 0;  // the largest relative difference so far in the step
  double gradients_ = 0;
  size_t depth_ = 0;  // activations so far in the step
  size_t parameters_ = 0;
  struct Squares {
    double differences = 0;
    double norms = 0;
  };
  std::map<std::string, Squares> of_module_;    // of the parameters of each module
  std::map<std::string, double> of_parameter_;  // the last relative difference
  std::map<std::string, double> elementwise_;   // of gradients: the largest so far
};

// Gives tolerances from further runs of the trusted program.
class NoiseTolerance {
 public:
  void BeginStep() { of_kind_.clear(); }
  // Notes the relative difference of a noise run.
  void Add(const RunTensor &tensor, double relative);
  double Limit(const RunTensor &tensor) const;

 private:
  std::map<std::string, double> largest_;           // of each tensor, over the steps so far
  std::map<RunKind, std::vector<double>> of_kind_;  // of this step
};

}  // namespace smdebug::cli
