// Reads a trial's tensor by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyze/trial.h"
#include "tensor/reduction.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// Safe from any thread.  The contract of each function is that of smd_tensor_... in
// smdebug/trial.h.  An empty worker means the first worker that has the tensor.
class Tensor {
 public:
  // Fails with TENSOR_UNAVAILABLE if the tensor was not saved so far.
  static Result<Tensor> Find(std::shared_ptr<Trial> trial, std::string name);

  const std::string &Name() const { return name_; }
  const std::shared_ptr<Trial> &GetTrial() const { return trial_; }

  Result<std::string> OriginalName() const { return trial_->OriginalName(name_); }
  Result<std::vector<int64_t>> Steps(Mode mode, bool incomplete_too) const {
    return trial_->TensorSteps(name_, mode, incomplete_too);
  }
  Result<std::vector<int64_t>> PreviousSteps(int64_t step, int64_t count, Mode mode) const;
  Result<std::vector<std::string>> Workers(int64_t step, Mode mode) const;
  // Returns which part a worker holds, or NULL if the trial does not know.  Valid as long as the
  // trial.
  const config::Placement *PlacementAt(std::string_view worker) const {
    return trial_->PlacementOf(name_, worker);
  }
  Result<tensor::Value> Value(int64_t step, Mode mode, const std::string &worker) const;
  // Adds the positions of the value's records.  Fails as Value(), except for errors that only
  // reading reveals.
  Status AddPlace(int64_t step, Mode mode, const std::string &worker,
                  std::vector<RecordPlace> *places) const;
  // The same for the first worker, but adds nothing if the index file has the value.
  Status AddPlaceToRead(int64_t step, Mode mode, std::vector<RecordPlace> *places) const;
  Result<std::vector<int64_t>> Shape(int64_t step, Mode mode, const std::string &worker) const;
  Result<tensor::Value> Reduction(int64_t step, Mode mode, const std::string &worker,
                                  tensor::Reduction reduction) const;
  // Returns true if a record of this name holds an entry of this kind of the tensor.
  bool IsNameOf(EntryKind kind, const std::string &record) const;
  static Result<tensor::Value> Reduce(const tensor::Value &value, tensor::Reduction reduction);
  // Returns the saved reductions.
  Result<std::vector<tensor::Reduction>> Reductions(int64_t step, Mode mode,
                                                    const std::string &worker) const;

 private:
  Tensor(std::shared_ptr<Trial> trial, std::string name)
      : trial_(std::move(trial)), name_(std::move(name)) {}

  // Returns the entries of one worker at the step, by kind; never empty.
  Result<std::vector<StepEntries::Item>> At(int64_t step, Mode mode,
                                            const std::string &worker) const;
  Result<tensor::Value> Read(const StepEntries::Item &item) const;
  // Reads one record, if that is all it takes; returns nothing if reading must retry, or fail.
  Result<std::optional<tensor::Value>> TryRead(int64_t step, Mode mode, const std::string &worker,
                                               EntryKind kind) const;
  Status NoValue(int64_t step, Mode mode, const std::vector<StepEntries::Item> &items) const;

  std::shared_ptr<Trial> trial_;
  std::string name_;
};

}  // namespace smdebug::analyze
