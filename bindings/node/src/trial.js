'use strict';
const {setTimeout: sleep} = require('node:timers/promises');
const {call, integers, lib, out, strings, using, withStrings} = require('./library.js');
const {Handle} = require('./handle.js');
const {copyOf, modeName, modeNumber} = require('./types.js');

const STATES = ['unavailable', 'available', 'not_yet'];
const PAUSE_MS = 50; // between two looks at a job that runs

function opened(path, settings) {
  return using('trial_options', out('smd_trial_options_new'), (options) => {
    for (const [name, value] of Object.entries({wait_seconds: 0, ...settings})) {
      call('smd_trial_options_set', options, name, String(value));
    }
    return out('smd_trial_open', path, options);
  });
}

// Repeats `attempt` while it fails with one of `codes`, without blocking other work, at most so many
// seconds.
async function repeated(attempt, codes, seconds, signal) {
  const end = performance.now() + 1000 * seconds;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!codes.includes(error.code) || performance.now() >= end) throw error;
    }
    await sleep(PAUSE_MS, undefined, {signal});
  }
}

class Trial extends Handle {
  constructor(path, {settings = {}} = {}) {
    super('trial', opened(path, settings));
  }

  static open(path, {waitSeconds = 600, signal, ...options} = {}) {
    return repeated(() => new Trial(path, options), ['MISSING_COLLECTIONS'], waitSeconds, signal);
  }

  tensorNames({regexes} = {}) {
    const names = (list) => strings(out('smd_trial_tensor_names', this.raw, -1, modeNumber('global'), list, null));
    return regexes === undefined ? names(null) : withStrings(regexes, names);
  }

  tensor(name) {
    return new Tensor(out('smd_trial_tensor', this.raw, name));
  }

  steps(mode = 'global') {
    return integers(out('smd_trial_steps', this.raw, modeNumber(mode), 0));
  }

  modes() {
    return integers(out('smd_trial_modes', this.raw)).map(modeName);
  }

  workers() {
    return strings(out('smd_trial_workers', this.raw));
  }

  collections() {
    return strings(out('smd_trial_collections', this.raw));
  }

  metadata() {
    const texts = strings(out('smd_trial_metadata', this.raw, null));
    const pairs = texts.flatMap((key, place) => (place % 2 === 0 ? [[key, texts[place + 1]]] : []));
    return Object.fromEntries(pairs);
  }

  stepState(step, {mode = 'global'} = {}) {
    return STATES[out('smd_trial_step_state', this.raw, step, modeNumber(mode))];
  }

  async waitForStep(step, {mode = 'global', timeoutSeconds = Infinity, signal} = {}) {
    const number = modeNumber(mode);
    const attempt = () => call('smd_trial_wait_for_step', this.raw, step, number, 0);
    await repeated(attempt, ['TIMEOUT'], timeoutSeconds, signal);
  }

  get hasEnded() {
    return lib.smd_trial_has_ended(this.raw) === 1;
  }
}

// A name such as 'abs_max' as the library takes it.
function reductionParts(reduction) {
  const isAbsolute = reduction.startsWith('abs_');
  return [isAbsolute ? reduction.slice(4) : reduction, Number(isAbsolute)];
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

  workers(step, {mode = 'global'} = {}) {
    return strings(out('smd_tensor_workers', this.raw, step, modeNumber(mode)));
  }

  value(step, {mode = 'global', worker = null} = {}) {
    return copyOf(out('smd_tensor_value', this.raw, step, modeNumber(mode), worker));
  }

  shape(step, {mode = 'global', worker = null} = {}) {
    return integers(out('smd_tensor_shape', this.raw, step, modeNumber(mode), worker));
  }

  reduction(step, reduction, {mode = 'global', worker = null} = {}) {
    const parts = reductionParts(reduction);
    const value = out('smd_tensor_reduction', this.raw, step, modeNumber(mode), worker, ...parts);
    return using('value', value, () => out('smd_value_to_double', value));
  }

  // Yields [step, value] for each step of a range, read at once; a value that cannot be read throws
  // when its turn comes.
  *values({mode = 'global', worker = null, first = 0, end = 2n ** 63n - 1n} = {}) {
    const list = out('smd_tensor_values', this.raw, first, end, modeNumber(mode), worker);
    try {
      for (let at = 0; at < Number(lib.smd_values_count(list)); ++at) {
        yield [Number(lib.smd_values_step(list, at)), copyOf(out('smd_values_get', list, at))];
      }
    } finally {
      lib.smd_values_free(list);
    }
  }
}

module.exports = {Tensor, Trial};
