// How many of a layer's neurons do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/channels.h"
#include "rules/parameters.h"
#include "rules/tensor_states.h"

namespace smdebug::rules {

// A neuron is active in a sample if its number is in the range, the ends not being of it.
// An end that is not a number does not bind.
struct ActiveRange {
  double low;
  double high;
};

// What `threshold_inactivity` and the parameters below say.
struct ActivityOptions {
  double threshold_inactivity;  // a neuron with less activity is inactive; in %
  double threshold_layer;       // a layer with more inactive neurons has failed; in %
  int64_t window;               // the most steps that are taken together
  int64_t least_samples;        // fewer steps do if they have so many samples
  bool is_by_channel;           // all positions of a channel are one neuron
  int64_t channel_axis;         // from the end if negative
  int64_t sample;               // the most elements of a tensor to look at, or 0

  static Result<ActivityOptions> From(const Parameters &parameters);
};

inline constexpr std::string_view kInactivityMeaning =
    "the percentage of samples below which a neuron counts as inactive";
inline constexpr ParameterSpec kThresholdLayer = {
    "threshold_layer", "50.0", "75.0", "the most inactive neurons of a layer, in percent"};
inline constexpr ParameterSpec kWindow = {"window", "1", "20",
                                          "the most steps whose samples are taken together"};
inline constexpr ParameterSpec kLeastSamples = {"least_samples", "1", "100",
                                                "samples that are enough without further steps"};
inline constexpr ParameterSpec kUnit = {
    "unit", "position", "position",
    "what a neuron is: position (of a sample) or channel (all positions of it)"};
inline constexpr ParameterSpec kChannelAxis = {"channel", "1", "1",
                                               "the axis of channels, from the end if negative"};
inline constexpr ParameterSpec kActivitySample = {
    "sample", "0", "16384", "the most elements of a tensor to look at, spread evenly; 0 for all"};

// Counts the activity of each tensor's neurons over steps.
class NeuronActivity {
 public:
  explicit NeuronActivity(const ActivityOptions &options) : options_(options) {}

  // The percentage of inactive neurons once the samples are enough, which begins anew then.
  // Not a number is active: that a layer has those is another fault.
  std::optional<double> InactiveShare(const Sample &sample, const ActiveRange &range);

  const ActivityOptions &Options() const { return options_; }

 private:
  struct Counts {
    std::vector<uint32_t> active;  // samples, a neuron each
    int64_t samples = 0;
    int64_t steps = 0;
  };

  std::optional<Channels> NeuronsOf(const tensor::View &view) const;
  double ShareOfInactive(const Counts &counts) const;

  const ActivityOptions options_;
  TensorStates<Counts> counts_;
};

}  // namespace smdebug::rules
