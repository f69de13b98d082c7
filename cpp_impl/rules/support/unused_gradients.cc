#include "rules/support/unused_gradients.h"

namespace smdebug::rules {
namespace {

// Returns "gradient/params/dense" for "gradient/params/dense/kernel".
std::string_view LayerOf(std::string_view gradient) {
  const size_t end = gradient.find_last_of("./");
  return gradient.substr(0, end == std::string_view::npos ? 0 : end);
}

}  // namespace

void UnusedGradients::Note(std::string_view gradient, bool is_weight, bool is_zero) {
  const auto known = gradients_.find(gradient);
  if (known == gradients_.end() && gradients_.size() >= kMostGradients) return;
  if (known != gradients_.end() && (is_zero || !known->second.is_zero)) return;
  Layer &layer = layers_[std::string(LayerOf(gradient))];
  Count(layer, -1);
  if (known != gradients_.end()) {
    --layer.zero;
    layer.zero_weights -= known->second.is_weight ? 1 : 0;
  }
  (is_zero ? layer.zero : layer.others) += 1;
  layer.zero_weights += is_zero && is_weight ? 1 : 0;
  Count(layer, 1);
  gradients_.insert_or_assign(std::string(gradient), Gradient{is_weight, is_zero});
}

void UnusedGradients::Count(const Layer &layer, int64_t sign) {
  zero_layers_ += layer.IsZero() ? sign : 0;
  layers_after_dead_units_ += layer.IsAfterDeadUnits() ? sign : 0;
}

const UnusedGradients::Layer *UnusedGradients::LayerWithout(std::string_view gradient) const {
  const auto layer = layers_.find(LayerOf(gradient));
  return layer != layers_.end() && layer->second.IsZero() ? &layer->second : nullptr;
}

bool UnusedGradients::IsOneOf(std::string_view gradient) const {
  return LayerWithout(gradient) != nullptr && layers_after_dead_units_ == 0 &&
         2 * zero_layers_ < CountLayers();
}

bool UnusedGradients::IsDead(std::string_view gradient) const {
  return LayerWithout(gradient) != nullptr && layers_after_dead_units_ > 0;
}

bool UnusedGradients::IsCutOff(std::string_view gradient) const {
  const Layer *layer = LayerWithout(gradient);
  const bool is_large = 2 * zero_layers_ >= CountLayers() && zero_layers_ < CountLayers();
  // Without a bias, a layer after dead units has no gradient either.
  return layer != nullptr && layers_after_dead_units_ == 0 && is_large && layer->zero > 1;
}

}  // namespace smdebug::rules
