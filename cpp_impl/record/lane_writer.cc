#include "record/lane_writer.h"

#include <new>
#include <utility>

#include "base/strings.h"
#include "format/paths.h"

namespace smdebug::record {

LaneWriter::LaneWriter(std::shared_ptr<storage::Store> store, std::string worker,
                       const QueueOptions &options)
    : store_(std::move(store)),
      worker_(std::move(worker)),
      options_(options),
      no_memory_(Code::kOutOfMemory,
                 StrCat(store_->Location(), ": there is no memory to write with")) {}

Status LaneWriter::Write(Lane &lane, Item &item, SpillFolder *spill) noexcept try {
  return Dispatch(lane, item, spill);
} catch (const std::bad_alloc &) {
  return no_memory_;
}

Status LaneWriter::Dispatch(Lane &lane, Item &item, SpillFolder *spill) {
  switch (item.kind) {
    case Item::Kind::kFile: return PutFile(item);
    case Item::Kind::kOptionalFile: return item.store->WriteText(item.name, item.text, false);
    case Item::Kind::kBatch: return Append(lane, item, spill);
    case Item::Kind::kSeal:
      SMD_RETURN_IF_ERROR(Append(lane, item, spill));
      return lane.file->CommitEvents(options_.is_durable);
    case Item::Kind::kIndex: return CommitStep(lane);
  }
  return Status::Ok();
}

Status LaneWriter::PutFile(const Item &item) {
  // Who copies the trial when it has ended finds all of it.
  if (options_.listener && item.name == format::kEndMarker) options_.listener->OnEnd();
  return options_.out_dir->Put(item.name, item.text, options_.is_durable);
}

Status LaneWriter::Append(Lane &lane, Item &item, SpillFolder *spill) {
  if (!lane.file) {
    lane.file =
        std::make_unique<StepFile>(store_, lane.step->global_step, worker_, options_.is_resumed);
  }
  if (!item.spilled.empty()) {
    SMD_RETURN_IF_ERROR(spill->Fetch(item.spilled, &item.batch));
    item.spilled.clear();
  }
  for (RecordMark &record : item.batch.records) lane.file->Announce(std::move(record));
  return item.batch.pieces.empty() ? Status::Ok()
                                   : lane.file->Append(item.batch.pieces, item.batch.checksums);
}

Status LaneWriter::CommitStep(Lane &lane) {
  const Step &step = *lane.step;
  for (const format::SavedShape &shape : step.shapes) lane.file->AddShape(shape);
  if (lane.file->IsEmpty()) return Status::Ok();
  if (lane.file->TensorCount() > 0) {
    SMD_RETURN_IF_ERROR(options_.out_dir->CheckStep(step.global_step, lane.file->EventName()));
  }
  SMD_RETURN_IF_ERROR(lane.file->Commit(step.mode, step.mode_step, options_.is_durable));
  if (options_.listener) options_.listener->OnWritten(lane.file->Written());
  return Status::Ok();
}

}  // namespace smdebug::record
