// Modes, element types, and tensors in the memory of JavaScript.
'use strict';
const {bytesAt, constants, koffi, lib, out, strings, types, using} = require('./library.js');
const {shown, text} = require('./arguments.js');
const {invalid} = require('./error.js');

const MODES = {train: 1, eval: 2, predict: 3, global: 4};
const ACTIONS = ['continue', 'warn', 'stop'];
const LEVELS = ['finding', 'worth_a_look'];

// The typed array that holds the elements of each type.  16- and 8-bit floats are their bits, a
// complex number is two elements, and a bool a byte.
const ARRAYS = {
  float16: Uint16Array, bfloat16: Uint16Array, float8_e5m2: Uint8Array, float8_e4m3fn: Uint8Array,
  float32: Float32Array, float64: Float64Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  bool: Uint8Array, complex64: Float32Array, complex128: Float64Array,
};
const NUMBERS = Object.fromEntries(Object.keys(ARRAYS).map((name) => [name, constants[`SMD_${name.toUpperCase()}`]]));
const OWN_TYPES = new Map([
  [Float32Array, 'float32'], [Float64Array, 'float64'], [Int8Array, 'int8'], [Int16Array, 'int16'],
  [Int32Array, 'int32'], [BigInt64Array, 'int64'], [Uint8Array, 'uint8'], [Uint8ClampedArray, 'uint8'],
  [Uint16Array, 'uint16'], [Uint32Array, 'uint32'], [BigUint64Array, 'uint64'],
]);

// Returns the entry of a name in an object, or the index of a name in an array.
function lookedUp(table, name, what) {
  const names = Array.isArray(table) ? table : Object.keys(table);
  const at = typeof name === 'string' ? names.indexOf(name) : -1;
  if (at < 0) throw invalid(`there is no ${what} ${shown(name)}; use one of ${names.join(', ')}`);
  return Array.isArray(table) ? at : table[name];
}

const modeNumber = (mode) => lookedUp(MODES, mode, 'mode');
const actionNumber = (action) => lookedUp(ACTIONS, action, 'action');
const levelNumber = (level) => lookedUp(LEVELS, level, 'level');

const modeName = (number) => Object.keys(MODES).find((name) => MODES[name] === number) ?? 'global';

// Returns {dtype, data, shape} of what a caller saves: a number, a text, an array of texts, a typed
// array, or {dtype, data} for types that JavaScript lacks.
function described(tensor) {
  if (typeof tensor === 'number') return {dtype: 'float64', data: Float64Array.of(tensor), shape: []};
  if (typeof tensor === 'string') return {dtype: 'string', data: [tensor], shape: []};
  if (Array.isArray(tensor) && tensor.every((each) => typeof each === 'string')) {
    return {dtype: 'string', data: tensor, shape: [tensor.length]};
  }
  if (ArrayBuffer.isView(tensor)) {
    const dtype = OWN_TYPES.get(tensor.constructor) ?? [...OWN_TYPES].find(([type]) => tensor instanceof type)?.[1];
    if (dtype !== undefined) return {dtype, data: tensor, shape: [tensor.length]};
  }
  if (tensor !== null && typeof tensor === 'object' && Object.hasOwn(NUMBERS, tensor.dtype)) {
    if (!(tensor.data instanceof ARRAYS[tensor.dtype])) {
      throw invalid(`the data of a ${tensor.dtype} tensor is a ${ARRAYS[tensor.dtype].name}`);
    }
    const count = tensor.dtype.startsWith('complex') ? tensor.data.length / 2 : tensor.data.length;
    return {dtype: tensor.dtype, data: tensor.data, shape: [count]};
  }
  throw invalid('a tensor is a number, a typed array, an array of texts, or {dtype, data}');
}

// Returns a tensor as the library takes it.
function viewOf(tensor, shape) {
  const {dtype, data, shape: own} = described(tensor);
  const count = own.reduce((product, size) => product * size, 1);
  const sizes = shape === undefined ? own : Array.from(shape);
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0) ||
      sizes.reduce((product, size) => product * size, 1) !== count) {
    throw invalid(`a tensor of the shape [${sizes}] does not fit ${count} elements`);
  }
  if (dtype === 'string') data.forEach((each) => text(each, 'a text of the tensor'));
  return {
    struct_size: koffi.sizeof(types.smd_tensor_view),
    data: dtype === 'string' ? koffi.as(data, 'char **') : data,
    shape: BigInt64Array.from(sizes, BigInt),
    strides: null,
    ndim: sizes.length,
    dtype: dtype === 'string' ? constants.SMD_STRING : NUMBERS[dtype],
  };
}

// Copies a value of the library, and frees it.
function copyOf(value) {
  return using('value', value, () => {
    const dtype = lib.smd_dtype_name(lib.smd_value_dtype(value));
    const sizes = bytesAt(lib.smd_value_shape(value), 8 * lib.smd_value_ndim(value));
    const shape = Array.from(new BigInt64Array(sizes), Number);
    if (dtype === 'string') return {dtype, shape, data: strings(out('smd_value_strings', value))};
    const bytes = bytesAt(lib.smd_value_data(value), Number(lib.smd_value_nbytes(value)));
    return {dtype, shape, data: new ARRAYS[dtype](bytes)};
  });
}

module.exports = {ACTIONS, LEVELS, actionNumber, copyOf, levelNumber, modeName, modeNumber, viewOf};
