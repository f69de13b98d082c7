module github.com/libsmdebug/libsmdebug/tests/faults/go

go 1.24

require github.com/libsmdebug/libsmdebug/bindings/go v1.0.0

replace github.com/libsmdebug/libsmdebug/bindings/go => ../../../bindings/go
