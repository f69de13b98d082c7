#include "histograms.h"

#include <algorithm>
#include <cmath>

#include "damage.h"
#include "elements.h"
#include "limits.h"
#include "progress.h"
#include "sampling.h"
#include "saved.h"

namespace smdebug::cli::report {
namespace {

// The finite elements of a step, at most kMostElements.
struct Sample {
  int64_t step;
  std::vector<double> elements;
  size_t odd = 0;
};

Sample TakeSample(const Value &value, int64_t step) {
  Sample sample{step, {}, 0};
  const ElementReader reader(value);
  for (const size_t place : EvenPlaces(reader.Size(), kMostElements)) {
    const auto element = static_cast<double>(reader.Number(place));
    if (std::isfinite(element)) {
      sample.elements.push_back(element);
    } else {
      ++sample.odd;
    }
  }
  return sample;
}

double Quantile(std::vector<double> *elements, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(elements->size() - 1));
  std::nth_element(elements->begin(), elements->begin() + place, elements->end());
  return (*elements)[static_cast<size_t>(place)];
}

// A scale that shows both small and large elements: linear around 0, and logarithmic away from 0 if
// the elements span orders of magnitude.
class Scale {
 public:
  explicit Scale(const std::vector<Sample> &samples) {
    std::vector<double> all;
    std::vector<double> sizes;
    for (const Sample &sample : samples) {
      all.insert(all.end(), sample.elements.begin(), sample.elements.end());
    }
    if (all.empty()) return;
    for (const double element : all) {
      if (element != 0) sizes.push_back(std::abs(element));
    }
    constexpr double kOutliers = 0.0005;
    least_ = Quantile(&all, kOutliers);
    most_ = Quantile(&all, 1 - kOutliers);
    if (least_ == most_) Widen();
    constexpr double kManySizes = 100;
    const double small = sizes.empty() ? 0 : Quantile(&sizes, 0.1);
    const double large = std::max(std::abs(least_), std::abs(most_));
    if (small > 0 && large / small > kManySizes) unit_ = small;
    PlaceBins();
  }

  std::vector<MaybeNumber> Edges() const {
    std::vector<MaybeNumber> edges;
    for (size_t i = 0; i <= kBins; ++i) {
      edges.emplace_back(FromScale(first_ + width_ * static_cast<double>(i)));
    }
    return edges;
  }

  size_t BinOf(double element) const {
    return static_cast<size_t>(std::clamp((ToScale(element) - first_) / width_, 0.0, kBins - 1.0));
  }

  double Unit() const { return unit_; }

 private:
  void Widen() {
    const double margin = least_ == 0 ? 1 : std::abs(least_) / 10;
    least_ -= margin;
    most_ += margin;
  }
  // If 0 is in the range, it is in the middle of a bin, where the bin's peak is drawn.
  void PlaceBins() {
    first_ = ToScale(least_);
    const double last = ToScale(most_);
    width_ = (last - first_) / kBins;
    if (least_ > 0 || most_ < 0) return;
    width_ = (last - first_) / (kBins - 1);
    first_ = -(std::floor(-first_ / width_ + 0.5) + 0.5) * width_;
  }
  double ToScale(double x) const { return unit_ == 0 ? x : std::asinh(x / unit_); }
  double FromScale(double y) const { return unit_ == 0 ? y : std::sinh(y) * unit_; }

  double least_ = 0;
  double most_ = 1;
  double unit_ = 0;   // linear below this; 0: linear everywhere
  double first_ = 0;  // on the scale: the first edge, and the width of a bin
  double width_ = 1.0 / kBins;
};

Histograms Count(const std::string &tensor, const std::vector<Sample> &samples) {
  Histograms histograms{tensor, 0, {}, 0, {}};
  const Scale scale(samples);
  histograms.edges = scale.Edges();
  histograms.unit = scale.Unit();
  for (const Sample &sample : samples) {
    Histograms::Row row{sample.step, std::vector<size_t>(kBins), sample.odd};
    for (const double element : sample.elements) ++row.counts[scale.BinOf(element)];
    histograms.elements = std::max(histograms.elements, sample.elements.size() + sample.odd);
    histograms.rows.push_back(std::move(row));
  }
  return histograms;
}

void MarkFindings(const RuleReport &report, Histograms *histograms) {
  for (Histograms::Row &row : histograms->rows) {
    row.is_found = report.HasFinding(histograms->tensor, row.step);
  }
}

// Returns the culprits and an even selection of the rest.
std::vector<const RecordedTensor *> Choose(const Inventory &inventory,
                                           const std::vector<std::string> &culprits) {
  std::vector<const RecordedTensor *> chosen;
  std::vector<const RecordedTensor *> others;
  const auto has_histogram = [](const RecordedTensor &recorded) {
    return recorded.kind == Kind::kLayer && recorded.has_values;
  };
  for (const std::string &name : culprits) {
    const RecordedTensor *const recorded = inventory.Find(name);
    const bool is_wanted = recorded != nullptr && has_histogram(*recorded);
    if (is_wanted && chosen.size() < kMostHistograms / 2) chosen.push_back(recorded);
  }
  for (const RecordedTensor &recorded : inventory.tensors) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), &recorded) != chosen.end();
    if (has_histogram(recorded) && !is_chosen) others.push_back(&recorded);
  }
  for (const size_t place : EvenPlaces(others.size(), kMostHistograms - chosen.size())) {
    chosen.push_back(others[place]);
  }
  return chosen;
}

size_t CountSteps(const RecordedTensor &recorded) {
  const uint64_t bytes = std::max<uint64_t>(recorded.bytes, 1) * kMostHistograms;
  return std::clamp<size_t>(kMostBytes / bytes, 4, kMostHistogramSteps);
}

}  // namespace

std::vector<Histograms> ReadHistograms(const Trial &trial, const Inventory &inventory,
                                       const RuleReport &report, Problems *problems) {
  const auto tensors = Choose(inventory, report.CulpritTensors());
  const std::vector<int64_t> culprits = report.CulpritSteps();
  std::vector<Histograms> all;
  Progress progress("Reading histograms", tensors.size());
  for (const RecordedTensor *recorded : tensors) {
    const auto steps = SampleSteps(recorded->steps, CountSteps(*recorded), culprits);
    Fetch(trial, recorded->name, steps);
    std::vector<Sample> samples;
    for (const int64_t step : steps) {
      problems->Try([&] { samples.push_back(TakeSample(recorded->tensor.Value(step), step)); });
    }
    if (!samples.empty()) {
      all.push_back(Count(recorded->name, samples));
      MarkFindings(report, &all.back());
    }
    progress.Advance();
  }
  return all;
}

std::optional<Histograms> ReadHistogramsOf(const Tensor &tensor, const std::string &worker,
                                           const std::vector<int64_t> &steps) {
  std::vector<Sample> samples;
  for (const int64_t step : steps) {
    try {
      samples.push_back(TakeSample(tensor.Value(step, Mode::kGlobal, worker), step));
    } catch (const Error &error) {
      if (!Damage::IsOfTrial(error)) throw;
    }
  }
  if (samples.empty()) return std::nullopt;
  return Count(tensor.Name(), samples);
}

void ToJson(const Histograms &histograms, JsonWriter *json) {
  json->BeginObject().Key("tensor").Text(Brief(histograms.tensor));
  json->Key("elements").Whole(static_cast<int64_t>(histograms.elements));
  AddNumbers(histograms.edges, &json->Key("edges"));
  AddNumber(histograms.unit, &json->Key("unit"));
  json->Key("rows").BeginArray();
  for (const Histograms::Row &row : histograms.rows) {
    json->BeginObject().Key("step").Whole(row.step);
    json->Key("odd").Whole(static_cast<int64_t>(row.odd));
    json->Key("is_found").Bool(row.is_found);
    AddCounts(row.counts, &json->Key("counts"));
    json->EndObject();
  }
  json->EndArray().EndObject();
}

void ToJson(const std::vector<Histograms> &all, JsonWriter *json) {
  json->BeginArray();
  for (const Histograms &histograms : all) ToJson(histograms, json);
  json->EndArray();
}

}  // namespace smdebug::cli::report
