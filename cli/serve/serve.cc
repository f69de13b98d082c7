#include "serve/serve.h"

#include <malloc.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "output.h"
#include "serve/access.h"
#include "serve/alerts.h"
#include "serve/api.h"
#include "serve/gzip.h"
#include "serve/http_server.h"
#include "serve/hub.h"
#include "serve/listen.h"
#include "serve/monitor.h"
#include "serve/page.h"
#include "text.h"
#include "trial_arguments.h"

namespace smdebug::cli {
namespace serve {
namespace {

constexpr int64_t kMostPort = 65535;

// Collects what --set gives.
struct SettingsCollector {
  Settings all;
  void Set(const std::string &name, const std::string &value) { all.emplace_back(name, value); }
};

std::string ReadFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error(SMD_IO, Printable(path) + ": the file cannot be read");
  return text.str();
}

// Decides what answers a request.
class Router {
 public:
  Router(const Access &access, Runs &runs, Profiles &profiles, Hub &hub)
      : access_(access), hub_(hub), context_{runs, profiles, [&hub] { return hub.Clients(); }} {}

  Reply Answer(const Request &request) const {
    if (std::optional<Response> refusal = access_.Refuse(request))
      return {std::move(refusal), {}, {}};
    for (const PageFile &file : PageFiles()) {
      if (file.path == request.path) return {FileResponse(file, request), {}, {}};
    }
    if (request.path == "/events") return Events(request);
    if (const ApiFunction function = FindApi(request.path)) {
      return {{}, [this, function, request] { return function(context_, request); }, {}};
    }
    return {TextResponse(404, "There is nothing at this address."), {}, {}};
  }

 private:
  // The files are compressed once.  One thread asks.
  Response FileResponse(const PageFile &file, const Request &request) const {
    Response response{200, std::string(file.type), std::string(file.bytes)};
    response.headers.emplace_back("Cache-Control", file.is_kept ? kKept : "private, no-cache");
    if (!file.is_kept || !request.accepts_gzip) return response;
    std::string &compressed = compressed_[file.path];
    if (compressed.empty()) compressed = Gzip(file.bytes, kSmallest);
    response.body = compressed;
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Vary", "Accept-Encoding");
    return response;
  }

  Reply Events(const Request &request) const {
    if (request.method == "HEAD") return {Response{200, "text/event-stream", ""}, {}, {}};
    try {
      return {{}, {}, hub_.Add(request)};
    } catch (const BadRequest &error) {
      return {TextResponse(error.Status(), error.what()), {}, {}};
    }
  }

  static constexpr int kSmallest = 9;
  static constexpr const char *kKept = "private, max-age=31536000, immutable";

  const Access &access_;
  Hub &hub_;
  const ApiContext context_;
  mutable std::map<std::string_view, std::string> compressed_;  // files, by path
};

// Blocks the signals in this thread and those that it starts, and waits for one of them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, each);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    // A client that has gone must not end the server.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  }
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  void Await() const {
    int signal = 0;
    while (sigwait(&signals_, &signal) != 0) {
    }
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace
}  // namespace serve

namespace {

using namespace serve;

class Serve final : public Command {
 public:
  const char *Name() const override { return "serve"; }
  const char *Summary() const override { return "show runs in a browser while they are recorded"; }
  const char *Details() const override {
    return "Prints the address of the page, with a token that a browser needs once, and serves "
           "until "
           "it is interrupted. The server only reads. It listens on 127.0.0.1; to look from "
           "another "
           "machine, forward the port with ssh -L. docs/live.md says more.";
  }
  const char *Examples() const override {
    return "smdebug serve .\n"
           "smdebug serve run other_run --port 7007\n"
           "smdebug serve s3://my-bucket --on-finding 'mail -s finding me@example.org'\n"
           "smdebug serve . --unix smdebug.socket\n";
  }

  void Declare(Arguments &arguments) override {
    arguments.Positionals(
        "PATH...", "trials, folders or buckets that hold trials, or patterns of such", 1, &paths_);
    arguments.Whole("--port", "N", "listen on this port (default: any that is free)", &port_);
    arguments.Text("--listen", "ADDRESS",
                   "listen on this address of the machine (default: 127.0.0.1); others than "
                   "loopback need --tls-certificate or --insecure",
                   &address_);
    arguments.Text("--unix", "FILE", "listen on this socket file instead", &file_);
    arguments.Texts("--host", "NAME",
                    "accept this name of the server, besides localhost and addresses; may be given "
                    "several times",
                    &hosts_);
    arguments.Text("--tls-certificate", "FILE", "serve https with this certificate (PEM)",
                   &certificate_);
    arguments.Text("--tls-key", "FILE", "the key of the certificate (PEM)", &key_);
    arguments.Flag("--insecure",
                   "allow --listen without TLS: others can read the token and the data",
                   &insecure_);
    arguments.Texts("--on-finding", "COMMAND|URL",
                    "once per new finding, run this shell command, with the finding as JSON on "
                    "stdin and in SMDEBUG_FINDING_... variables; or post it to an http(s) URL; may "
                    "be given several times",
                    &targets_);
    arguments.Texts("-r,--rule", "NAME[,PARAMETER=VALUE...]",
                    "evaluate this rule; may be given several times (default: all rules that need "
                    "no parameter)",
                    &rules_);
    arguments.Choice("--profile", "select the defaults of parameters of rules",
                     {"calibrated", "aws", "llm"}, &profile_);
    trial_.DeclareOptions(arguments);
  }

  ExitCode Run() override {
    LimitHeaps();
    CheckOptions();
    const RunChoice choice{paths_, TheSettings(), TheRules()};
    CheckPaths();
    static_cast<void>(Judge(choice.rules));  // fails now if a rule or a parameter is wrong
    const StopSignals signals;
    const Access access(token_, {hosts_.begin(), hosts_.end()}, IsTls());
    ListeningSocket socket = file_.empty()
                                 ? ListeningSocket::OnAddress(address_, static_cast<int>(*port_))
                                 : ListeningSocket::OnFile(file_);
    Runs runs(choice, trial_);
    Alerts alerts(targets_);
    ServerOptions options;
    if (IsTls()) {
      options.has_tls = true;
      options.certificate = ReadFile(certificate_);
      options.key = ReadFile(key_);
    }
    const Monitor monitor(runs, alerts);
    Hub hub(runs);
    Profiles profiles(profile_);
    const Router router(access, runs, profiles, hub);
    {
      options.socket = socket.Release();
      const HttpServer server(options,
                              [&](const Request &request) { return router.Answer(request); });
      PrintAddress(socket);
      signals.Await();
      hub.End();
    }
    return ExitCode::kNoFindings;
  }

 private:
  // With glibc each heap keeps what its threads have freed.  The threads share one: they wait for
  // files more than for memory.
  static void LimitHeaps() {
#ifdef M_ARENA_MAX
    constexpr int kHeaps = 1;
    constexpr int kLargeBlock = 128 * 1024;  // freed at once
    static_cast<void>(mallopt(M_ARENA_MAX, kHeaps));
    static_cast<void>(mallopt(M_MMAP_THRESHOLD, kLargeBlock));
    static_cast<void>(mallopt(M_TRIM_THRESHOLD, kLargeBlock));
#endif
  }

  bool IsTls() const { return !certificate_.empty(); }

  void CheckOptions() {
    token_ = MakeToken();
    if (!port_) port_ = 0;
    if (*port_ > kMostPort) throw UsageError("--port must be at most 65535");
    if (certificate_.empty() != key_.empty()) {
      throw UsageError("--tls-certificate and --tls-key must be given together");
    }
    if (IsTls() && !HttpServer::HasTls()) {
      throw Error(SMD_UNSUPPORTED,
                  "this program was built with a libmicrohttpd without TLS; forward the port with "
                  "ssh -L instead");
    }
    if (!file_.empty() && (*port_ != 0 || address_ != kLoopback)) {
      throw UsageError("--unix cannot be given with --port or --listen");
    }
    if (!IsLoopback(address_) && !IsTls() && !insecure_) {
      throw UsageError("--listen " + address_ +
                       ": others can reach this address; give --tls-certificate and --tls-key, or "
                       "--insecure to send the token and the data unencrypted");
    }
  }

  Settings TheSettings() const {
    SettingsCollector collector;
    trial_.ApplyTo(&collector);
    return collector.all;
  }

  RuleChoice TheRules() const {
    RuleChoice choice{profile_, {}};
    for (const std::string &text : rules_) choice.requests.push_back(ParseRule(text));
    return choice;
  }

  // A path may begin to exist while the server runs; more often it is misspelt.
  void CheckPaths() const {
    for (const std::string &path : paths_) {
      std::error_code ignored;
      const bool is_plain =
          path.find_first_of("*?[") == std::string::npos && path.find("://") == std::string::npos;
      if (is_plain && std::filesystem::is_regular_file(path, ignored)) {
        throw UsageError(Printable(path) + " is a file; give a folder that is a run or has some");
      }
      if (!is_plain || std::filesystem::exists(path, ignored)) continue;
      Complain("warning: " + Printable(path) + " does not exist; its runs are shown once it does");
    }
  }

  void PrintAddress(const ListeningSocket &socket) const {
    const std::string port = socket.Port() == 0 ? "" : ":" + std::to_string(socket.Port());
    Print((IsTls() ? "https://" : "http://") + socket.Host() + port + "/?token=" + token_ + "\n");
    FlushOutput();
  }

  static constexpr const char *kLoopback = "127.0.0.1";

  TrialArguments trial_;
  std::vector<std::string> paths_;
  std::optional<int64_t> port_;
  std::string address_ = kLoopback;
  std::string file_;
  std::vector<std::string> hosts_;
  std::string certificate_;
  std::string key_;
  bool insecure_ = false;
  std::vector<std::string> targets_;
  std::vector<std::string> rules_;
  std::string profile_ = "calibrated";
  std::string token_;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace smdebug::cli
