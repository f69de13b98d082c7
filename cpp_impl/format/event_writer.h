// Encodes tensors as records of an event file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/mode.h"
#include "base/result.h"
#include "format/tfrecord.h"
#include "tensor/view.h"

namespace smdebug::format {

// The metadata that is recorded with a tensor.
struct EventContext {
  int64_t step = 0;  // global
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  double wall_time = 0;  // seconds since 1970
};

// A record is the head, the view's compact bytes and the tail, in this order.  Text elements are in
// the head.
struct EncodedEvent {
  std::string head;
  std::string tail;
  uint64_t Size(size_t payload) const { return head.size() + payload + tail.size(); }
};

// Encodes the envelope of a tensor.  `view` is compact.  The bytes are those that the original
// writes.  Does not copy the payload, and reads it only if its true checksum is requested.
// Overwrites `out`; keep it to spare allocations.  Fails: UNSUPPORTED (a record of 2 GiB or more),
// INVALID_ARGUMENT (a name or text that is not UTF-8).
Status EncodeTensorEvent(std::string_view name, const tensor::View &view,
                         const EventContext &context, Checksum checksum, EncodedEvent *out);

}  // namespace smdebug::format
