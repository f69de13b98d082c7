'use strict';
const {LAST_STEP, optionalText, stepRange, text, whole} = require('./arguments.js');
const {integers, lib, out, strings, using} = require('./library.js');
const {atStep} = require('./error.js');
const {Handle} = require('./handle.js');
const {copyOf, modeNumber} = require('./types.js');

// A step, its mode and a worker, as the library takes them.
function placeOf(step, {mode = 'global', worker = null} = {}) {
  return [whole(step, 'step'), modeNumber(mode), optionalText(worker, 'worker')];
}

// A range of steps, their mode and a worker, as the library takes them.
function rangeOf({mode = 'global', worker = null, ...range} = {}) {
  const {first, end} = stepRange(range);
  return [first, end ?? LAST_STEP, modeNumber(mode), optionalText(worker, 'worker')];
}

// A name such as 'abs_max' as the library takes it.
function reductionParts(reduction) {
  const isAbsolute = text(reduction, 'reduction').startsWith('abs_');
  return [isAbsolute ? reduction.slice(4) : reduction, Number(isAbsolute)];
}

const numberOf = (value) => using('value', value, () => out('smd_value_to_double', value));

// Values of the library at many steps.  A generator that is not run to its end frees them as it is
// collected.
class Values extends Handle {
  constructor(raw) {
    super('values', raw);
  }

  // Yields [step, copy of the value] for each step.
  *entries(copy) {
    try {
      for (let at = 0; at < Number(lib.smd_values_count(this.raw)); ++at) {
        const step = Number(lib.smd_values_step(this.raw, at));
        yield entryOf(step, () => copy(out('smd_values_get', this.raw, at)));
      }
    } finally {
      this.close();
    }
  }
}

// Returns [step, value].  If the value cannot be read, reading it from the pair throws why.
function entryOf(step, read) {
  try {
    return [step, read()];
  } catch (error) {
    const failure = atStep(error, step);
    return Object.defineProperty([step], 1, {
      enumerable: true,
      get() {
        throw failure;
      },
    });
  }
}

class Tensor extends Handle {
  constructor(raw) {
    super('tensor', raw);
  }

  get name() {
    return lib.smd_tensor_name(this.raw);
  }

  steps(mode = 'global') {
    return integers(out('smd_tensor_steps', this.raw, modeNumber(mode), 0));
  }

  prevSteps(step, {mode = 'global', count = Infinity} = {}) {
    const most = count === Infinity ? 0 : whole(count, 'count');
    if (count !== Infinity && most <= 0) return []; // to C, 0 is all
    return integers(out('smd_tensor_prev_steps', this.raw, whole(step, 'step'), modeNumber(mode), most));
  }

  workers(step, {mode = 'global'} = {}) {
    return strings(out('smd_tensor_workers', this.raw, whole(step, 'step'), modeNumber(mode)));
  }

  value(step, at) {
    return copyOf(out('smd_tensor_value', this.raw, ...placeOf(step, at)));
  }

  shape(step, at) {
    return integers(out('smd_tensor_shape', this.raw, ...placeOf(step, at)));
  }

  reduction(step, reduction, at) {
    return numberOf(out('smd_tensor_reduction', this.raw, ...placeOf(step, at), ...reductionParts(reduction)));
  }

  reductions(step, at) {
    return strings(out('smd_tensor_reductions', this.raw, ...placeOf(step, at)));
  }

  // Yields [step, value] for each step of a range, read at once.
  values(range) {
    return new Values(out('smd_tensor_values', this.raw, ...rangeOf(range))).entries(copyOf);
  }

  // Yields [step, number] for each step of a range.
  reductionValues(reduction, range) {
    const parts = reductionParts(reduction);
    const raw = out('smd_tensor_reduction_values', this.raw, ...rangeOf(range), ...parts);
    return new Values(raw).entries(numberOf);
  }
}

module.exports = {Tensor};
