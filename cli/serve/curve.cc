#include "serve/curve.h"

#include <algorithm>
#include <cmath>

#include "numbers.h"
#include "saved.h"

namespace smdebug::cli::serve {
namespace {

constexpr std::ptrdiff_t kStepsAtOnce = 8192;

// Appends the values from `index` on that form one array.  Returns their number.
size_t AppendRun(const Values &values, size_t index, Curve *curve) {
  const Value value = values.Value(index);
  const size_t count = values.Run(index);
  const auto append = [&](const auto *numbers) {
    for (size_t i = 0; i < count; ++i) {
      curve->steps.push_back(values.Step(index + i));
      curve->values.push_back(static_cast<double>(numbers[i]));
    }
  };
  switch (value.DType()) {
    case DType::kFloat32: append(static_cast<const float *>(value.Data())); return count;
    case DType::kFloat64: append(static_cast<const double *>(value.Data())); return count;
    default: break;
  }
  const double number = value.ToDouble();
  curve->steps.push_back(values.Step(index));
  curve->values.push_back(number);
  return 1;
}

void Append(const Values &values, Curve *curve) {
  for (size_t i = 0; i < values.Count();) {
    try {
      i += AppendRun(values, i, curve);
    } catch (const Error &) {
      ++i;  // this worker saved nothing, or it is damaged: `smdebug verify` tells
    }
  }
}

}  // namespace

void Extend(const Trial &trial, const CurveKey &key, int64_t end, Curve *curve) {
  if (curve->end >= end) return;
  const Tensor tensor = trial.Tensor(key.tensor);
  const Reduction reduction = ReductionOf(key.measure);
  // Numbers of steps may be far apart, so those that are there are counted.
  const bool may_be_many = end - curve->end > kStepsAtOnce;
  const std::vector<int64_t> steps =
      may_be_many ? tensor.Steps(Mode::kGlobal) : std::vector<int64_t>();
  auto next = std::lower_bound(steps.begin(), steps.end(), curve->end);
  while (curve->end < end) {
    next += std::min(kStepsAtOnce, steps.end() - next);
    const int64_t until = next == steps.end() ? end : std::min(end, *next);
    Append(tensor.ReductionValues(reduction.name, reduction.is_absolute, curve->end, until,
                                  Mode::kGlobal, key.worker),
           curve);
    curve->end = until;
  }
}

Points Cut(const Curve &curve, int64_t first, int64_t end) {
  const auto begin = std::lower_bound(curve.steps.begin(), curve.steps.end(), first);
  const auto stop = std::lower_bound(begin, curve.steps.end(), end);
  const auto from = begin - curve.steps.begin();
  const auto to = stop - curve.steps.begin();
  return {{begin, stop}, {curve.values.begin() + from, curve.values.begin() + to}};
}

void Smooth(double weight, Points *points) {
  double sum = 0;
  double weights = 0;
  for (double &value : points->values) {
    if (!std::isfinite(value)) continue;
    sum = sum * weight + value;
    weights = weights * weight + 1;
    value = sum / weights;
  }
}

Points Thin(const Points &points, int64_t first, int64_t end, int64_t pixels) {
  const size_t count = points.steps.size();
  if (count <= static_cast<size_t>(pixels) * 4 || end <= first) return points;
  const double width = static_cast<double>(end) - static_cast<double>(first);
  const auto column = [&](size_t i) {
    const double at = static_cast<double>(points.steps[i]) - static_cast<double>(first);
    return static_cast<int64_t>(at / width * static_cast<double>(pixels));
  };
  Points kept;
  for (size_t begin = 0; begin < count;) {
    size_t stop = begin;
    size_t least = begin;
    size_t most = begin;
    size_t odd = count;
    for (const int64_t here = column(begin); stop < count && column(stop) == here; ++stop) {
      const double value = points.values[stop];
      if (!std::isfinite(value)) odd = std::min(odd, stop);
      if (!(value >= points.values[least]) && std::isfinite(value)) least = stop;
      if (!(value <= points.values[most]) && std::isfinite(value)) most = stop;
    }
    std::vector<size_t> places = {begin, least, most, odd, stop - 1};
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const size_t place : places) {
      if (place == count) continue;
      kept.steps.push_back(points.steps[place]);
      kept.values.push_back(points.values[place]);
    }
    begin = stop;
  }
  return kept;
}

void NumberToJson(double number, JsonWriter *json) {
  const bool fits = !std::isfinite(number) || std::abs(number) <= 3.4e38;
  json->Raw(fits ? JsonNumber(static_cast<float>(number)) : JsonNumber(number));
}

void ToJson(const Points &points, JsonWriter *json) {
  json->BeginObject().Key("steps").Wholes(points.steps).Key("values").BeginArray();
  for (const double value : points.values) NumberToJson(value, json);
  json->EndArray();
  if (!points.modes.empty()) {
    std::string letters;
    for (const Mode mode : points.modes) letters += *ModeName(mode);
    json->Key("modes").Text(letters);
  }
  json->EndObject();
}

}  // namespace smdebug::cli::serve
