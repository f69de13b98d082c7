// Compares the targets of a loss with what the model read at the same step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Where the targets of a loss stand among tokens that the model read.
struct TokenMatch {
  size_t offset = 0;  // 0: a target is the token at its own place; 1: the next one
  std::string of;     // the input with these tokens
};

// Follows the tokens of one step.  A model of the next token has an offset of 1.  For one thread.
class TokenInputs {
 public:
  // Takes whole numbers of the shape (texts, tokens); ignores everything else.
  void Add(const Sample &sample);
  void EndStep() { inputs_.clear(); }

  // Returns the offset at which nearly all targets match, 1 if several do.  `targets` are rows of
  // equal length, one after another; those below 0 are ignored by losses.  Returns nothing if there
  // is no such offset, or too few targets differ to tell.
  std::optional<TokenMatch> Match(const std::vector<double> &targets) const;

 private:
  struct Input {
    std::string name;
    size_t rows = 0;
    size_t tokens_of_row = 0;
    std::vector<double> elements;
  };
  std::vector<Input> inputs_;
};

// Follows how far each column of the model's input tells the target by itself.  For one thread.
class ColumnsAndTarget {
 public:
  // Takes the first input of a step if it has the shape (samples, columns); ignores later ones,
  // which are made from it.
  void Add(const Sample &sample);
  // Takes the targets of the step, if there is one for each sample.
  void AddTargets(const std::vector<double> &targets);
  void EndStep() { has_input_ = false; }

  struct Column {
    std::string input;
    int64_t number = 0;
    int64_t samples = 0;
  };
  // Returns a column of which the targets are a straight line, but for rounding, over enough steps.
  // Returns nothing if more than one is, as where columns repeat each other.
  std::optional<Column> Telling(int64_t patience) const;

 private:
  // Sums of x and of products, without the first target and the first x.
  struct Sums {
    double first = 0;
    double x = 0;
    double xx = 0;
    double xy = 0;
  };
  bool IsLine(const Sums &sums) const;

  bool has_input_ = false;
  std::string name_;
  size_t columns_ = 0;
  std::vector<double> now_;  // the input of this step; empty if it has another shape
  std::vector<Sums> sums_;
  double first_target_ = 0;
  double y_ = 0;
  double yy_ = 0;
  int64_t samples_ = 0;
  int64_t steps_ = 0;
};

}  // namespace smdebug::rules
