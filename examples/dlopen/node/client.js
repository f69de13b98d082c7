// Records a trial and reads it back, with koffi: node client.js LIBRARY OUT_DIR
'use strict';
const koffi = require('koffi');

const [path, outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error('usage: node client.js LIBRARY OUT_DIR');
const [ANY_MODE, GLOBAL_MODE, FLOAT64, ABI_LEVEL] = [0, 4, 3, 0x10000];
const View = koffi.struct('smd_tensor_view', {
  struct_size: 'size_t', data: 'double *', shape: 'int64_t *', strides: 'int64_t *', ndim: 'int32_t', dtype: 'int32_t',
});

const library = koffi.load(path);
const messageOf = library.func('const char *smd_error_message(void *)');
const free = (kind, handle) => library.func(`void smd_${kind}_free(void *)`)(handle);

// Declares a function of the library that returns an error or NULL; the error is thrown.
function fallible(name, ...parameters) {
  const call = library.func(name, 'void *', parameters);
  return (...values) => {
    const error = call(...values);
    if (error === null) return;
    const message = messageOf(error);
    free('error', error);
    throw new Error(message);
  };
}

// Declares a function that creates a handle, which it stores through its last parameter.
function maker(name, ...parameters) {
  const call = fallible(name, ...parameters, koffi.out(koffi.pointer('void *')));
  return (...values) => {
    const out = [null];
    call(...values, out);
    return out[0];
  };
}

function record() {
  const every = maker('smd_save_config_new')();
  const setEvery = fallible('smd_save_config_set', 'void *', 'int', 'int64_t', 'int64_t', 'int64_t', 'void *', 'size_t');
  setEvery(every, ANY_MODE, 1, 0, -1, null, 0);
  const options = maker('smd_hook_options_new')();
  fallible('smd_hook_options_set', 'void *', 'str', 'str')(options, 'out_dir', outDir);
  fallible('smd_hook_options_set_save_config', 'void *', 'void *')(options, every);
  const hook = maker('smd_hook_new', 'void *')(options);
  const beginStep = fallible('smd_hook_begin_step', 'void *', 'void *');
  const save = fallible('smd_hook_save', 'void *', 'str', koffi.pointer(View));
  const endStep = fallible('smd_hook_end_step', 'void *');
  for (let step = 0; step < 4; ++step) {
    beginStep(hook, null);
    save(hook, 'loss', {struct_size: koffi.sizeof(View), data: [1 / (1 + step)], ndim: 0, dtype: FLOAT64});
    endStep(hook);
  }
  fallible('smd_hook_close', 'void *')(hook);
  free('hook', hook), free('hook_options', options), free('save_config', every);
}

function readBack() {
  const trial = maker('smd_trial_open', 'str', 'void *')(outDir, null);
  const tensor = maker('smd_trial_tensor', 'void *', 'str')(trial, 'loss');
  const valueAt = maker('smd_tensor_value', 'void *', 'int64_t', 'int32_t', 'str');
  const toDouble = fallible('smd_value_to_double', 'void *', koffi.out(koffi.pointer('double')));
  for (let step = 0; step < 4; ++step) {
    const [value, loss] = [valueAt(tensor, step, GLOBAL_MODE, null), [0]];
    toDouble(value, loss);
    console.log(`loss at step ${step}: ${loss[0]}`);
    free('value', value);
  }
  free('tensor', tensor), free('trial', trial);
}

try {
  fallible('smd_require_abi', 'uint32_t')(ABI_LEVEL);
  record();
  readBack();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
