#include "rules/support/tensor_names.h"

#include <gtest/gtest.h>

namespace smdebug::rules::tensor_names_test {
namespace {

TEST(TensorNamesTest, TheStateOfAnOptimiserIsNoWeight) {
  for (const char *name : {"exp_avg/fc.weight", "exp_avg_sq/fc.weight",
                           "optimizer_state/Net_fc.weight/exp_avg", "opt_state.0.mu.dense.weight",
                           "Net_fc.weight/momentum_buffer", "scalar/AdamW_weight_decay"}) {
    EXPECT_FALSE(IsMeantBy("weights", name)) << name;
  }
  for (const char *name : {"Net_fc.weight", "fc.weight", "optimizer_net.fc.weight",
                           "exp_avg_pool.weight", "Net_mu.weight", "conv0_weight"}) {
    EXPECT_TRUE(IsMeantBy("weights", name)) << name;
  }
  EXPECT_FALSE(IsMeantBy("biases", "exp_avg/fc.bias"));
  for (const char *name : {"adam/dense_2_bias_momentum:0", "SGD/m/dense/bias:0",
                           "rmsprop_3/dense_bias_velocity:0", "Adam/v/dense_1/bias:0"}) {
    EXPECT_FALSE(IsMeantBy("biases", name)) << name;
  }
  for (const char *name : {"adam/weights/adam/bias:0", "weights/lion/bias:0", "dense/bias:0",
                           "adam/bias", "adamant/bias:0"}) {
    EXPECT_TRUE(IsMeantBy("biases", name)) << name;
  }
}

TEST(TensorNamesTest, WhatAnOptimiserDoesIsNoWeight) {
  for (const char *name : {"update/Net_fc.weight", "weight_decay/Adam_0", "learning_rate/Adam_0"}) {
    EXPECT_FALSE(IsMeantBy("weights", name)) << name;
  }
  EXPECT_TRUE(IsMeantBy("weights", "Net_gru/update/weight"));
}

TEST(TensorNamesTest, AFactorOfALossIsNoLoss) {
  for (const char *name : {"loss_scale", "scalar/loss_scaler", "LossScaleOptimizer", "loss_weight",
                           "gradient/MyLoss_proxies"}) {
    EXPECT_FALSE(IsMeantBy("losses", name)) << name;
  }
  for (const char *name : {"loss", "val_loss", "CrossEntropyLoss_output_0", "scalar/train_loss"}) {
    EXPECT_TRUE(IsMeantBy("losses", name)) << name;
  }
}

TEST(TensorNamesTest, WhatAModuleGetsOrReturnsIsNoWeight) {
  for (const char *name :
       {"0.parametrizations.weight.0_output_0", "weight_net_input_12", "ema/fc.weight_output_0"}) {
    EXPECT_FALSE(IsMeantBy("weights", name)) << name;
  }
  EXPECT_FALSE(IsMeantBy("biases", "fc.bias_output_12"));
  for (const char *name : {"", "0", "_output_", "fc.weight", "Net_0.weight", "Net_output_0.weight",
                           "net/weights/0", "output_0"}) {
    EXPECT_TRUE(IsMeantBy("weights", name)) << name;
  }
}

TEST(TensorNamesTest, OtherCollectionsAreTakenAsTheyAre) {
  EXPECT_TRUE(IsMeantBy("moments", "exp_avg/fc.weight"));
  EXPECT_TRUE(IsMeantBy("gradients", "gradient/MyLoss_proxies"));
}

TEST(TensorNamesTest, AWeightAndItsGradientHaveOneName) {
  const char *const pairs[][2] = {{"Net_fc.weight", "gradient/Net_fc.weight"},
                                  {"conv0_weight", "gradient/conv0_weight"},
                                  {"dense/kernel:0", "gradients/dense/kernelGrad"},
                                  {"dense/weights/dense/kernel:0", "gradients/dense/kernelGrad"},
                                  {"gru/weights/gru/cell/bias:0", "gradients/gru/cell/biasGrad"},
                                  {"weights/dense/kernel:0", "gradients/dense/kernelGrad"},
                                  {"net/weights/0", "gradient/net/weights/0"},
                                  {"weights/fc", "gradient/weights/fc"}};
  for (const auto &[weight, gradient] : pairs) {
    EXPECT_EQ(AsInGradient(weight), WeightOfGradient(gradient)) << weight;
  }
  EXPECT_EQ(AsInGradient("layer:name.weight"), "layer:name.weight");
}

}  // namespace
}  // namespace smdebug::rules::tensor_names_test
