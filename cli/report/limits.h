// How much of a trial a report shows: what keeps its size, and the time it takes, within bounds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smdebug::cli::report {

constexpr size_t kMostFindingsOfRule = 50;
constexpr size_t kMostWorkers = 8;
constexpr size_t kMostNames = 24;        // of a list, as a collection's tensors
constexpr size_t kMostCharacters = 300;  // of a name or sentence

// Curves: so many charts, values read, and points drawn of a line.
constexpr size_t kMostCharts = 40;
constexpr size_t kMostLines = 16;  // of a chart
constexpr size_t kMostCurveReads = 60'000;
constexpr size_t kMostPoints = 400;

// Statistics of layers: so many tensors, steps, and numbers; and bytes of values to compute them
// of.
constexpr size_t kMostLayers = 300;
constexpr size_t kMostColumns = 160;
constexpr size_t kFewestColumns = 16;
constexpr size_t kMostNumbers = 150'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

// Histograms: so many tensors, steps, bins, and elements looked at.
constexpr size_t kMostHistograms = 12;
constexpr size_t kMostHistogramSteps = 28;
constexpr size_t kBins = 40;
constexpr size_t kMostElements = 20'000;

// What a booster learned.
constexpr size_t kMostFeatures = 25;
constexpr size_t kMostClasses = 20;
constexpr size_t kMostRocPoints = 200;
constexpr size_t kMostResiduals = 800;

}  // namespace smdebug::cli::report
