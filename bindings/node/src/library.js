// Loads the library, and declares its functions when they are first called.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const koffi = require('koffi');
const raw = require('./raw.js');
const {SmdebugError} = require('./error.js');

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

// The functions of the library, by their names in C.
const lib = new Proxy({}, {
  get(declared, name) {
    if (library === undefined) load();
    if (declared[name] === undefined) {
      const [result, ...parameters] = raw.functions[name];
      // A pointer to a structure is decoded by those who know how long it is valid.
      const returned = result.startsWith('smd_') || result === 'int64_t *' ? 'void *' : result;
      declared[name] = library.func(name, returned, parameters.map(typeOf));
    }
    return declared[name];
  },
});

// Throws the error that a function of the library returned, if it is one.
function check(error) {
  if (error === null) return;
  try {
    const code = lib.smd_code_name(lib.smd_error_code(error));
    throw new SmdebugError(code, lib.smd_error_message(error), (key) => lib.smd_error_detail(error, key));
  } finally {
    lib.smd_error_free(error);
  }
}

// Calls a function that stores its result through its last parameter; returns the result.
function out(name, ...values) {
  const slot = [null];
  check(lib[name](...values.map(checkText), slot));
  return slot[0];
}

// Calls a function that can fail.
function call(name, ...values) {
  check(lib[name](...values.map(checkText)));
}

// C would end a text at a NUL.
function checkText(value) {
  if (typeof value === 'string' && value.includes('\0')) {
    throw new SmdebugError('INVALID_ARGUMENT', `the text ${JSON.stringify(value)} contains a NUL; remove it`);
  }
  return value;
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

const integers = (list) => using('integers', list, () =>
  Array.from({length: Number(lib.smd_integers_count(list))}, (_, at) => Number(lib.smd_integers_get(list, at))));

// Makes a list of texts, calls `use` with it, and frees it.
const withStrings = (texts, use) => using('strings', out('smd_strings_new'), (list) => {
  for (const text of texts) call('smd_strings_add', list, text);
  return use(list);
});

// Copies memory of the library.
const bytesAt = (address, size) => (size === 0 ? new ArrayBuffer(0) : koffi.view(address, size).slice(0));

const decode = (address, structure) => koffi.decode(address, types[structure]);

module.exports = {bytesAt, call, check, decode, integers, koffi, lib, out, strings, types, using, withStrings, constants: raw.constants};
