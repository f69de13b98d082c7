// Checks what a caller passes.  koffi takes a number for an address and cuts numbers that do not
// fit, so everything is checked before it reaches C.  `what` names the argument in the error.
'use strict';
const {invalid} = require('./error.js');

const LAST_STEP = 2n ** 63n - 1n;

// Shows a value in an error.
function shown(value) {
  if (value === null || ['undefined', 'number', 'boolean'].includes(typeof value)) return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return 'an array';
  const name = typeof value === 'object' ? value.constructor?.name ?? 'object' : typeof value;
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name === 'Object' ? 'object' : name}`;
}

function text(value, what) {
  if (typeof value !== 'string') throw invalid(`${what} is ${shown(value)}; pass a text`);
  // C would end a text at a NUL.
  if (value.includes('\0')) throw invalid(`${what}, ${shown(value)}, contains a NUL; remove it`);
  return value;
}

function optionalText(value, what) {
  return value === null || value === undefined ? null : text(value, what);
}

function texts(value, what) {
  if (!Array.isArray(value)) throw invalid(`${what} is ${shown(value)}; pass an array of texts`);
  return value.map((each, at) => text(each, `${what}[${at}]`));
}

// A text, or a number or boolean, as the text that records or sets it.
function scalarText(value, what) {
  if (['number', 'boolean', 'bigint'].includes(typeof value)) return String(value);
  if (typeof value !== 'string') throw invalid(`${what} is ${shown(value)}; pass a text, a number or a boolean`);
  return text(value, what);
}

function number(value, what) {
  if (typeof value !== 'number') throw invalid(`${what} is ${shown(value)}; pass a number`);
  return value;
}

// A whole number of C's int64_t, such as that of a step: a safe integer, or a BigInt.
function whole(value, what) {
  if (Number.isSafeInteger(value)) return value;
  if (typeof value !== 'bigint') throw invalid(`${what} is ${shown(value)}; pass a whole number`);
  if (BigInt.asIntN(64, value) !== value) throw invalid(`${what} is ${value}; pass a number of at most 64 bits`);
  return value;
}

// The steps first <= s < end: {first, end}, where end is null if there is none.
function stepRange({first = 0, end = Infinity}) {
  return {first: whole(first, 'first'), end: end === Infinity ? null : whole(end, 'end')};
}

// Seconds to wait, at least 0; Infinity waits without limit.
function seconds(value, what) {
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw invalid(`${what} is ${shown(value)}; pass a number of seconds`);
  }
  return Math.max(0, value);
}

function functionOf(value, what) {
  if (typeof value !== 'function') throw invalid(`${what} is ${shown(value)}; pass a function`);
  return value;
}

// An object of options, such as {mode: 'train'}.
function record(value, what) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw invalid(`${what} is ${shown(value)}; pass an object`);
  }
  return value;
}

module.exports = {
  LAST_STEP, functionOf, number, optionalText, record, scalarText, seconds, shown, stepRange, text, texts, whole,
};
