// Limits on the contents of a report, which bound its size and the time to write it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smdebug::cli::report {

constexpr size_t kMostFindingsOfRule = 50;
constexpr size_t kMostWorkers = 8;
constexpr size_t kMostNames = 24;        // in a list, such as the tensors of a collection
constexpr size_t kMostCharacters = 300;  // in a name or sentence

// Curves: the number of charts, lines in a chart, values read, and points drawn in a line.
constexpr size_t kMostCharts = 40;
constexpr size_t kMostLines = 16;
constexpr size_t kMostCurveReads = 60'000;
constexpr size_t kMostComparedReads = 2 * kMostCurveReads;  // of all runs of a comparison
constexpr size_t kMostPoints = 400;

// Statistics of layers: the number of tensors, steps and numbers, and the bytes of the values that
// they are computed from.
constexpr size_t kMostLayers = 300;
constexpr size_t kMostColumns = 160;
constexpr size_t kFewestColumns = 16;
constexpr size_t kMostNumbers = 150'000;
constexpr size_t kMostHiddenNames = 100'000;  // characters in all names of hidden tensors
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Histograms: the number of tensors, steps, bins and sampled elements.
constexpr size_t kMostHistograms = 12;
constexpr size_t kMostHistogramSteps = 28;
constexpr size_t kBins = 40;
constexpr size_t kMostElements = 20'000;

// Boosters and predictions.
constexpr size_t kMostFeatures = 25;
constexpr size_t kMostClasses = 20;
constexpr size_t kMostRocPoints = 200;
constexpr size_t kMostResiduals = 800;

}  // namespace smdebug::cli::report
