#include "rules/support/neuron_activity.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace smdebug::rules {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

// All elements of a tensor are read only when its sample looks wrong, and if they are this many.
constexpr int64_t kMostChecked = int64_t{1} << 22;

// The number of elements that a loop processes at once, so that the compiler vectorises it.
constexpr size_t kLanes = 16;

template <class T>
uint32_t IsActive(T number, T low, T high) {
  return static_cast<uint32_t>(!(number <= low)) & static_cast<uint32_t>(!(number >= high));
}

// `numbers` holds one number for each neuron.
template <class T>
void CountActive(const T *__restrict numbers, size_t count, T low, T high,
                 uint32_t *__restrict active) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      active[i + lane] += IsActive(numbers[i + lane], low, high);
    }
  }
  for (; i < count; ++i) active[i] += IsActive(numbers[i], low, high);
}

// All numbers belong to the same neuron.
template <class T>
uint32_t SumActive(const T *numbers, size_t count, T low, T high) {
  uint32_t sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) CountActive(numbers + i, kLanes, low, high, sums);
  CountActive(numbers + i, count - i, low, high, sums);
  return std::accumulate(std::begin(sums), std::end(sums), uint32_t{0});
}

}  // namespace

Result<ActivityOptions> ActivityOptions::From(const Parameters &parameters) {
  ActivityOptions options{};
  SMD_ASSIGN_OR_RETURN(options.threshold_inactivity,
                       parameters.Number("threshold_inactivity", 0, 100));
  SMD_ASSIGN_OR_RETURN(options.threshold_layer, parameters.Number("threshold_layer", 0, 100));
  SMD_ASSIGN_OR_RETURN(options.window, parameters.Whole("window", 1, kMost));
  SMD_ASSIGN_OR_RETURN(options.least_samples, parameters.Whole("least_samples", 1, kMost));
  const std::string unit = parameters.Text("unit");
  if (unit != "position" && unit != "channel") {
    return parameters.Refuse("unit must be position or channel");
  }
  options.is_by_channel = unit == "channel";
  SMD_ASSIGN_OR_RETURN(options.channel_axis,
                       parameters.Whole("channel", -tensor::kMaxRank, tensor::kMaxRank));
  SMD_ASSIGN_OR_RETURN(options.sample, parameters.Whole("sample", 0, kMost));
  return options;
}

std::optional<Channels> NeuronActivity::NeuronsOf(const tensor::View &view) const {
  const auto rank = static_cast<int64_t>(view.shape.size());
  if (rank == 0 || view.ElementCount() == 0) return std::nullopt;
  // A tensor with one axis holds samples of a single neuron.
  if (rank == 1) return Channels{view.shape[0], 1, 1};
  if (!options_.is_by_channel) return Channels::OfPositions(view.shape);
  const int64_t axis = options_.channel_axis + (options_.channel_axis < 0 ? rank : 0);
  if (axis < 0 || axis >= rank) return std::nullopt;
  return Channels::Along(view.shape, static_cast<size_t>(axis));
}

void NeuronActivity::Count(const tensor::View &view, const Channels &neurons, int64_t most,
                           const ActiveRange &range, Counts *counts) const {
  const int64_t seen = ChannelPlan::Make(neurons, most).seen.channels;
  if (counts->active.size() != static_cast<size_t>(seen)) {
    *counts = {std::vector<uint32_t>(static_cast<size_t>(seen)), 0, 0};
  }
  const SeenChannels now =
      ForEachChannelRun(view, neurons, most,
                        [&]<class T>(int64_t neuron, int64_t step, const T *numbers, size_t count) {
                          const auto low = static_cast<T>(range.low);
                          const auto high = static_cast<T>(range.high);
                          uint32_t *active = counts->active.data() + neuron;
                          if (step == 1) return CountActive(numbers, count, low, high, active);
                          *active += SumActive(numbers, count, low, high);
                        });
  counts->samples += now.elements_each;
  ++counts->steps;
}

std::optional<double> NeuronActivity::InactiveShare(const Sample &sample,
                                                    const ActiveRange &range) {
  const tensor::View *view = sample.RealElements();
  if (view == nullptr) return std::nullopt;
  const std::optional<Channels> neurons = NeuronsOf(*view);
  if (!neurons) return std::nullopt;
  Counts &counts = counts_.Of(sample);
  Count(*view, *neurons, options_.sample, range, &counts);
  if (counts.steps < options_.window && counts.samples < options_.least_samples) {
    return std::nullopt;
  }
  const double share = ShareOfInactive(std::exchange(counts, {}));
  const bool is_all = options_.sample <= 0 || view->ElementCount() <= options_.sample;
  if (is_all || !(share > options_.threshold_layer) || view->ElementCount() > kMostChecked) {
    return share;
  }
  // Neurons differ more than a sample of them shows.  What is inactive is so in this step, too.
  Counts of_step;
  Count(*view, *neurons, 0, range, &of_step);
  return std::min(share, ShareOfInactive(of_step));
}

double NeuronActivity::ShareOfInactive(const Counts &counts) const {
  const auto samples = static_cast<double>(counts.samples);
  const auto inactive =
      std::count_if(counts.active.begin(), counts.active.end(), [&](uint32_t active) {
        return 100 * static_cast<double>(active) / samples < options_.threshold_inactivity;
      });
  return 100 * static_cast<double>(inactive) / static_cast<double>(counts.active.size());
}

}  // namespace smdebug::rules
