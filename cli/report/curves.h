// Losses, metrics and other numbers over the steps.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"

namespace smdebug::cli::report {

struct Line {
  std::string run = "";  // its name, if the page compares several
  size_t colour = 0;     // for the lines of a run
  std::string tensor;
  Mode mode;
  std::string worker;
  std::vector<int64_t> steps;  // global numbers
  std::vector<MaybeNumber> values;
};

struct Chart {
  std::string title;
  std::string measure;  // without the data set: "loss" for "train_loss" and "val_loss"
  bool is_loss = false;
  std::vector<Line> lines;
  size_t hidden_lines = 0;  // beyond kMostLines
};

struct Curves {
  std::vector<Chart> charts;
  size_t hidden = 0;  // charts beyond kMostCharts
};

// Reads the charts, losses first.  Tensors with the same measure for several data sets, such as
// "train-auc" and "test-auc", share a chart.  Reads about `most` values.  Omits what cannot be
// read.
Curves ReadCurves(const Trial &trial, const Inventory &inventory, size_t most, Problems *problems);

// Returns the curves of all runs, where equal measures share a chart.  `names` are those of the
// runs.
Curves Overlay(std::vector<Curves> runs, const std::vector<std::string> &names);

void ToJson(const std::vector<Chart> &charts, JsonWriter *json);

}  // namespace smdebug::cli::report
