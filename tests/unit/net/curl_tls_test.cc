// TLS with a server that has a self-made certificate.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "net/curl_fixture.h"

namespace smdebug::net::curl_tls_test {
namespace {

using testing::HasSubstr;

// Runs `openssl` with arguments in a folder, and reads its output.
class OpenSsl {
 public:
  explicit OpenSsl(std::vector<std::string> arguments, const std::string &folder = ".") {
    arguments.insert(arguments.begin(), "openssl");
    std::vector<char *> raw;
    raw.reserve(arguments.size() + 1);
    for (std::string &argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    int out[2];
    int in[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(in, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&process_, "openssl", &actions, nullptr, raw.data(), environ) != 0) {
      process_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(in[0]);
    input_ = in[1];
    output_ = fdopen(out[0], "r");
  }
  ~OpenSsl() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      Wait();
    }
    if (output_ != nullptr) fclose(output_);
    if (input_ >= 0) close(input_);
  }
  OpenSsl(const OpenSsl &) = delete;
  OpenSsl &operator=(const OpenSsl &) = delete;

  // Returns true if the program succeeded.
  bool Wait() {
    if (process_ <= 0) return false;
    int status = 1;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  // Returns the next line; "" at the end.
  std::string Line() {
    char line[1024];
    return output_ != nullptr && fgets(line, sizeof line, output_) != nullptr ? line : "";
  }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  FILE *output_ = nullptr;
};

// Kills the server when the first bytes arrive.
class KillingSink final : public ByteSink {
 public:
  explicit KillingSink(std::unique_ptr<OpenSsl> &server) : server_(server) {}

  MutableByteSpan Room() override { return room_; }
  void Advance(size_t count) override {
    received += count;
    server_.reset();
  }

  size_t received = 0;

 private:
  std::unique_ptr<OpenSsl> &server_;
  std::vector<std::byte> room_ = std::vector<std::byte>(1 << 16);
};

class CurlTls : public testing::Test {
 protected:
  // Creates a certificate for `name` and starts a server that uses it.
  void Serve(const std::string &name, const std::vector<std::string> &more = {"-HTTP"}) {
    MakeCertificate(name);
    if (!HasFatalFailure()) Start(more);
  }

  void MakeCertificate(const std::string &name) {
    folder_ = std::filesystem::path(testing::TempDir()) / StrCat("smdebug_tls_", getpid());
    std::filesystem::create_directories(folder_);
    OpenSsl maker({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                   "-nodes", "-days", "2", "-subj", "/CN=libsmdebug test", "-addext",
                   "subjectAltName=" + name, "-keyout", Path("key.pem"), "-out", Bundle()});
    ASSERT_TRUE(maker.Wait()) << "the openssl program makes the certificate";
  }

  // Sets what the server sends for a path.
  void Answer(const std::string &path, const std::string &headers, const std::string &body) const {
    std::ofstream(Path(path)) << "HTTP/1.1 200 OK\r\n" << headers << "\r\n" << body;
  }

  // Replaces the certificate by an expired one with the same key and names.
  void Expire() {
    OpenSsl asker({"x509", "-x509toreq", "-copy_extensions", "copy", "-in", Bundle(), "-signkey",
                   Path("key.pem"), "-out", Path("request.pem")});
    ASSERT_TRUE(asker.Wait());
    OpenSsl maker({"x509", "-req", "-copy_extensions", "copy", "-in", Path("request.pem"),
                   "-signkey", Path("key.pem"), "-days", "-1", "-out", Bundle()});
    ASSERT_TRUE(maker.Wait());
  }

  void Start(const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {"s_server", "-accept", "127.0.0.1:0",  "-cert",
                                          Bundle(),   "-key",    Path("key.pem")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = std::make_unique<OpenSsl>(arguments, folder_.string());
    std::string line;
    do {
      line = server_->Line();
      ASSERT_NE(line, "") << "the server does not start";
    } while (!line.starts_with("ACCEPT"));
    url_ =
        StrCat("https://127.0.0.1:", Trim(std::string_view(line).substr(line.rfind(':') + 1)), "/");
  }

  ~CurlTls() override {
    server_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string &name) const { return (folder_ / name).string(); }
  std::string Bundle() const { return Path("certificate.pem"); }

  std::filesystem::path folder_;
  std::unique_ptr<OpenSsl> server_;
  std::string url_;
};

TEST_F(CurlTls, RefusesAnUntrustedCertificate) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  const auto response = OpenClient()->Send(Get(url_));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls);
  EXPECT_FALSE(response.GetStatus().IsRetryable());
  EXPECT_THAT(response.GetStatus().Message(), HasSubstr("CA bundle"));
}

TEST_F(CurlTls, AcceptsItWithItsBundle) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  const auto client = OpenClient({.ca_bundle = Bundle()});
  Answer("five", "Content-Length: 5\r\n", "bytes");
  for (int i = 0; i < 3; ++i) {
    const auto response = client->Send(Get(url_ + "five"));
    ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "bytes");
  }
}

TEST_F(CurlTls, AcceptsItWithTheBundleOfTheEnvironment) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  Answer("five", "Content-Length: 5\r\n", "bytes");
  std::filesystem::create_directory(Path("trusted"));
  OpenSsl hasher({"x509", "-in", Bundle(), "-noout", "-hash"});
  const std::string line = hasher.Line();
  std::filesystem::copy(Bundle(), Path(StrCat("trusted/", Trim(line), ".0")));
  for (const auto &[name, place] :
       {std::pair("SSL_CERT_FILE", Bundle()), std::pair("SSL_CERT_DIR", Path("trusted"))}) {
    setenv(name, place.c_str(), 1);
    const auto response = OpenClient()->Send(Get(url_ + "five"));
    unsetenv(name);
    ASSERT_TRUE(response.IsOk()) << name << ": " << response.GetStatus().Message();
  }
}

TEST_F(CurlTls, TrustsOnlyTheGivenBundle) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  OpenSsl maker({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-subj", "/CN=another", "-keyout", Path("other_key.pem"), "-out",
                 Path("other.pem")});
  ASSERT_TRUE(maker.Wait());
  setenv("SSL_CERT_FILE", Bundle().c_str(), 1);
  const auto response = OpenClient({.ca_bundle = Path("other.pem")})->Send(Get(url_));
  unsetenv("SSL_CERT_FILE");
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls) << response.GetStatus().Message();
}

TEST_F(CurlTls, RefusesACertificateForAnotherName) {
  Serve("DNS:elsewhere.example");
  if (HasFatalFailure()) return;
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(Get(url_));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls);
}

TEST_F(CurlTls, RefusesAnExpiredCertificate) {
  MakeCertificate("IP:127.0.0.1");
  Expire();
  Start({"-HTTP"});
  if (HasFatalFailure()) return;
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(Get(url_));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls);
  EXPECT_THAT(response.GetStatus().Message(), HasSubstr("expired"));
}

TEST_F(CurlTls, RefusesATruncatedBody) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  constexpr size_t kSize = size_t{64} << 20;
  Answer("large", StrCat("Content-Length: ", kSize, "\r\n"), std::string(kSize, 'x'));
  KillingSink sink(server_);
  Request request = Get(url_ + "large");
  request.sink = &sink;
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(std::move(request));
  EXPECT_GT(sink.received, 0U);
  EXPECT_EQ(CauseOf(response.GetStatus()), "short_body") << response.GetStatus().Message();
}

// An attacker in between can close the connection, and so truncate such a body.
TEST_F(CurlTls, RefusesABodyWithoutALength) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  Answer("open", "", "all of it");
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(Get(url_ + "open"));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kNetwork);
  EXPECT_EQ(CauseOf(response.GetStatus()), "short_body");
}

TEST_F(CurlTls, AcceptsAChunkedBody) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  Answer("chunks", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n");
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(Get(url_ + "chunks"));
  ASSERT_TRUE(response.IsOk()) << response.GetStatus().Message();
  EXPECT_EQ(response->body, "abc");
}

TEST_F(CurlTls, RefusesOldVersions) {
  Serve("IP:127.0.0.1", {"-HTTP", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"});
  if (HasFatalFailure()) return;
  const auto response = OpenClient({.ca_bundle = Bundle()})->Send(Get(url_));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls) << response.GetStatus().Message();
}

TEST_F(CurlTls, RefusesAnInvalidBundle) {
  Serve("IP:127.0.0.1");
  if (HasFatalFailure()) return;
  std::ofstream(Path("empty.pem")) << "nothing";
  const auto response = OpenClient({.ca_bundle = Path("empty.pem")})->Send(Get(url_));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls) << response.GetStatus().Message();
}

TEST(CurlTlsHandshake, AServerWithoutTls) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadBody(1);
    connection.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto response = OpenClient()->Send(Get("https" + server.Url().substr(4)));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTls) << response.GetStatus().Message();
}

TEST(CurlTlsHandshake, AResetIsANetworkFailure) {
  const LoopbackServer server([](ServerConnection &connection) {
    connection.ReadBody(1);
    connection.Reset();
  });
  const auto response = OpenClient()->Send(Get("https" + server.Url().substr(4)));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kNetwork) << response.GetStatus().Message();
  EXPECT_EQ(CauseOf(response.GetStatus()), "reset");
}

TEST(CurlTlsHandshake, AnEndIsANetworkFailure) {
  const LoopbackServer server([](ServerConnection &connection) { connection.ReadBody(1); });
  const auto response = OpenClient()->Send(Get("https" + server.Url().substr(4)));
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kNetwork) << response.GetStatus().Message();
}

TEST(CurlTlsHandshake, AnEndlessHandshakeIsAConnectTimeout) {
  const LoopbackServer server([](ServerConnection &connection) { connection.WaitForEnd(); });
  Request request = Get("https" + server.Url().substr(4));
  request.timeouts.connect = std::chrono::milliseconds(100);
  const auto response = OpenClient()->Send(request);
  EXPECT_EQ(response.GetStatus().GetCode(), Code::kTimeout) << response.GetStatus().Message();
  EXPECT_EQ(CauseOf(response.GetStatus()), "connect");
}

}  // namespace
}  // namespace smdebug::net::curl_tls_test
