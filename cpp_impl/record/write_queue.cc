#include "record/write_queue.h"

#include <utility>

#include "record/queue_core.h"

namespace smdebug::record {

WriteQueue::WriteQueue(std::shared_ptr<storage::Store> store, std::string worker,
                       QueueOptions options, Clock &clock, Logger logger) {
  if (!options.out_dir) options.out_dir = std::make_shared<OutDir>(store, worker, true);
  core_ = std::make_shared<QueueCore>(std::move(store), std::move(worker), std::move(options),
                                      clock, std::move(logger));
}

WriteQueue::~WriteQueue() { core_->Abandon(); }

Status WriteQueue::Push(const std::shared_ptr<Step> &step, Batch batch) {
  return core_->Push(step, {.kind = Item::Kind::kBatch, .batch = std::move(batch)});
}

Status WriteQueue::Seal(const std::shared_ptr<Step> &step, Batch rest) {
  return core_->Push(step, {.kind = Item::Kind::kSeal, .batch = std::move(rest)});
}

void WriteQueue::Hold(const std::shared_ptr<Step> &step) { core_->Hold(step); }

void WriteQueue::Drop(Step &step) { core_->Drop(step); }

void WriteQueue::Discard(Step &step) { core_->Discard(step); }

void WriteQueue::PutFile(std::string name, std::string text) {
  PutFileBefore(nullptr, std::move(name), std::move(text));
}

void WriteQueue::PutFileBefore(const std::shared_ptr<Step> &step, std::string name,
                               std::string text) {
  core_->PutFile(step,
                 {.kind = Item::Kind::kFile, .name = std::move(name), .text = std::move(text)});
}

void WriteQueue::PutOptionalFile(std::shared_ptr<storage::Store> store, std::string name,
                                 std::string text) {
  core_->PutOptionalFile({.kind = Item::Kind::kOptionalFile,
                          .store = std::move(store),
                          .name = std::move(name),
                          .text = std::move(text)});
}

Status WriteQueue::Flush(Deadline deadline) { return core_->Flush(deadline); }

Status WriteQueue::Stop(Deadline deadline) { return core_->Stop(deadline); }

Status WriteQueue::TakeError() { return core_->TakeError(); }

void WriteQueue::Report(const Status &error) { core_->Report(error); }

QueueCounts WriteQueue::Counts() const { return core_->Counts(); }

}  // namespace smdebug::record
