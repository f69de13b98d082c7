#include "series.h"

#include <algorithm>
#include <cmath>

#include "elements.h"
#include "json_writer.h"
#include "numbers.h"
#include "progress.h"
#include "sparkline.h"
#include "text.h"

namespace smdebug::cli {
namespace {

constexpr size_t kWidestPicture = 60;

Series::Odd CountOdd(const Value &value) {
  Series::Odd odd;
  const ElementReader reader(value);
  const auto count = [&odd](long double number) {
    if (std::isnan(number)) ++odd.nans;
    if (std::isinf(number)) ++odd.infinities;
  };
  for (size_t i = 0; i < reader.Size(); ++i) {
    count(reader.Number(i));
    if (reader.AreComplex()) count(reader.Imaginary(i));
  }
  return odd;
}

// Returns true if an element may be non-finite.  Costs only one sum, which is finite only if all
// elements are.
bool HasOddElement(const Value &value) {
  if (value.DType() == DType::kString || value.Bytes() == 0) return false;
  return !std::isfinite(value.Reduce("sum", true).ToDouble());
}

std::optional<double> NumberOf(const Value &value, const std::string &reduction) {
  const auto [name, is_absolute] = ReductionOf(reduction);
  try {
    return value.Reduce(name, is_absolute).ToDouble();
  } catch (const Error &error) {
    // The value has no elements, or its elements are texts.
    if (error.Code() != SMD_INVALID_ARGUMENT && error.Code() != SMD_UNSUPPORTED) throw;
    return std::nullopt;
  }
}

}  // namespace

std::string NumberText(const std::optional<double> &number) {
  return number ? Short(*number) : "-";
}

Series::Series(const Trial &trial, const Tensor &tensor, Mode mode, std::string worker,
               std::vector<std::string> reductions)
    : trial_(trial),
      tensor_(tensor),
      mode_(mode),
      worker_(std::move(worker)),
      steps_(tensor.Steps(mode, true)),
      columns_(std::move(reductions)) {
  if (columns_.empty()) ChooseColumns();
}

void Series::ChooseColumns() {
  columns_ = {"min", "mean", "max", "std", "abs_mean"};
  for (const int64_t step : steps_) {
    Saved saved;
    try {
      saved = SavedAt(tensor_, step, mode_, worker_);
    } catch (const Error &error) {
      // The caller reads a damaged step again, and reports the damage then.
      if (error.Code() != SMD_WORKER_UNKNOWN && !Damage::Is(error)) throw;
      continue;
    }
    if (!saved.value) {
      if (!saved.reductions.empty()) columns_ = saved.reductions;
      return;
    }
    is_single_ = ElementReader(*saved.value).Size() == 1;
    are_texts_ = saved.value->DType() == DType::kString;
    if (is_single_) columns_ = {"value"};
    if (are_texts_) columns_.clear();
    return;
  }
}

std::vector<std::optional<double>> Series::NumbersOf(const Saved &saved, int64_t step) const {
  std::vector<std::optional<double>> numbers;
  for (const std::string &column : columns_) {
    if (column == "value") {
      const bool has_one = saved.value && ElementReader(*saved.value).Size() == 1;
      numbers.push_back(has_one ? std::optional(saved.value->ToDouble()) : std::nullopt);
    } else if (saved.value) {
      numbers.push_back(NumberOf(*saved.value, column));
    } else {
      numbers.push_back(NumberAt(tensor_, step, column, mode_, worker_));
    }
  }
  return numbers;
}

Series::Point Series::Read(int64_t step) const {
  Point point;
  point.step = step;
  const int64_t global = mode_ == Mode::kGlobal ? step : trial_.GlobalStep(step, mode_);
  std::tie(point.mode_step, point.mode) = trial_.ModeStep(global);
  point.saved = SavedAt(tensor_, step, mode_, worker_);
  point.worker = worker_.empty() ? tensor_.Workers(step, mode_).front() : worker_;
  point.numbers = NumbersOf(point.saved, step);
  if (!point.saved.value) return point;
  if (HasOddElement(*point.saved.value)) point.odd = CountOdd(*point.saved.value);
  const ElementReader reader(*point.saved.value);
  if (reader.AreTexts() && reader.Size() > 0) {
    point.text = reader.Text(0) + (reader.Size() > 1 ? " ..." : "");
  }
  return point;
}

std::vector<Series::Point> Series::ReadAll(const TrialArguments &arguments) const {
  Progress progress("Reading", steps_.size());
  std::vector<Point> points;
  for (size_t i = 0; i < steps_.size(); ++i) {
    FetchAhead(trial_, tensor_.Name(), steps_, i, mode_);
    try {
      arguments.Try(trial_, [&] {
        points.push_back(Read(steps_[i]));
        points.back().saved.value.reset();
      });
    } catch (const Error &error) {
      if (error.Code() != SMD_WORKER_UNKNOWN) throw;
    }
    progress.Advance();
  }
  return points;
}

std::string Series::WorkerText() const {
  const std::vector<std::string> workers = trial_.Workers();
  std::string text = workers.front();
  if (workers.size() > 1) text = "first of " + std::to_string(workers.size()) + " workers";
  if (!worker_.empty()) text = worker_;
  const auto placement = tensor_.Placement(worker_.empty() ? workers.front() : worker_);
  const bool is_part = placement && placement->part != placement->shape;
  return is_part ? text + ", a part of " + ShapeText(placement->shape) : text;
}

std::string Series::PlaceText(const Point &point) const {
  if (mode_ != Mode::kGlobal) {
    return std::string(ModeName(mode_)) + " step " + std::to_string(point.step);
  }
  return "step " + StepText(point.step, point.mode, point.mode_step);
}

std::vector<Table::Column> Series::Headings() const {
  std::vector<Table::Column> headings = {{"STEP", Table::Kind::kNumber}};
  if (mode_ == Mode::kGlobal) headings.push_back({"MODE", Table::Kind::kWord});
  for (std::string column : columns_) {
    for (char &letter : column) letter = static_cast<char>(std::toupper(letter));
    headings.push_back({column, Table::Kind::kNumber});
  }
  if (are_texts_) headings.push_back({"VALUE", Table::Kind::kText});
  headings.push_back({"", Table::Kind::kWord});
  return headings;
}

std::vector<std::string> Series::Row(const Point &point) const {
  std::vector<std::string> cells = {std::to_string(point.step)};
  if (mode_ == Mode::kGlobal) {
    cells.push_back(point.mode == Mode::kGlobal ? "-"
                                                : std::string(ModeName(point.mode)) + " " +
                                                      std::to_string(point.mode_step));
  }
  for (const auto &number : point.numbers) cells.push_back(NumberText(number));
  if (are_texts_) cells.push_back(point.text);
  std::vector<std::string> notes;
  if (point.odd.nans > 0) notes.push_back(std::to_string(point.odd.nans) + " nan");
  if (point.odd.infinities > 0) notes.push_back(std::to_string(point.odd.infinities) + " inf");
  cells.push_back(Join(notes, ", "));
  return cells;
}

std::string Series::ToJson(const Point &point, bool with_values) const {
  JsonWriter json;
  json.BeginObject().Key("tensor").Text(tensor_.Name());
  const int64_t global = mode_ == Mode::kGlobal ? point.step : trial_.GlobalStep(point.step, mode_);
  json.Key("step").Whole(global).Key("mode").Text(ModeName(point.mode));
  json.Key("mode_step").Whole(point.mode_step).Key("worker").Text(point.worker);
  json.Key("dtype");
  point.saved.dtype.empty() ? json.Null() : json.Text(point.saved.dtype);
  json.Key("shape");
  point.saved.shape ? json.Wholes(*point.saved.shape) : json.Null();
  for (size_t i = 0; i < columns_.size(); ++i) {
    json.Key(columns_[i]);
    point.numbers[i] ? json.Number(*point.numbers[i]) : json.Null();
  }
  if (are_texts_ && !with_values) json.Key("value").Text(point.text);
  json.Key("nan").Whole(static_cast<int64_t>(point.odd.nans));
  json.Key("inf").Whole(static_cast<int64_t>(point.odd.infinities));
  if (with_values) {
    json.Key("values");
    if (point.saved.value) {
      ElementsToJson(*point.saved.value, &json);
    } else {
      json.Null();
    }
  }
  return json.EndObject().Take();
}

void Series::PrintSparklines(const std::vector<Point> &points) const {
  size_t longest = 0;
  for (const std::string &column : columns_) longest = std::max(longest, column.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::vector<double> numbers;
    std::vector<double> finite;
    for (const Point &point : points) {
      numbers.push_back(point.numbers[i].value_or(std::nan("")));
      if (std::isfinite(numbers.back())) finite.push_back(numbers.back());
    }
    std::string range = "no number";
    if (!finite.empty()) {
      const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
      range = Short(*least) + " to " + Short(*most);
    }
    const size_t limit = Stdout().width > 0 ? Stdout().width : 80;
    constexpr size_t kRange = 34;  // room for the numbers next to it
    const size_t width = limit > longest + kRange ? limit - longest - kRange : 8;
    const Sparkline line = DrawSparkline(numbers, std::min(width, kWidestPicture));
    Print(Padded(columns_[i], longest) + "  " + line.picture + "  " + range +
          (line.is_logarithmic ? " (log)" : "") + "\n");
  }
}

}  // namespace smdebug::cli
