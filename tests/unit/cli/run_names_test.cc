// How the tensors of two runs are matched, and the order of the computation.
#include "run_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::cli::run_names_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Keys(const std::vector<std::string> &recorded) {
  std::vector<std::string> keys;
  for (const RunTensor &each : RunTensorsOf(recorded)) keys.push_back(each.key);
  return keys;
}

RunTensor Only(const std::string &name) {
  const std::vector<RunTensor> tensors = RunTensorsOf({name});
  EXPECT_EQ(tensors.size(), 1U);
  return tensors.at(0);
}

TEST(RunNamesTest, AnEmptyRunHasNoTensors) { EXPECT_THAT(RunTensorsOf({}), IsEmpty()); }

TEST(RunNamesTest, WrappersAreRemovedWhereAPartOfTheNameBegins) {
  EXPECT_EQ(WithoutWrappers("module.fc.weight"), "fc.weight");
  EXPECT_EQ(WithoutWrappers("gradient/module._orig_mod.fc"), "gradient/fc");
  EXPECT_EQ(WithoutWrappers("_orig_mod.module.module.a._fsdp_wrapped_module.b"), "a.b");
  EXPECT_EQ(WithoutWrappers("submodule.fc"), "submodule.fc");
  EXPECT_EQ(WithoutWrappers("a_module.fc"), "a_module.fc");
  EXPECT_EQ(WithoutWrappers("fc.module"), "fc.module");
  EXPECT_EQ(WithoutWrappers("module."), "");
  EXPECT_EQ(WithoutWrappers(""), "");
}

TEST(RunNamesTest, LongAndStrangeNamesAreKept) {
  std::string wrapped;
  while (wrapped.size() < 64 * 1024) wrapped += "module.";
  EXPECT_EQ(WithoutWrappers(wrapped + "w"), "w");
  const std::string plain(64 * 1024, 'x');
  EXPECT_EQ(Only(plain + "_output_0").module, plain);
  const std::string nul("a\0b_output_0", 12);
  EXPECT_EQ(Only(nul).module, std::string("a\0b", 3));
  for (const char *odd : {"_output_0", "_input_", "gradient/", "optimizer_state/", "/", ".", "_",
                          "_output__input_7", "7", "a_output_18446744073709551616"}) {
    EXPECT_THAT(Only(odd).recorded, ElementsAre(odd));
    EXPECT_FALSE(CulpritOf(Only(odd)).empty()) << odd;
  }
}

TEST(RunNamesTest, NamesThatDifferByAPrefixStayApart) {
  EXPECT_THAT(Keys({"a_output_0", "ab_output_0", "a.b_output_0"}),
              ElementsAre("a_output_", "ab_output_", "a.b_output_"));
  EXPECT_THAT(Keys({"w", "gradient/w", "update/w", "optimizer_state/w/exp_avg"}),
              ElementsAre("w", "gradient/w", "update/w", "optimizer_state/w/exp_avg"));
}

TEST(RunNamesTest, TheClassIsRemovedOnlyIfAllParametersHaveIt) {
  EXPECT_THAT(Keys({"Net_fc.weight", "gradient/Net_fc.weight", "Net_output_0"}),
              ElementsAre("fc.weight", "_output_", "gradient/fc.weight"));
  EXPECT_THAT(Keys({"Net_fc.weight", "Nets_fc.weight"}),
              ElementsAre("Net_fc.weight", "Nets_fc.weight"));
  EXPECT_THAT(Keys({"Net_fc.weight", "fc.weight"}), ElementsAre("Net_fc.weight", "fc.weight"));
}

TEST(RunNamesTest, NumberedOutputsAreOneTensor) {
  const std::vector<RunTensor> tensors =
      RunTensorsOf({"fc_output_0", "fc_input_0", "fc_output_1", "fc_input_mask_0"});
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_THAT(tensors[0].recorded, ElementsAre("fc_output_0", "fc_output_1"));
  EXPECT_FALSE(tensors[0].is_input);
  EXPECT_TRUE(tensors[1].is_input);
  EXPECT_EQ(tensors[2].key, "fc_input_mask_");
}

TEST(RunNamesTest, AModuleMayBeCalledAsADirectionIs) {
  const RunTensor tensor = Only("proj_output_layer_input_0");
  EXPECT_EQ(tensor.module, "proj_output_layer");
  EXPECT_TRUE(tensor.is_input);
  EXPECT_EQ(Only("in_input_norm_output_3").module, "in_input_norm");
}

TEST(RunNamesTest, TheTensorsOfAWrapperReplaceThoseOfTheModuleThatItWraps) {
  EXPECT_THAT(
      Keys({"module.fc_output_0", "module_output_0", "DDP_output_0", "DDP_module.fc.weight"}),
      ElementsAre("fc.weight", "fc_output_", "_output_"));
  EXPECT_THAT(Keys({"a._checkpoint_wrapped_module_input_0", "a_input_0"}), ElementsAre("a_input_"));
  EXPECT_THAT(Keys({"a._checkpoint_wrapped_module_input_0"}), ElementsAre("a_input_"));
  EXPECT_THAT(Keys({"submodule_output_0"}), ElementsAre("submodule_output_"));
}

TEST(RunNamesTest, TheOrderIsThatOfTheComputation) {
  EXPECT_THAT(Keys({"a_output_0", "b_output_0", "loss", "Net_a.weight", "Net_b.weight",
                    "gradient/Net_a.weight", "gradient/Net_b.weight", "update/Net_a.weight",
                    "optimizer_state/Net_a.weight/exp_avg", "learning_rate/0"}),
              ElementsAre("a.weight", "b.weight", "a_output_", "b_output_", "loss",
                          "gradient/b.weight", "gradient/a.weight", "learning_rate/0",
                          "update/a.weight", "optimizer_state/a.weight/exp_avg"));
}

TEST(RunNamesTest, ATensorWithAGradientIsAParameterWhateverItsName) {
  const std::vector<RunTensor> tensors = RunTensorsOf({"gradient/m.scale", "m.scale"});
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].kind, RunKind::kParameter);
  EXPECT_EQ(Only("m.scale").kind, RunKind::kActivation);
}

TEST(RunNamesTest, TheCulpritOfAnInputIsTheModuleAroundIt) {
  EXPECT_EQ(CulpritOf(Only("blocks.0.attn.out_input_0")), "blocks.0.attn");
  EXPECT_EQ(CulpritOf(Only("fc_input_0")), "the model");
  EXPECT_EQ(CulpritOf(Only("fc_output_0")), "fc");
  EXPECT_EQ(CulpritOf(Only("CrossEntropyLoss_output_0")), "the loss");
  EXPECT_EQ(CulpritOf(Only("optimizer_state/a.b.weight/exp_avg")), "a.b");
}

}  // namespace
}  // namespace smdebug::cli::run_names_test
