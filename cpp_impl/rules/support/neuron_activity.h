// Counts the inactive neurons of a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/support/channels.h"
#include "rules/support/parameters.h"
#include "rules/support/sample_states.h"

namespace smdebug::rules {

// A neuron is active in a sample if its number lies inside the range, ends excluded.  An end that
// is NaN sets no limit.
struct ActiveRange {
  double low;
  double high;
};

// Holds `threshold_inactivity` and the parameters below.
struct ActivityOptions {
  double threshold_inactivity;  // a neuron below this activity is inactive; in %
  double threshold_layer;       // a layer with more inactive neurons has failed; in %
  int64_t window;               // the most steps that are combined
  int64_t least_samples;        // fewer steps suffice if they have this many samples
  bool is_by_channel;           // all positions of a channel are one neuron
  int64_t channel_axis;         // from the end if negative
  int64_t sample;               // the most elements to read of a tensor; 0: all

  static Result<ActivityOptions> From(const Parameters &parameters);
};

inline constexpr std::string_view kInactivityMeaning =
    "percentage of active samples below which a neuron counts as inactive";
inline constexpr ParameterSpec kThresholdLayer = {
    "threshold_layer", "50.0", "75.0", "maximum percentage of inactive neurons in a layer"};
inline constexpr ParameterSpec kWindow = {"window", "1", "20",
                                          "maximum number of steps whose samples are combined"};
inline constexpr ParameterSpec kLeastSamples = {
    "least_samples", "1", "100", "number of samples that suffice without further steps"};
inline constexpr ParameterSpec kUnit = {
    "unit", "position", "position",
    "what counts as a neuron: a position of a sample, or a channel with all its positions"};
inline constexpr ParameterSpec kChannelAxis = {"channel", "1", "1",
                                               "axis of channels, from the end if negative"};
inline constexpr ParameterSpec kActivitySample = {
    "sample", "0", "16384",
    "maximum number of elements to read from a tensor, spread evenly; 0 for all"};

// Counts the activity of each tensor's neurons over steps.
class NeuronActivity {
 public:
  explicit NeuronActivity(const ActivityOptions &options) : options_(options) {}

  // Returns the percentage of inactive neurons once there are enough samples, then starts a new
  // count.  NaN counts as active: another rule reports NaN.
  std::optional<double> InactiveShare(const Sample &sample, const ActiveRange &range);

  const ActivityOptions &Options() const { return options_; }

 private:
  struct Counts {
    std::vector<uint32_t> active;  // active samples of each neuron
    int64_t samples = 0;
    int64_t steps = 0;
  };

  std::optional<Channels> NeuronsOf(const tensor::View &view) const;
  // Counts the tensor's samples, of `most` elements.
  void Count(const tensor::View &view, const Channels &neurons, int64_t most,
             const ActiveRange &range, Counts *counts) const;
  double ShareOfInactive(const Counts &counts) const;

  const ActivityOptions options_;
  SampleStates<Counts> counts_;
};

}  // namespace smdebug::rules
