#include "serve/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "serve/gzip.h"
#include "serve/work_queue.h"
#include "smdebug.hpp"

namespace smdebug::cli::serve {
namespace {

constexpr size_t kThreads = 2;
constexpr size_t kMostJobs = 256;
constexpr size_t kBlock = size_t{16} * 1024;  // events are sent in blocks of at most this size
constexpr size_t kMostParameters = 128;

// What one request needs until it is answered.
struct Pending {
  std::mutex mutex;
  std::optional<Response> response;  // of work
  std::shared_ptr<EventStream> stream;
  bool has_begun = false;
  bool accepts_gzip = false;
};

std::string HeaderOf(MHD_Connection *connection, const char *name) {
  const char *const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

MHD_Result TakeParameter(void *to, MHD_ValueKind, const char *name, const char *value) {
  auto &query = static_cast<Request *>(to)->query;
  if (query.size() >= kMostParameters) return MHD_NO;
  try {
    query.emplace(name, value == nullptr ? "" : value);
  } catch (const std::bad_alloc &) {
    return MHD_NO;
  }
  return MHD_YES;
}

bool HasBody(MHD_Connection *connection) {
  const std::string length = HeaderOf(connection, "Content-Length");
  return (!length.empty() && length != "0") || !HeaderOf(connection, "Transfer-Encoding").empty();
}

Request ReadRequest(MHD_Connection *connection, const char *url, const char *method) {
  Request request;
  request.method = method;
  request.path = url;
  request.host = HeaderOf(connection, "Host");
  request.cookies = HeaderOf(connection, "Cookie");
  request.authorization = HeaderOf(connection, "Authorization");
  request.last_event_id = HeaderOf(connection, "Last-Event-ID");
  request.fetch_site = HeaderOf(connection, "Sec-Fetch-Site");
  request.accepts_gzip = AcceptsGzip(HeaderOf(connection, "Accept-Encoding"));
  static_cast<void>(
      MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, TakeParameter, &request));
  return request;
}

void AddHeader(MHD_Response *response, const char *name, const std::string &value) {
  static_cast<void>(MHD_add_response_header(response, name, value.c_str()));
}

// A page that another one may have opened is cut off from it.  This takes the browser a new
// process, 20 ms, so it is spared where no page asks, as for an address that was typed.
bool MayHaveOpener(MHD_Connection *connection) {
  const std::string site = HeaderOf(connection, "Sec-Fetch-Site");
  return site != "none" && site != "same-origin";
}

// No script, style, picture or frame comes from elsewhere, and no page shows this one in a frame.
void AddSafeHeaders(MHD_Connection *connection, MHD_Response *response) {
  AddHeader(response, "Content-Security-Policy",
            "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "object-src 'none'");
  AddHeader(response, "X-Content-Type-Options", "nosniff");
  AddHeader(response, "X-Frame-Options", "DENY");
  AddHeader(response, "Referrer-Policy", "no-referrer");
  if (MayHaveOpener(connection)) AddHeader(response, "Cross-Origin-Opener-Policy", "same-origin");
  AddHeader(response, "Cross-Origin-Resource-Policy", "same-origin");
}

MHD_Result Queue(MHD_Connection *connection, unsigned status, MHD_Response *response) {
  if (response == nullptr) return MHD_NO;
  AddSafeHeaders(connection, response);
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result Send(MHD_Connection *connection, const Response &response) {
  const std::string &body = response.body;
  MHD_Response *const made = MHD_create_response_from_buffer(
      body.size(), const_cast<char *>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (made == nullptr) return MHD_NO;
  AddHeader(made, "Content-Type", response.type);
  bool is_cached = false;
  for (const auto &[name, value] : response.headers) {
    AddHeader(made, name.c_str(), value);
    is_cached = is_cached || name == "Cache-Control";
  }
  if (!is_cached) AddHeader(made, "Cache-Control", "no-store");
  return Queue(connection, static_cast<unsigned>(response.status), made);
}

// A stream and its connection, for libmicrohttpd's callbacks.
struct StreamReader {
  MHD_Connection *connection;
  std::shared_ptr<EventStream> stream;
};

ssize_t ReadStream(void *from, uint64_t, char *out, size_t most) {
  const auto *const reader = static_cast<StreamReader *>(from);
  MHD_Connection *const connection = reader->connection;
  try {
    const ptrdiff_t count = reader->stream->Read(
        out, most, [connection] { MHD_suspend_connection(connection); },
        [connection] { MHD_resume_connection(connection); });
    return count == EventStream::kEnd ? MHD_CONTENT_READER_END_OF_STREAM : count;
  } catch (const std::exception &) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
}

void FreeStream(void *reader) { delete static_cast<StreamReader *>(reader); }

MHD_Result SendStream(MHD_Connection *connection, const std::shared_ptr<EventStream> &stream) {
  auto reader = std::make_unique<StreamReader>(StreamReader{connection, stream});
  MHD_Response *const made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlock, ReadStream,
                                                               reader.get(), FreeStream);
  if (made == nullptr) return MHD_NO;
  static_cast<void>(reader.release());
  AddHeader(made, "Content-Type", "text/event-stream");
  AddHeader(made, "Cache-Control", "no-store");
  AddHeader(made, "X-Accel-Buffering", "no");  // a proxy must pass events on
  return Queue(connection, MHD_HTTP_OK, made);
}

Response Try(const std::function<Response()> &work, bool accepts_gzip) {
  try {
    Response response = work();
    if (accepts_gzip) Compress(&response);
    return response;
  } catch (const BadRequest &error) {
    return TextResponse(error.Status(), error.what());
  } catch (const Error &error) {
    return TextResponse(500, error.what());
  } catch (const std::bad_alloc &) {
    return TextResponse(503, "The server is out of memory.");
  } catch (const std::exception &error) {
    return TextResponse(500, error.what());
  }
}

}  // namespace

class HttpServer::Daemon {
 public:
  Daemon(const ServerOptions &options, Answer answer)
      : answer_(std::move(answer)), queue_(kThreads, kMostJobs) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    std::array<MHD_OptionItem, 3> tls{};
    size_t count = 0;
    if (options.has_tls) {
      flags |= MHD_USE_TLS;
      tls[count++] = {MHD_OPTION_HTTPS_MEM_CERT, 0,
                      const_cast<char *>(options.certificate.c_str())};
      tls[count++] = {MHD_OPTION_HTTPS_MEM_KEY, 0, const_cast<char *>(options.key.c_str())};
    }
    tls[count] = {MHD_OPTION_END, 0, nullptr};
    daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, Handle, this, MHD_OPTION_EXTERNAL_LOGGER,
                               Ignore, nullptr, MHD_OPTION_LISTEN_SOCKET, options.socket,
                               MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, size_t{kMostHeaderBytes + 8192},
                               MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,
                               MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
                               Complete, nullptr, MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) {
      throw Error(SMD_IO, options.has_tls
                              ? "the server cannot start; check the certificate and its key"
                              : "the server cannot start");
    }
  }
  Daemon(const Daemon &) = delete;
  Daemon &operator=(const Daemon &) = delete;

  ~Daemon() {
    const int socket = MHD_quiesce_daemon(daemon_);
    if (socket >= 0) static_cast<void>(close(socket));
    ends_ = true;
    static_cast<void>(queue_.End());  // each job that was added resumes its connection
    MHD_stop_daemon(daemon_);
  }

 private:
  static void Ignore(void *, const char *, va_list) {}

  static MHD_Result Handle(void *self, MHD_Connection *connection, const char *url,
                           const char *method, const char *, const char *, size_t *upload_size,
                           void **state) {
    try {
      return static_cast<Daemon *>(self)->Answers(connection, url, method, upload_size, state);
    } catch (const std::exception &) {
      return MHD_NO;  // closes the connection
    }
  }

  MHD_Result Answers(MHD_Connection *connection, const char *url, const char *method,
                     size_t *upload_size, void **state) {
    if (*state == nullptr) {
      *state = new std::shared_ptr<Pending>(std::make_shared<Pending>());
      // An answer before the body closes the connection.
      return HasBody(connection) ? Refuse(connection, ReadRequest(connection, url, method))
                                 : MHD_YES;
    }
    const std::shared_ptr<Pending> pending = *static_cast<std::shared_ptr<Pending> *>(*state);
    if (*upload_size > 0) return MHD_NO;  // no request has a body
    if (pending->has_begun) {
      const std::lock_guard lock(pending->mutex);
      return pending->response ? Send(connection, *pending->response) : MHD_YES;
    }
    pending->has_begun = true;
    const Request request = ReadRequest(connection, url, method);
    pending->accepts_gzip = request.accepts_gzip;
    Reply reply = answer_(request);
    if (reply.stream) {
      pending->stream = reply.stream;
      return SendStream(connection, reply.stream);
    }
    if (reply.response) return Send(connection, *reply.response);
    return Begin(connection, pending, std::move(reply.work));
  }

  // Answers a request with a body as if it had none if that fails, else that it may not have one.
  MHD_Result Refuse(MHD_Connection *connection, const Request &request) {
    const Reply reply = answer_(request);
    if (reply.stream) reply.stream->Leave();
    const bool fails = reply.response && reply.response->status >= 400;
    return Send(connection,
                fails ? *reply.response : TextResponse(413, "A request may not have a body."));
  }

  // Suspends the connection while another thread works.
  MHD_Result Begin(MHD_Connection *connection, const std::shared_ptr<Pending> &pending,
                   std::function<Response()> work) {
    const std::lock_guard lock(pending->mutex);
    MHD_suspend_connection(connection);
    const bool is_added = queue_.Add([this, connection, pending, work = std::move(work)] {
      Response response =
          ends_ ? TextResponse(503, "The server stops.") : Try(work, pending->accepts_gzip);
      const std::lock_guard held(pending->mutex);
      pending->response = std::move(response);
      MHD_resume_connection(connection);
    });
    if (!is_added) {
      pending->response = TextResponse(503, "Too many requests are waiting; try again later.");
      MHD_resume_connection(connection);
    }
    return MHD_YES;
  }

  static void Complete(void *, MHD_Connection *, void **state, MHD_RequestTerminationCode) {
    const auto *const pending = static_cast<std::shared_ptr<Pending> *>(*state);
    if (pending == nullptr) return;
    if ((*pending)->stream) (*pending)->stream->Leave();
    delete pending;
    *state = nullptr;
  }

  const Answer answer_;
  WorkQueue queue_;
  std::atomic<bool> ends_{false};
  MHD_Daemon *daemon_ = nullptr;
};

bool HttpServer::HasTls() { return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES; }

HttpServer::HttpServer(const ServerOptions &options, Answer answer)
    : daemon_(std::make_unique<Daemon>(options, std::move(answer))) {}

HttpServer::~HttpServer() = default;

}  // namespace smdebug::cli::serve
