module github.com/libsmdebug/libsmdebug/bindings/go

go 1.24
