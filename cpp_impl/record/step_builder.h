// Turns tensors into batches of event-file bytes, on the training thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "format/event_writer.h"
#include "record/batch.h"
#include "record/chunk_pool.h"
#include "record/owner.h"
#include "tensor/view.h"

namespace smdebug::record {

// Thread safety: one thread at a time.
class StepBuilder {
 public:
  // Receives each batch that is large enough to write.
  using Push = std::function<Status(Batch)>;

  // A tensor with `too_large` bytes or more goes into several records, of at most half as many.
  // Builders may share a pool.
  explicit StepBuilder(Push push, uint64_t too_large = tensor::kMaxPayload, ChunkPool pool = {})
      : push_(std::move(push)), too_large_(too_large), pool_(std::move(pool)) {}

  // Appends a tensor's record or records.  Copies the elements, or borrows them from `owner`, if
  // that is given and the elements are compact and many.
  Status Add(std::string_view name, const tensor::View &view, const format::EventContext &context,
             Owner *owner = nullptr);

  // Returns the bytes that have not been pushed yet.
  Batch TakeRest();
  // Drops these bytes.  Needs no memory.
  void Clear() noexcept;

 private:
  Status AddParts(std::string_view name, const tensor::View &view,
                  const format::EventContext &context, Owner *owner);
  Status AddRecord(std::string_view name, const tensor::View &view,
                   const format::EventContext &context, Owner *owner,
                   std::optional<format::PartOf> part = {});
  Status AppendPayload(const tensor::View &view, Owner *owner);
  Status AppendCopy(ByteSpan bytes);
  Status AppendStrided(const tensor::View &view);
  // Room for at least one byte.
  MutableByteSpan Room();
  void CutPiece();
  Status PushIfLarge();

  Push push_;
  const uint64_t too_large_;
  ChunkPool pool_;
  std::shared_ptr<AlignedBuffer> chunk_;
  size_t begin_ = 0;  // of the bytes in chunk_ that are in no piece yet
  size_t end_ = 0;
  Batch batch_;
  format::EncodedEvent event_;  // kept for its memory
};

}  // namespace smdebug::record
