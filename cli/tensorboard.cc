#include "tensorboard.h"

#include <filesystem>

#include "output.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace {

class Tensorboard final : public Command {
 public:
  const char *Name() const override { return "tensorboard"; }
  const char *Summary() const override { return "export a trial for stock TensorBoard"; }
  const char *Details() const override {
    return "Exports the current contents of the trial: a run for each mode and worker, with curves "
           "of scalars and histograms of tensors. Then run: tensorboard --logdir OUT";
  }
  const char *Examples() const override {
    return "smdebug tensorboard run logs\n"
           "smdebug tensorboard s3://my-bucket/run logs\n";
  }

  void Declare(Arguments &arguments) override {
    trial_.DeclareTrial(arguments);
    arguments.Positional("OUT", "the folder to write to, or s3://bucket/prefix", &out_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    const Trial trial = trial_.Open();
    std::error_code ignored;
    if (std::filesystem::equivalent(trial_.Path(), out_, ignored)) {
      throw UsageError(Printable(out_) + " is the trial itself; name another folder");
    }
    trial.ExportTensorboard(out_);
    Print("wrote " + Count(trial.Steps().size(), "step") + " of " + NameOf(trial) + " to " +
          Printable(out_) + "\n");
    return trial_.Conclude(ExitCode::kNoFindings);
  }

 private:
  TrialArguments trial_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> MakeTensorboard() { return std::make_unique<Tensorboard>(); }

}  // namespace smdebug::cli
