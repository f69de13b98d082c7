// Where bytes go that come little by little.
#pragma once

#include "base/bytes.h"

namespace smdebug {

// For one thread at a time, which need not be the one that made it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  // Where the next bytes go; empty if no more are taken.
  virtual MutableByteSpan Room() = 0;

  // Says that the first `count` bytes of what Room() gave last are there.
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
