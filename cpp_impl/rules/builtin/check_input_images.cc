// Finds input images that are not normalised.
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/channels.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Options {
  double threshold_mean;
  std::optional<double> threshold_std;
  std::optional<double> max_abs;
  int64_t threshold_samples;
  std::optional<int64_t> channel;  // nothing: detect the axis
  size_t least_rank;
  int64_t sample;
};

// Accumulates the pixels of one channel over all images so far.
struct Pixels {
  double sum = 0;
  double squares = 0;
  double count = 0;
  double largest = 0;  // absolute value

  void Add(double pixel) {
    sum += pixel;
    squares += pixel * pixel;
    largest = std::max(largest, std::fabs(pixel));
    ++count;
  }
  // Keeps several independent sums, so that no addition waits for the previous one.
  template <class T>
  void Add(const T *numbers, size_t size) {
    constexpr size_t kLanes = 8;
    double sums[kLanes] = {};
    double squared[kLanes] = {};
    double most[kLanes] = {};
    const auto add = [&](size_t i, size_t lane) {
      const auto pixel = static_cast<double>(numbers[i]);
      sums[lane] += pixel;
      squared[lane] += pixel * pixel;
      most[lane] = std::max(most[lane], std::fabs(pixel));
    };
    // With a fixed number of lanes, the sums stay in registers.
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
    }
    for (size_t lane = 0; i < size; ++i, ++lane) add(i, lane);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      sum += sums[lane];
      squares += squared[lane];
      largest = std::max(largest, most[lane]);
    }
    count += static_cast<double>(size);
  }
  double Mean() const { return sum / count; }
  double Std() const { return std::sqrt(std::max(0.0, squares / count - Mean() * Mean())); }
};

// Whether a batch normalisation follows the first layer: then it matters little how the images are
// scaled.
enum Role : size_t { kImages, kNormalisedLater };

class CheckInputImages final : public Rule {
 public:
  CheckInputImages(Selector selector, const Options &options)
      : Rule("CheckInputImages"), selector_(std::move(selector)), options_(options) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (!selector_.Matches(tensor, membership)) return {};
    if (!options_.max_abs) return kImages;
    if (IsInputOfLoss(tensor, membership)) return {};
    // The model's first layer may do it.
    if (membership.IsIn("normalised_inputs", tensor)) return {};
    return membership.IsIn("normalised_first_outputs", tensor) ? kNormalisedLater : kImages;
  }

  void Observe(const Sample &sample, Findings &) override {
    const tensor::View *images = sample.RealElements();
    if (images == nullptr || images->shape.size() < options_.least_rank) return;
    const std::optional<Channels> channels = ChannelsOf(*images);
    if (!channels || images->ElementCount() == 0) return;
    State &state = states_.Of(sample);
    const auto known = static_cast<size_t>(channels->channels);
    if (state.channels.size() != known) state = {std::vector<Pixels>(known), 0};
    Add(*images, *channels, &state);
    state.images += images->shape[0];
    if (state.images < options_.threshold_samples) return;
    NoteEvaluated();
    for (size_t channel = 0; channel < known; ++channel) {
      Evaluate(sample, state.channels[channel], channel, state.images);
    }
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat(options_.threshold_samples, " images with their elements");
  }

 private:
  struct State {
    std::vector<Pixels> channels;
    int64_t images = 0;
  };

  // An image batch with fewer than four axes has one channel.
  std::optional<Channels> ChannelsOf(const tensor::View &images) const {
    constexpr int64_t kMostOfColour = 4;
    const auto rank = static_cast<int64_t>(images.shape.size());
    if (rank < 4) return Channels{1, 1, images.ElementCount()};
    int64_t axis = options_.channel.value_or(1);
    if (!options_.channel && images.shape[1] > kMostOfColour &&
        images.shape.back() <= kMostOfColour) {
      axis = -1;
    }
    if (axis < 0) axis += rank;
    if (axis < 1 || axis >= rank) return std::nullopt;
    return Channels::Along(images.shape, static_cast<size_t>(axis));
  }

  void Add(const tensor::View &images, const Channels &channels, State *state) const {
    ForEachChannelRun(images, channels, options_.sample,
                      [&](int64_t channel, int64_t step, const auto *numbers, size_t count) {
                        Pixels *pixels = &state->channels[static_cast<size_t>(channel)];
                        if (step == 0) return pixels->Add(numbers, count);
                        for (size_t i = 0; i < count; ++i) pixels[i].Add(numbers[i]);
                      });
  }

  void Evaluate(const Sample &sample, const Pixels &pixels, size_t channel, int64_t images) {
    const auto offer = [&](double badness, double value, double limit, std::string_view check,
                           std::string_view what, Level level = Level::kFinding) {
      if (!(badness > limit)) return;
      if (sample.Role() == kNormalisedLater) level = Level::kWorthALook;
      culprits_.Offer(sample, {badness, value, limit, check, level}, [&] {
        return StrCat("channel ", channel, " of the images '", sample.Tensor(), "' has ", what,
                      " of ", Shortest(value), " over ", images, " images; the limit is ",
                      Shortest(limit));
      });
    };
    const double mean = pixels.Mean();
    // Many trainings do well with images that are scaled and no more, from 0 or -1 to 1, or
    // normalised by the statistics of others: by those of ImageNet, black images have a mean of
    // -2.1.
    constexpr double kMostOfOthers = 2.5;
    const bool is_scaled = options_.max_abs && pixels.largest <= 1;
    const bool is_of_others = options_.max_abs && std::fabs(mean) <= kMostOfOthers;
    offer(is_scaled ? 0 : std::fabs(mean), mean, options_.threshold_mean, "mean", "a mean",
          is_of_others ? Level::kWorthALook : Level::kFinding);
    if (options_.threshold_std) {
      const double std = pixels.Std();
      offer(std::fabs(std - 1), std, *options_.threshold_std, "std", "a standard deviation");
    }
    if (options_.max_abs) {
      // Pictures that are no photographs, as logarithms of a spectrum, may have larger pixels.
      const bool is_little = pixels.largest <= kMostOfOthers * *options_.max_abs;
      offer(pixels.largest, pixels.largest, *options_.max_abs, "range", "an absolute value",
            is_little ? Level::kWorthALook : Level::kFinding);
    }
  }

  const Selector selector_;
  const Options options_;
  SampleStates<State> states_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"threshold_mean", "0.2", "0.2", "maximum absolute value of a channel's mean"},
    {"threshold_samples", "500", "500", "number of images to read before an evaluation"},
    {"threshold_std", "", "", "maximum distance of a channel's standard deviation from 1"},
    {"max_abs", "", "8",
     "maximum absolute value of a normalised pixel; up to 2.5 times that is worth a look; with it, "
     "means of images between -1 and 1 are fine, and others up to 2.5 worth a look"},
    {"regex", kModelInputs, kModelInputs,
     "expressions found in the names of images, separated by commas; the default matches the "
     "inputs of models in MXNet, PyTorch and Keras, adds the collection input_image, and skips "
     "tensors with fewer than four axes"},
    {"channel", "1", "auto",
     "axis of channels, from the end if negative; auto: the second or the last axis, whichever has "
     "up to four channels"},
    {"sample", "0", "16384", "maximum number of pixels to read per step, spread evenly; 0 for all"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Options options{};
  SMD_ASSIGN_OR_RETURN(options.threshold_mean, parameters.Number("threshold_mean", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(options.threshold_samples,
                       parameters.Whole("threshold_samples", 1, int64_t{1} << 40));
  SMD_ASSIGN_OR_RETURN(options.threshold_std, parameters.OptionalNumber("threshold_std"));
  SMD_ASSIGN_OR_RETURN(options.max_abs, parameters.OptionalNumber("max_abs"));
  if (parameters.Text("channel") != "auto") {
    SMD_ASSIGN_OR_RETURN(options.channel,
                         parameters.Whole("channel", -tensor::kMaxRank, tensor::kMaxRank));
  }
  options.least_rank = parameters.IsGiven("regex") ? 2 : 4;
  SMD_ASSIGN_OR_RETURN(options.sample, parameters.Whole("sample", 0, int64_t{1} << 40));
  SMD_ASSIGN_OR_RETURN(Selector selector, TensorsByRole(parameters, "regex", {"input_image"}));
  return std::unique_ptr<Rule>(std::make_unique<CheckInputImages>(std::move(selector), options));
}

}  // namespace

const RuleSpec kCheckInputImages = {
    "CheckInputImages", "the input images of a model are not normalised", kParameters, Make};

}  // namespace smdebug::rules
