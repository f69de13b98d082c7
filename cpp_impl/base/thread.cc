#include "base/thread.h"

#include <csignal>
#include <memory>

namespace smdebug {
namespace {

struct Beginning {
  std::string name;
  std::function<void()> body;
};

extern "C" void *RunThread(void *argument) {
  const std::unique_ptr<Beginning> start(static_cast<Beginning *>(argument));
  pthread_setname_np(pthread_self(), start->name.substr(0, 15).c_str());
  start->body();
  return nullptr;
}

}  // namespace

Thread::~Thread() { Join(); }

Status Thread::Start(const std::string &name, std::function<void()> body) {
  std::unique_ptr<Beginning> start(new Beginning{name, std::move(body)});
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, nullptr, RunThread, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return SystemError("starting a thread", name, error);
  static_cast<void>(start.release());
  is_running_ = true;
  return Status::Ok();
}

void Thread::Join() {
  if (!is_running_) return;
  pthread_join(thread_, nullptr);
  is_running_ = false;
}

void Thread::Detach() {
  if (!is_running_) return;
  pthread_detach(thread_);
  is_running_ = false;
}

}  // namespace smdebug
