package raw

/*
#include <smdebug.h>

extern void smdebugGoLog(uintptr_t log, smd_log_level level, char *message);
extern void smdebugGoLogEnd(uintptr_t log);

// A Go handle is a number: the garbage collector refuses to see one as a pointer.

static void log_line(void *log, smd_log_level level, const char *message) {
  smdebugGoLog((uintptr_t)log, level, (char *)message);
}

static void log_end(void *log) { smdebugGoLogEnd((uintptr_t)log); }

static uintptr_t hook_options_set_log(uintptr_t options, smd_log_level level, uintptr_t log) {
  return (uintptr_t)smd_hook_options_set_log((smd_hook_options *)options, level, log_line,
                                             (void *)log, log_end);
}

static uintptr_t trial_options_set_log(uintptr_t options, smd_log_level level, uintptr_t log) {
  return (uintptr_t)smd_trial_options_set_log((smd_trial_options *)options, level, log_line,
                                              (void *)log, log_end);
}

static uintptr_t profiler_options_set_log(uintptr_t options, smd_log_level level, uintptr_t log) {
  return (uintptr_t)smd_profiler_options_set_log((smd_profiler_options *)options, level, log_line,
                                                 (void *)log, log_end);
}

static uintptr_t profile_rules_set_log(uintptr_t rules, smd_log_level level, uintptr_t log) {
  return (uintptr_t)smd_profile_rules_set_log((smd_profile_rules *)rules, level, log_line,
                                              (void *)log, log_end);
}
*/
import "C"

import "runtime/cgo"

// Log takes one line of the library's, on any thread.  It must not panic.
type Log func(level int32, message string)

// HookOptionsSetLog is smd_hook_options_set_log.
func HookOptionsSetLog(options Smd_hook_options, level int32, log Log) Smd_error {
	return SwigcptrSmd_error(C.hook_options_set_log(C.uintptr_t(options.Swigcptr()),
		C.smd_log_level(level), C.uintptr_t(cgo.NewHandle(log))))
}

// TrialOptionsSetLog is smd_trial_options_set_log.
func TrialOptionsSetLog(options Smd_trial_options, level int32, log Log) Smd_error {
	return SwigcptrSmd_error(C.trial_options_set_log(C.uintptr_t(options.Swigcptr()),
		C.smd_log_level(level), C.uintptr_t(cgo.NewHandle(log))))
}

// ProfilerOptionsSetLog is smd_profiler_options_set_log.
func ProfilerOptionsSetLog(options Smd_profiler_options, level int32, log Log) Smd_error {
	return SwigcptrSmd_error(C.profiler_options_set_log(C.uintptr_t(options.Swigcptr()),
		C.smd_log_level(level), C.uintptr_t(cgo.NewHandle(log))))
}

// ProfileRulesSetLog is smd_profile_rules_set_log.
func ProfileRulesSetLog(rules Smd_profile_rules, level int32, log Log) Smd_error {
	return SwigcptrSmd_error(C.profile_rules_set_log(C.uintptr_t(rules.Swigcptr()),
		C.smd_log_level(level), C.uintptr_t(cgo.NewHandle(log))))
}

//export smdebugGoLog
func smdebugGoLog(log C.uintptr_t, level C.smd_log_level, message *C.char) {
	cgo.Handle(log).Value().(Log)(int32(level), C.GoString(message))
}

// Called once, when no line can come any more, also if the log could not be set.
//
//export smdebugGoLogEnd
func smdebugGoLogEnd(log C.uintptr_t) { cgo.Handle(log).Delete() }
