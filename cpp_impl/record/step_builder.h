// Turns tensors into batches of event-file bytes, on the training thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/event_writer.h"
#include "record/batch.h"
#include "record/chunk_pool.h"
#include "tensor/view.h"

namespace smdebug::record {

// For one thread.
class StepBuilder {
 public:
  // Takes a batch that is large enough to be worth writing.
  using Push = std::function<Status(Batch)>;

  explicit StepBuilder(Push push) : push_(std::move(push)) {}

  // Appends a tensor's record.  The elements are copied, or, if `owner` is given and
  // they are compact, kept by `owner`.
  Status Add(std::string_view name, const tensor::View &view, const format::EventContext &context,
             std::shared_ptr<const void> owner = nullptr);

  // What has not been pushed yet.
  Batch TakeRest();

 private:
  Status AppendPayload(const tensor::View &view, std::shared_ptr<const void> owner);
  Status AppendCopy(ByteSpan bytes);
  Status AppendStrided(const tensor::View &view);
  // Room for at least one byte.
  MutableByteSpan Room();
  void CutPiece();
  Status PushIfLarge();

  Push push_;
  ChunkPool pool_;
  std::shared_ptr<AlignedBuffer> chunk_;
  size_t begin_ = 0;  // of the bytes in chunk_ that are in no piece yet
  size_t end_ = 0;
  Batch batch_;
  format::EncodedEvent event_;  // kept for its memory
};

}  // namespace smdebug::record
