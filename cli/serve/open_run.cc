#include "serve/open_run.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "natural_order.h"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kMostCurveBytes = 8 << 20;  // the cached curves of one run
constexpr size_t kEntryBytes = 16;           // an index entry in the memory of a trial, about
constexpr std::chrono::seconds kBetweenInventories{2};

// The kind of a tensor whose collections do not tell it.
TensorKind KindByShape(const Trial &trial, const std::string &name) {
  try {
    const Tensor tensor = trial.Tensor(name);
    const std::vector<int64_t> steps = tensor.Steps();
    if (steps.empty()) return TensorKind::kOther;
    const std::vector<int64_t> shape = tensor.Shape(steps.front());
    const bool is_single =
        std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n == 1; });
    if (!is_single) return TensorKind::kLayer;
    const bool is_text = tensor.Value(steps.front()).DType() == DType::kString;
    return is_text ? TensorKind::kOther : TensorKind::kCurve;
  } catch (const Error &error) {
    // Statistics may be saved without shape and value.
    const bool is_absent =
        error.Code() == SMD_SHAPE_UNAVAILABLE || error.Code() == SMD_VALUE_UNAVAILABLE;
    return is_absent ? TensorKind::kLayer : TensorKind::kOther;
  }
}

TensorKind KindOf(const Trial &trial, const NamedTensor &tensor) {
  const std::optional<TensorKind> told = report::KindByCollections(tensor.collections);
  return told ? *told : KindByShape(trial, tensor.name);
}

// Returns the table of the steps up to the last that all workers have written.
std::shared_ptr<const StepTable> ReadSteps(const Trial &trial, const StepTable &known) {
  auto table = std::make_shared<StepTable>();
  table->has_ended = trial.HasEnded();
  if (table->has_ended) table->failure = trial.Failure();
  table->steps = trial.Steps();
  if (!table->has_ended) {
    const auto end =
        std::upper_bound(table->steps.begin(), table->steps.end(), trial.LastCompleteStep());
    table->steps.erase(end, table->steps.end());
  }
  const size_t count = table->steps.size();
  const size_t same = known.steps.size();
  const bool extends =
      same <= count && std::equal(known.steps.begin(), known.steps.end(), table->steps.begin());
  table->modes.reserve(count);
  if (extends) table->modes = known.modes;
  for (size_t i = table->modes.size(); i < count; ++i) {
    table->modes.push_back(static_cast<int8_t>(trial.ModeStep(table->steps[i]).second));
  }
  return table;
}

void AddModes(const StepTable &table, Points *points) {
  auto place = table.steps.begin();
  points->modes.reserve(points->steps.size());
  for (const int64_t step : points->steps) {
    // Most tensors with a curve have a point at each step.
    if (place != table.steps.end() && *place < step) ++place;
    if (place != table.steps.end() && *place != step) {
      place = std::lower_bound(place, table.steps.end(), step);
    }
    const bool is_known = place != table.steps.end() && *place == step;
    points->modes.push_back(
        is_known ? table.ModeAt(static_cast<size_t>(place - table.steps.begin())) : Mode::kGlobal);
  }
}

}  // namespace

void StepTable::ModesToJson(JsonWriter *json) const {
  std::map<Mode, int64_t> counts;
  for (const int8_t mode : modes) ++counts[static_cast<Mode>(mode)];
  json->BeginObject();
  for (const auto &[mode, count] : counts) json->Key(ModeName(mode)).Whole(count);
  json->EndObject();
}

OpenRun::OpenRun(std::string id, std::string name, const std::string &path,
                 const TrialArguments &arguments, const RuleChoice &rules)
    : id_(std::move(id)),
      name_(std::move(name)),
      arguments_(arguments),
      is_remote_(!IsLocal(path)),
      trial_(arguments.Open(path)),
      judge_(rules) {
  steps_ = ReadSteps(trial_, *steps_);
}

void OpenRun::Refresh(std::chrono::milliseconds least) {
  const std::lock_guard refreshing(refresh_mutex_);
  const Clock::time_point now = Clock::now();
  if (now - refreshed_ < least) return;
  refreshed_ = now;
  const std::shared_ptr<const StepTable> known = Steps();
  if (known->has_ended) return;
  arguments_.Refresh(trial_);
  const bool has_news = trial_.HasEnded() || trial_.LastCompleteStep() != known->Last();
  if (!has_news) return;
  std::shared_ptr<const StepTable> table = ReadSteps(trial_, *known);
  const std::lock_guard lock(mutex_);
  steps_ = std::move(table);
}

std::shared_ptr<const StepTable> OpenRun::Steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

// Returns NULL if they must be read.
std::shared_ptr<const Inventory> OpenRun::FreshTensors() {
  const std::lock_guard lock(mutex_);
  const Extent of = {steps_->Last(), steps_->has_ended};
  if (!tensors_ || inventory_of_ == of) return tensors_;
  // A page asks because it heard of more tensors.
  const bool is_recent =
      Clock::now() - inventory_taken_ < kBetweenInventories && tensors_->size() >= tensor_count_;
  return is_recent && !of.second ? tensors_ : nullptr;
}

std::shared_ptr<const Inventory> OpenRun::Tensors() {
  if (auto tensors = FreshTensors()) return tensors;
  const std::lock_guard taking(inventory_mutex_);
  if (auto tensors = FreshTensors()) return tensors;
  const std::shared_ptr<const StepTable> steps = Steps();
  auto taken = std::make_shared<const Inventory>(TakeInventory());
  const std::lock_guard lock(mutex_);
  tensors_ = std::move(taken);
  inventory_taken_ = Clock::now();
  inventory_of_ = {steps->Last(), steps->has_ended};
  return tensors_;
}

size_t OpenRun::CountTensors() {
  Extent of;
  {
    const std::lock_guard lock(mutex_);
    of = {steps_->Last(), steps_->has_ended};
    const bool is_recent = Clock::now() - counted_ < kBetweenInventories;
    if (count_of_ == of || (is_recent && !of.second)) return tensor_count_;
  }
  const size_t count = trial_.TensorNames().size();
  const std::lock_guard lock(mutex_);
  tensor_count_ = count;
  counted_ = Clock::now();
  count_of_ = of;
  return count;
}

Inventory OpenRun::TakeInventory() const {
  std::map<std::string, std::vector<std::string>> collections;
  for (const std::string &name : trial_.Collections()) {
    if (name == "all" || name == "default") continue;
    const Collection collection = trial_.Collection(name);
    Trial::Names wanted;
    wanted.collection = &collection;
    for (const std::string &tensor : trial_.TensorNames(wanted))
      collections[tensor].push_back(name);
  }
  std::map<std::string, TensorKind> known;
  {
    const std::lock_guard lock(mutex_);
    if (tensors_) {
      for (const NamedTensor &tensor : *tensors_) known[tensor.name] = tensor.kind;
    }
  }
  const std::vector<std::string> names = trial_.TensorNames();
  Inventory inventory;
  inventory.reserve(names.size());
  for (const std::string &name : names) {
    NamedTensor tensor{name, TensorKind::kOther, collections[name]};
    const auto found = known.find(name);
    tensor.kind = found == known.end() ? KindOf(trial_, tensor) : found->second;
    inventory.push_back(std::move(tensor));
  }
  std::stable_sort(inventory.begin(), inventory.end(),
                   [](const auto &a, const auto &b) { return NaturalLess(a.name, b.name); });
  return inventory;
}

Points OpenRun::Read(const CurveKey &key, int64_t first, int64_t end) {
  const std::shared_ptr<const StepTable> steps = Steps();
  const int64_t until = steps->Last();
  const std::lock_guard lock(curves_mutex_);
  KeptCurve &kept = curves_[key];
  kept.used = ++uses_;
  try {
    if (until >= 0 && until < std::numeric_limits<int64_t>::max()) {
      Extend(trial_, key, until + 1, &kept.curve);
    }
  } catch (...) {
    curves_.erase(key);
    throw;
  }
  Points points = Cut(kept.curve, first, std::min(end, until + 1));
  AddModes(*steps, &points);
  size_t bytes = 0;
  for (const auto &[ignored, each] : curves_) bytes += each.curve.Bytes();
  while (bytes > kMostCurveBytes && curves_.size() > 1) {
    const auto oldest = std::min_element(
        curves_.begin(), curves_.end(),
        [](const auto &a, const auto &b) { return a.second.used < b.second.used; });
    bytes -= oldest->second.curve.Bytes();
    curves_.erase(oldest);
  }
  return points;
}

size_t OpenRun::Bytes() const {
  const std::shared_ptr<const StepTable> steps = Steps();
  size_t tensors = 0;
  {
    const std::lock_guard lock(mutex_);
    tensors = tensors_ ? tensors_->size() : 1;
  }
  return steps->steps.size() * std::max<size_t>(tensors, 1) * kEntryBytes;
}

}  // namespace smdebug::cli::serve
