// Receives bytes piece by piece.
#pragma once

#include "base/bytes.h"

namespace smdebug {

// Only one thread at a time may use a sink; it need not be the thread that created it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Returns the memory for the next bytes; empty if the sink accepts no more.
  virtual MutableByteSpan Room() = 0;

  // Reports that the first `count` bytes of the last Room() are filled.
  virtual void Advance(size_t count) = 0;
};

// Fills one span.
class SpanSink final : public ByteSink {
 public:
  explicit SpanSink(MutableByteSpan span) : rest_(span) {}

  MutableByteSpan Room() override { return rest_; }
  void Advance(size_t count) override { rest_ = rest_.subspan(count); }

 private:
  MutableByteSpan rest_;
};

}  // namespace smdebug
