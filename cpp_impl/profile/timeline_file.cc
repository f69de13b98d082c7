#include "profile/timeline_file.h"

#include <new>

#include "base/strings.h"
#include "profile/file_names.h"

namespace smdebug::profile {
namespace {

// Events are formatted and written in parts of this size.
constexpr size_t kPart = size_t{256} << 10;
// Other workers may have used the same name.
constexpr int kMostNames = 1000;

}  // namespace

Status TimelineFile::Write(EventBuffer *batch) {
  while (true) {
    if (has_ended_ || file_bytes_ > options_.rotate_bytes) SMD_RETURN_IF_ERROR(End());
    SMD_RETURN_IF_ERROR(WriteText());
    if (batch->IsAtEnd()) return Status::Ok();
    while (text_.size() < kPart && file_bytes_ + text_.size() <= options_.rotate_bytes) {
      const std::optional<Event> event = batch->Next();
      if (!event) break;
      AddEvent(*event);
    }
  }
}

void TimelineFile::Begin() {
  if (has_begun_) return;
  text_ = text_of_events_.Begin();
  begun_at_ = options_.clock->Monotonic();
  has_begun_ = true;
}

void TimelineFile::AddEvent(const Event &event) {
  if (event.kind != EventKind::kBegin) Begin();
  const size_t before = text_.size();
  try {
    if (!text_of_events_.Add(event, &text_)) {
      ++counts_.dropped;
    } else if (event.kind != EventKind::kBegin) {
      ++counts_.events;
      ++file_events_;
    }
  } catch (const std::bad_alloc &) {
    // A part of a line would make the file unreadable.
    text_.resize(before);
    ++counts_.dropped;
  }
}

Status TimelineFile::WriteText() {
  if (text_.empty()) return Status::Ok();
  if (!file_) {
    const auto now_us = static_cast<int64_t>(options_.clock->WallSeconds() * 1e6);
    SMD_ASSIGN_OR_RETURN(file_,
                         storage::Grow(*store_, TimelineTemporaryName(now_us, options_.node)));
  }
  SMD_RETURN_IF_ERROR(file_->Append(text_));
  file_bytes_ += text_.size();
  counts_.bytes += static_cast<int64_t>(text_.size());
  text_.clear();
  return Status::Ok();
}

void TimelineFile::AddOpenEvents() {
  if (has_ended_ || !text_of_events_.HasOpen()) return;
  Begin();
  const int64_t added = text_of_events_.AddOpen(&text_);
  counts_.events += added;
  file_events_ += added;
}

Status TimelineFile::EndIfOld() {
  if (!has_begun_ || options_.clock->Monotonic() - begun_at_ < options_.rotate_time) {
    return Status::Ok();
  }
  return End();
}

Status TimelineFile::End() {
  if (file_events_ == 0) {
    text_.clear();
    has_begun_ = false;
  }
  if (!has_begun_) return Status::Ok();
  SMD_RETURN_IF_ERROR(WriteText());
  if (!has_ended_) {
    SMD_RETURN_IF_ERROR(file_->Append(TimelineText::End()));
    has_ended_ = true;
  }
  Status committed = Commit();
  if (committed.GetCode() == Code::kNotFound) {
    // Someone removed the incomplete file.  Retrying would block all later events.
    counts_.dropped += file_events_;
    Forget();
    return committed;
  }
  SMD_RETURN_IF_ERROR(committed);
  ++counts_.files;
  Forget();
  return Status::Ok();
}

Status TimelineFile::Commit() {
  Status status;
  for (int i = 0; i < kMostNames; ++i) {
    status = file_->Commit(TimelineName(text_of_events_.LastEnd() + i, options_.node));
    if (status.GetCode() != Code::kTrialExists) break;
  }
  return status;
}

void TimelineFile::Forget() {
  file_.reset();
  file_bytes_ = 0;
  file_events_ = 0;
  has_begun_ = false;
  has_ended_ = false;
}

}  // namespace smdebug::profile
