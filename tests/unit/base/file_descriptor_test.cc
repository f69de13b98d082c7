#include "base/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace smdebug::file_descriptor_test {
namespace {

bool IsOpen(int number) { return fcntl(number, F_GETFD) != -1; }

int OpenedNumber() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(FileDescriptor, IsClosedWithItsOwner) {
  int number = -1;
  {
    const FileDescriptor file(OpenedNumber());
    number = file.Number();
    EXPECT_TRUE(file.IsOpen());
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
}

TEST(FileDescriptor, HasOneOwnerAtATime) {
  FileDescriptor first(OpenedNumber());
  const int number = first.Number();
  FileDescriptor second(std::move(first));
  FileDescriptor third(OpenedNumber());
  const int replaced = third.Number();
  third = std::move(second);
  EXPECT_FALSE(IsOpen(replaced));
  EXPECT_EQ(third.Number(), number);
  EXPECT_TRUE(IsOpen(number));
  third.Reset();
  EXPECT_FALSE(third.IsOpen());
  EXPECT_FALSE(IsOpen(number));
}

TEST(FileDescriptor, OneThatWasNeverOpenedIsNothing) {
  FileDescriptor none;
  EXPECT_FALSE(none.IsOpen());
  none.Reset();
}

}  // namespace
}  // namespace smdebug::file_descriptor_test
