// Loads the library, and declares its functions when they are first called.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const koffi = require('koffi');
const raw = require('./raw.js');
const {number, optionalText, shown, texts, whole} = require('./arguments.js');
const {SmdebugError, invalid} = require('./error.js');

const {SMD_VERSION_MAJOR, SMD_VERSION_MINOR} = raw.constants;
const types = {};
for (const [name, members] of Object.entries(raw.structures)) {
  types[name] = koffi.struct(Object.fromEntries(Object.entries(members).map(([key, type]) => [key, typeOf(type)])));
}

// Returns koffi's type for one of raw.js, such as 'smd_finding *' or 'out int64_t *'.  Structures
// have no names in koffi, where all packages of a process share them.
function typeOf(text) {
  if (text.startsWith('out ')) return koffi.out(typeOf(text.slice(4)));
  const [base, pointers] = text.split(' ');
  const type = types[base] ?? base;
  return pointers === undefined ? type : koffi.pointer(type, pointers.length);
}

// The library is the file that SMDEBUG_LIBRARY names, or the package's own for this processor, or
// the system's.
function file() {
  if (process.env.SMDEBUG_LIBRARY) return process.env.SMDEBUG_LIBRARY;
  const own = path.join(__dirname, '..', 'native', `linux-${process.arch}`, 'libsmdebug.so.1');
  return fs.existsSync(own) ? own : 'libsmdebug.so.1';
}

let library;

function load() {
  try {
    library = koffi.load(file());
  } catch (error) {
    const hint = 'install libsmdebug, or set SMDEBUG_LIBRARY to the path of libsmdebug.so.1';
    throw new SmdebugError('NOT_FOUND', `${hint}: ${error.message}`);
  }
  try {
    check(lib.smd_require_abi((SMD_VERSION_MAJOR << 16) | SMD_VERSION_MINOR));
  } catch (error) {
    library = undefined;
    throw error;
  }
}

// A number would be an address to koffi.
function pointer(value, what) {
  if (typeof value !== 'object' && typeof value !== 'bigint') {
    throw invalid(`${what} is ${shown(value)}; pass a handle`);
  }
  return value;
}

// Returns what checks the arguments for a parameter of a type of raw.js.
function checkOf(type) {
  if (type === 'str') return optionalText;
  if (type.includes('*')) return pointer;
  return type === 'double' ? number : whole;
}

// Declares a function of the library, with `async` to call it on another thread: that returns a
// promise.  Arguments that C cannot take are refused.
function declared(name) {
  const [result, ...parameters] = raw.functions[name];
  // A pointer to a structure is decoded by those who know how long it is valid.
  const returned = result.startsWith('smd_') || result === 'int64_t *' ? 'void *' : result;
  const native = library.func(name, returned, parameters.map(typeOf));
  const checks = parameters.map(checkOf);
  const whats = parameters.map((_, at) => `argument ${at + 1} of ${name}`);
  const checked = (values) => {
    for (let at = 0; at < values.length; ++at) values[at] = checks[at](values[at], whats[at]);
    return values;
  };
  const called = (...values) => native(...checked(values));
  called.async = (...values) => new Promise((resolve, reject) => {
    native.async(...checked(values), (error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
  return called;
}

// The functions of the library, by their names in C.
const lib = new Proxy({}, {
  get(functions, name) {
    if (library === undefined) load();
    functions[name] ??= declared(name);
    return functions[name];
  },
});

// Throws the error that a function of the library returned, if it is one.
function check(error) {
  if (error === null) return;
  try {
    throw new SmdebugError(lib.smd_code_name(lib.smd_error_code(error)), lib.smd_error_message(error), {
      detailOf: (key) => lib.smd_error_detail(error, key),
      isRetryable: lib.smd_error_is_retryable(error) === 1,
    });
  } finally {
    lib.smd_error_free(error);
  }
}

// Calls a function that stores its results through its last parameters; returns the first of them,
// or all if there are several.
function out(name, ...values) {
  const slots = raw.functions[name].slice(1 + values.length).map(() => [null]);
  check(lib[name](...values, ...slots));
  return slots.length === 1 ? slots[0][0] : slots.map(([result]) => result);
}

// Calls a function that can fail.
function call(name, ...values) {
  check(lib[name](...values));
}

// Calls a function that can fail on another thread, while other work goes on.
async function later(name, ...values) {
  check(await lib[name].async(...values));
}

// Calls `use` with a handle that the function `make` made, and frees the handle by `kind`.
function using(kind, handle, use) {
  try {
    return use(handle);
  } finally {
    lib[`smd_${kind}_free`](handle);
  }
}

const strings = (list) => using('strings', list, () =>
  Array.from({length: Number(lib.smd_strings_count(list))}, (_, at) => lib.smd_strings_get(list, at)));

// Makes a list of texts, which `what` names in errors, calls `use` with it, and frees it.
const withStrings = (given, what, use) => using('strings', out('smd_strings_new'), (list) => {
  for (const text of texts(given, what)) call('smd_strings_add', list, text);
  return use(list);
});

// Copies memory of the library.
const bytesAt = (address, size) => (size === 0 ? new ArrayBuffer(0) : koffi.view(address, size).slice(0));

// Copies `count` pointers of the library.
const pointersAt = (address, count) => Array.from(new BigUint64Array(bytesAt(address, 8 * Number(count))));

const integers = (list) => using('integers', list, () => {
  const bytes = bytesAt(lib.smd_integers_data(list), 8 * Number(lib.smd_integers_count(list)));
  return Array.from(new BigInt64Array(bytes), Number);
});

const decode = (address, structure) => koffi.decode(address, types[structure]);

module.exports = {
  bytesAt, call, check, decode, integers, koffi, later, lib, out, pointersAt, strings, types, using, withStrings,
  constants: raw.constants,
};
