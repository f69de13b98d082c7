"""Simulates on loopback the operations of Amazon SNS and SageMaker that rules' actions use.

The clients are boto3's; names, parameters and forms are those of the services.
"""

from __future__ import annotations

import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_SNS = "http://sns.amazonaws.com/doc/2010-03-31/"
_TOPIC = "arn:aws:sns:us-east-1:000000000000:"


class Services:
    """The state of the services, and the requests that they got."""

    def __init__(self, jobs=()):
        self.jobs = list(jobs)
        self.subscriptions = []
        self.messages = []
        self.stopped = []
        self.calls = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def sns(self, form):
        action = form["Action"]
        self.calls.append(action)
        return action, getattr(self, f"_{action}")(form)

    def _CreateTopic(self, form):
        return f"<TopicArn>{_TOPIC}{form['Name']}</TopicArn>"

    def _ListSubscriptions(self, form):
        # Two subscriptions per page, after the token.
        begin = int(form.get("NextToken", 0))
        page = self.subscriptions[begin : begin + 2]
        members = "".join(
            f"<member><TopicArn>{topic}</TopicArn><Protocol>{protocol}</Protocol>"
            f"<Endpoint>{endpoint}</Endpoint></member>"
            for topic, protocol, endpoint in page
        )
        more = begin + 2 < len(self.subscriptions)
        token = f"<NextToken>{begin + 2}</NextToken>" if more else ""
        return f"<Subscriptions>{members}</Subscriptions>{token}"

    def _Subscribe(self, form):
        self.subscriptions.append((form["TopicArn"], form["Protocol"], form["Endpoint"]))
        return "<SubscriptionArn>pending confirmation</SubscriptionArn>"

    def _Publish(self, form):
        self.messages.append(form)
        return f"<MessageId>{len(self.messages)}</MessageId>"

    def sagemaker(self, operation, request):
        self.calls.append(operation)
        if operation == "StopTrainingJob":
            self.stopped.append(request["TrainingJobName"])
            return {}
        found = [name for name in self.jobs if request["NameContains"] in name]
        begin = int(request.get("NextToken", 0))
        page = {
            "TrainingJobSummaries": [
                {"TrainingJobName": name, "TrainingJobArn": f"arn:{name}",
                 "CreationTime": 1.0, "TrainingJobStatus": "InProgress"}
                for name in found[begin : begin + 1]
            ]
        }
        return {**page, "NextToken": str(begin + 1)} if begin + 1 < len(found) else page


def _handler_of(services):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            target = self.headers.get("X-Amz-Target")
            if target is not None:
                operation = target.partition(".")[2]
                answer = json.dumps(services.sagemaker(operation, json.loads(body)))
                self._answer("application/x-amz-json-1.1", answer)
                return
            form = dict(urllib.parse.parse_qsl(body.decode()))
            action, result = services.sns(form)
            self._answer(
                "text/xml",
                f'<{action}Response xmlns="{_SNS}"><{action}Result>{result}</{action}Result>'
                f"<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>",
            )

        def _answer(self, kind, text):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *unused):
            pass

    return Handler
