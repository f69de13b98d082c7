// Finds models of the next token that read it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Two texts that begin alike and go on differently get one prediction of what follows, unless the
// model reads on, as without a causal mask: then it may tell both.  Follows the training steps of
// one worker.  For one thread.
class ReadsAhead {
 public:
  // Takes an input of a module, in the order in which modules end.
  void AddInput(const Sample &sample);
  // Takes the scores that a loss gets, in which classes are the second axis.
  void AddScores(const Sample &sample);
  // Takes the targets of these scores.  Those below 0 are ignored by losses.
  void AddTargets(const std::vector<double> &targets);
  void EndStep();

  struct Pairs {
    int64_t all = 0;   // two texts with one beginning
    int64_t told = 0;  // the model predicted the next token of both
  };
  // Returns the last pairs, if there are enough.
  std::optional<Pairs> Last() const;

 private:
  // What was predicted after the same tokens of two texts.
  struct Guess {
    size_t rows[2];  // of the scores
    double tokens[2];
  };

  // Reports whether an input in the form of the texts tells something else about each of them.
  bool TellsMore(const Sample &sample) const;
  // Returns the number of predictions for each text, or 0 if these scores are of something else.
  size_t LengthOf(const tensor::View &scores) const;

  // Of this step:
  std::vector<double> tokens_;  // texts, one after another
  size_t texts_ = 0;
  size_t length_ = 0;                           // of a text
  size_t earlier_ = 0;                          // the length of whole numbers before the tokens
  std::set<std::string, std::less<>> readers_;  // modules that read tokens
  std::set<std::string, std::less<>> others_;   // modules that read something else
  bool knows_more_ = false;                     // something else may tell what follows
  std::vector<Guess> guesses_;

  Pairs now_;
  Pairs before_;
};

}  // namespace smdebug::rules
