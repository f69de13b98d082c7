-- Records a trial and reads it back, by LuaJIT's FFI: luajit client.lua LIBRARY OUT_DIR
local ffi = require("ffi")

ffi.cdef([[
typedef void smd_error, smd_handle;
typedef struct { size_t struct_size; const void *data; const int64_t *shape, *strides; int32_t ndim, dtype; } smd_view;
smd_error *smd_require_abi(uint32_t wanted);
const char *smd_error_message(const smd_error *error);
void smd_error_free(smd_error *error);
smd_error *smd_save_config_set(smd_handle *config, int32_t mode, int64_t every, int64_t first, int64_t end,
                               const int64_t *steps, size_t step_count);
void smd_save_config_free(smd_handle *config);
smd_error *smd_hook_options_new(smd_handle **out), *smd_save_config_new(smd_handle **out);
smd_error *smd_hook_options_set(smd_handle *options, const char *name, const char *value);
smd_error *smd_hook_options_set_save_config(smd_handle *options, const smd_handle *config);
void smd_hook_options_free(smd_handle *options);
smd_error *smd_hook_new(const smd_handle *options, smd_handle **out);
smd_error *smd_hook_begin_step(smd_handle *hook, int64_t *global_step);
smd_error *smd_hook_save(smd_handle *hook, const char *tensor, const smd_view *view);
smd_error *smd_hook_end_step(smd_handle *hook), *smd_hook_close(smd_handle *hook);
void smd_hook_free(smd_handle *hook);
smd_error *smd_trial_open(const char *path, const smd_handle *options, smd_handle **out);
smd_error *smd_trial_tensor(smd_handle *trial, const char *name, smd_handle **out);
void smd_trial_free(smd_handle *trial);
smd_error *smd_tensor_value(smd_handle *tensor, int64_t step, int32_t mode, const char *worker, smd_handle **out);
void smd_tensor_free(smd_handle *tensor);
smd_error *smd_value_to_double(const smd_handle *value, double *out);
void smd_value_free(smd_handle *value);
]])
local ANY_MODE, GLOBAL_MODE, FLOAT64, ABI_LEVEL = 0, 4, 3, 0x10000
assert(#arg == 2, "usage: luajit client.lua LIBRARY OUT_DIR")
local smd = ffi.load(arg[1])

local function check(err)
  if err == nil then return end
  error(ffi.string(smd.smd_error_message(ffi.gc(err, smd.smd_error_free))), 0)
end

-- The handle that smd_<what> makes of the other arguments; the collector frees it as a <kind>.
local function new(kind, what, ...)
  local out, count = ffi.new("smd_handle *[1]"), select("#", ...)
  local arguments = { ... }
  arguments[count + 1] = out
  check(smd["smd_" .. what](unpack(arguments, 1, count + 1)))
  return ffi.gc(out[0], smd["smd_" .. kind .. "_free"])
end

local function record(out_dir)
  local every, options = new("save_config", "save_config_new"), new("hook_options", "hook_options_new")
  check(smd.smd_save_config_set(every, ANY_MODE, 1, 0, -1, nil, 0))
  check(smd.smd_hook_options_set(options, "out_dir", out_dir))
  check(smd.smd_hook_options_set_save_config(options, every))
  local hook, loss = new("hook", "hook_new", options), ffi.new("double[1]")
  for step = 0, 3 do
    loss[0] = 1 / (1 + step)
    check(smd.smd_hook_begin_step(hook, nil))
    local view = ffi.new("smd_view", ffi.sizeof("smd_view"), loss, nil, nil, 0, FLOAT64)
    check(smd.smd_hook_save(hook, "loss", view))
    check(smd.smd_hook_end_step(hook))
  end
  check(smd.smd_hook_close(hook))
end

local function read_back(path)
  local trial, number = new("trial", "trial_open", path, nil), ffi.new("double[1]")
  local tensor = new("tensor", "trial_tensor", trial, "loss")
  for step = 0, 3 do
    check(smd.smd_value_to_double(new("value", "tensor_value", tensor, step, GLOBAL_MODE, nil), number))
    print(string.format("loss at step %d: %g", step, number[0]))
  end
end

local is_good, message = pcall(function()
  check(smd.smd_require_abi(ABI_LEVEL))
  record(arg[2])
  read_back(arg[2])
end)
if not is_good then io.stderr:write(message, "\n") end
os.exit(is_good, true)
