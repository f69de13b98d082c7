// Keeps the memory of a borrowed tensor alive.
#pragma once

#include <memory>
#include <utility>

namespace smdebug::record {

// Costs nothing until the memory is borrowed, as most tensors are unselected or small and copied.
class Owner {
 public:
  Owner() = default;
  virtual ~Owner() = default;
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;

  // Returns an object that keeps the memory alive.  Throws std::bad_alloc.
  virtual std::shared_ptr<const void> Share() = 0;
};

class SharedOwner final : public Owner {
 public:
  explicit SharedOwner(std::shared_ptr<const void> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<const void> Share() override { return shared_; }

 private:
  const std::shared_ptr<const void> shared_;
};

}  // namespace smdebug::record
