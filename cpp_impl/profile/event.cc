#include "profile/event.h"

#include <cstring>
#include <utility>

namespace smdebug::profile {
namespace {

// What stands before the texts of an event.
struct Head {
  int64_t step;
  int64_t begin_us;
  int64_t duration_us;
  int32_t thread;
  uint32_t name_size;
  uint32_t phase_size;
  uint32_t args_size;
  EventKind kind;
};

// A buffer that a burst has grown is released.
constexpr size_t kKeptCapacity = size_t{4} << 20;

}  // namespace

[[gnu::hot]] size_t EventBuffer::SizeOf(const Event &event) {
  return sizeof(Head) + event.name.size() + event.phase.size() + event.args.size();
}

[[gnu::hot, gnu::flatten]] void EventBuffer::Add(const Event &event) {
  const Head head = {event.step,
                     event.begin_us,
                     event.duration_us,
                     event.thread,
                     static_cast<uint32_t>(event.name.size()),
                     static_cast<uint32_t>(event.phase.size()),
                     static_cast<uint32_t>(event.args.size()),
                     event.kind};
  const size_t needed = bytes_.size() + SizeOf(event);
  // All or nothing: an event must not be cut off if memory runs out.
  if (needed > bytes_.capacity()) bytes_.reserve(needed + needed / 2);
  bytes_.append(reinterpret_cast<const char *>(&head), sizeof head);
  bytes_.append(event.name);
  bytes_.append(event.phase);
  bytes_.append(event.args);
}

std::optional<Event> EventBuffer::Next() {
  if (IsAtEnd()) return std::nullopt;
  Head head;
  std::memcpy(&head, bytes_.data() + at_, sizeof head);
  std::string_view texts = std::string_view(bytes_).substr(at_ + sizeof head);
  const auto take = [&](size_t size) {
    const std::string_view taken = texts.substr(0, size);
    texts.remove_prefix(size);
    return taken;
  };
  Event event;
  event.kind = head.kind;
  event.name = take(head.name_size);
  event.phase = take(head.phase_size);
  event.args = take(head.args_size);
  event.step = head.step;
  event.begin_us = head.begin_us;
  event.duration_us = head.duration_us;
  event.thread = head.thread;
  at_ += SizeOf(event);
  return event;
}

void EventBuffer::Clear() {
  at_ = 0;
  bytes_.clear();
  if (bytes_.capacity() > kKeptCapacity) std::string().swap(bytes_);
}

void EventBuffer::Swap(EventBuffer *other) {
  bytes_.swap(other->bytes_);
  std::swap(at_, other->at_);
}

}  // namespace smdebug::profile
