module github.com/libsmdebug/libsmdebug/examples/go

go 1.24

require github.com/libsmdebug/libsmdebug/bindings/go v1.0.0

require gonum.org/v1/gonum v0.16.0

replace github.com/libsmdebug/libsmdebug/bindings/go => ../../bindings/go
