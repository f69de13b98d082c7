// Trains a network that tells three kinds of iris apart, records it, and evaluates the recording.
//
// usage: train_iris IRIS.csv OUT_DIR
#include <torch/torch.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <smdebug.hpp>
#include <sstream>

namespace {

struct Flowers {
  torch::Tensor measures;  // 150 x 4, of mean 0 and deviation 1
  torch::Tensor kinds;     // 150 numbers from 0 to 2
};

// Reads lines of four measures and a kind, after a line of names.
Flowers ReadFlowers(const char *path) {
  std::ifstream file(path);
  std::string line;
  std::vector<float> measures;
  std::vector<int64_t> kinds;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::stringstream fields(line);
    std::string field;
    for (int i = 0; i < 4 && std::getline(fields, field, ','); ++i) {
      measures.push_back(std::stof(field));
    }
    std::getline(fields, field, ',');
    kinds.push_back(std::stoll(field));
  }
  if (kinds.empty()) throw std::runtime_error(std::string(path) + ": there are no flowers");
  const auto count = static_cast<int64_t>(kinds.size());
  const torch::Tensor raw = torch::tensor(measures).reshape({count, 4});
  return {(raw - raw.mean(0)) / raw.std(0), torch::tensor(kinds)};
}

// Lets the hook borrow a tensor's memory, which the tensor keeps alive.
void Save(smdebug::Hook &hook, const std::string &name, const torch::Tensor &tensor) {
  if (!hook.Wants(name)) return;
  const torch::Tensor kept = tensor.detach().clone();  // the optimizer keeps changing it
  const auto sizes = kept.sizes();
  const smdebug::Shape shape(sizes.data(), sizes.size());
  hook.SaveOwned(name, smdebug::View(kept.data_ptr<float>(), shape), [kept] {});
}

void Train(const Flowers &flowers, const char *out_dir) {
  smdebug::HookOptions options;
  options.Set("out_dir", out_dir).Set("include_collections", "weights,biases,gradients");
  options.SetSaveConfig(smdebug::SaveConfig::Every(5));
  smdebug::Hook hook(options);

  torch::manual_seed(7);
  torch::nn::Sequential network(torch::nn::Linear(4, 16), torch::nn::Tanh(),
                                torch::nn::Linear(16, 3));
  torch::optim::SGD optimizer(network->parameters(), 0.5);
  for (int epoch = 0; epoch < 100; ++epoch) {
    const smdebug::StepGuard step = hook.Step(smdebug::Mode::kTrain);
    optimizer.zero_grad();
    const torch::Tensor scores = network->forward(flowers.measures);
    const torch::Tensor loss = torch::nn::functional::cross_entropy(scores, flowers.kinds);
    loss.backward();
    for (const auto &parameter : network->named_parameters()) {
      Save(hook, parameter.key(), parameter.value());
      Save(hook, "gradient/" + parameter.key(), parameter.value().grad());
    }
    hook.Save("loss", loss.item<float>());
    const torch::Tensor hits = scores.argmax(1).eq(flowers.kinds);
    hook.SaveScalar("accuracy", hits.to(torch::kFloat).mean().item<float>());
    optimizer.step();
  }
  hook.Close();
}

void PrintTensors(const smdebug::Trial &trial) {
  for (const std::string &name : trial.TensorNames()) {
    const smdebug::Tensor tensor = trial.Tensor(name);
    const std::vector<int64_t> steps = tensor.Steps();
    std::printf("%-20s %2zu steps, mean of the absolute values %.3f to %.3f\n", name.c_str(),
                steps.size(), tensor.Reduction(steps.front(), "mean", true).ToDouble(),
                tensor.Reduction(steps.back(), "mean", true).ToDouble());
  }
}

void Evaluate(const smdebug::Trial &trial) {
  double last = std::numeric_limits<double>::infinity();
  smdebug::RuleSet set;
  set.Add("VanishingGradient", R"({"threshold": "1e-2"})");
  set.AddFunction("LossRises", [&last](smdebug::RuleStep &step) {
    const double loss = step.Trial().Tensor("loss").Value(step.Step()).ToDouble();
    if (loss > std::exchange(last, loss)) step.Report("the loss rises");
  });
  set.Evaluate(trial);
  for (const smdebug::RuleResult &result : set.Results()) {
    std::printf("%s: %s\n", result.rule.c_str(), result.message.c_str());
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s IRIS.csv OUT_DIR\n", argv[0]);
    return 2;
  }
  try {
    Train(ReadFlowers(argv[1]), argv[2]);
    const auto trial = smdebug::Trial::Open(argv[2]);
    PrintTensors(trial);
    Evaluate(trial);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
