package smdebug_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/libsmdebug/libsmdebug/bindings/go/smdebug"
)

// serve runs an S3 service with an empty bucket; put answers requests that store.
func serve(t *testing.T, put http.HandlerFunc) (settings map[string]string) {
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case request.Method == http.MethodPut || request.Method == http.MethodPost:
			put(answer, request)
		case request.URL.Query().Has("list-type"):
			answer.Write([]byte("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"))
		default:
			answer.WriteHeader(http.StatusNotFound)
			answer.Write([]byte("<Error><Code>NoSuchKey</Code></Error>"))
		}
	}))
	t.Cleanup(server.Close)
	return map[string]string{
		"s3_endpoint": server.URL, "s3_access_key": "key", "s3_secret_key": "secret",
		"s3_region": "us-east-1", "s3_max_attempts": "1", "s3_first_byte_seconds": "1",
	}
}

// A timeout of the server is an error, not a reason to wait longer.
func TestAServersTimeoutIsAnError(t *testing.T) {
	over := make(chan struct{})
	settings := serve(t, func(http.ResponseWriter, *http.Request) { <-over })
	t.Cleanup(func() { close(over) })
	options := everything()
	options.Settings = settings
	hook := newHook(t, "s3://bucket/run", options)
	recordStep(t, hook, loss)
	within(t, 20*time.Second, func() {
		failure := mustFail(t, hook.Flush(context.Background()), smdebug.ErrTimeout)
		if failure.Detail("cause") == "" || !failure.Retryable() {
			t.Errorf("%v has no cause", failure)
		}
	})
}

func TestAnAnswerOfTheServersHasItsFacts(t *testing.T) {
	settings := serve(t, func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(http.StatusForbidden)
		answer.Write([]byte("<Error><Code>AccessDenied</Code><RequestId>42</RequestId></Error>"))
	})
	options := everything()
	options.Settings = settings
	hook := newHook(t, "s3://bucket/run", options)
	err := hook.Step(smdebug.Train, func(int64) error { return hook.Save("x", smdebug.Scalar(1)) })
	failure := mustFail(t, errors.Join(err, hook.Close()), smdebug.ErrPermission)
	if failure.Detail("s3_code") != "AccessDenied" || failure.Detail("http_status") != "403" {
		t.Errorf("%v has not its facts", failure)
	}
	findings := got(smdebug.CheckStore("s3://bucket/run", settings))(t)
	last := findings[len(findings)-1]
	if mustFail(t, last.Err, smdebug.ErrPermission); last.Name != "write" || last.Message == "" {
		t.Error(findings)
	}
}

func TestCheckStore(t *testing.T) {
	for _, finding := range got(smdebug.CheckStore(t.TempDir(), nil))(t) {
		if finding.Err != nil || finding.Name == "" {
			t.Error(finding)
		}
	}
	_, err := smdebug.CheckStore("a\x00b", nil)
	mustFail(t, err, smdebug.ErrInvalidArgument)
	_, err = smdebug.CheckStore("run", map[string]string{"s3_regoin": ""})
	mustFail(t, err, smdebug.ErrInvalidArgument)
}
