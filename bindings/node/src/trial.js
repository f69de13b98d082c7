'use strict';
const {seconds, stepRange, text, whole} = require('./arguments.js');
const {integers, later, lib, out, strings, using, withStrings} = require('./library.js');
const {applySettings} = require('./config.js');
const {Handle} = require('./handle.js');
const {Tensor} = require('./tensor.js');
const {modeName, modeNumber} = require('./types.js');
const {isEndOfWait, repeated, throwIfAborted} = require('./waiting.js');

const STATES = ['unavailable', 'available', 'not_yet'];

// A trial of the library that open() loads.
class Unloaded {
  constructor(raw) {
    this.raw = raw;
  }
}

// Makes a trial of the library by a function of it, which takes a path and options.
function made(name, path, {settings = {}} = {}) {
  return using('trial_options', out('smd_trial_options_new'), (options) => {
    applySettings('trial_options', options, {wait_seconds: 0, ...settings});
    return out(name, text(path, 'path'), options);
  });
}

class Trial extends Handle {
  constructor(path, options) {
    super('trial', path instanceof Unloaded ? path.raw : made('smd_trial_open', path, options));
  }

  static async open(path, {waitSeconds = 600, signal, ...options} = {}) {
    const limit = seconds(waitSeconds, 'waitSeconds');
    throwIfAborted(signal);
    const trial = new Trial(new Unloaded(made('smd_trial_new', path, options)));
    const attempt = () => trial.holdUntil((raw) => later('smd_trial_load', raw));
    const isTooEarly = (error) => error.code === 'MISSING_COLLECTIONS';
    const cancel = () => lib.smd_trial_cancel(trial.raw);
    try {
      await repeated(attempt, {isTooEarly, limit, signal, cancel});
      return trial;
    } catch (error) {
      trial.close();
      throw error;
    }
  }

  tensorNames({regexes, collection, step, mode = 'global'} = {}) {
    const at = step === undefined ? -1 : whole(step, 'step');
    if (step !== undefined && at < 0) return []; // to C, a negative step is no condition
    const names = (list, group) =>
      strings(out('smd_trial_tensor_names', this.raw, at, modeNumber(mode), list, group));
    const inGroup = (list) => {
      if (collection === undefined) return names(list, null);
      const found = out('smd_trial_collection', this.raw, text(collection, 'collection'));
      return using('collection', found, (group) => names(list, group));
    };
    return regexes === undefined ? inGroup(null) : withStrings(regexes, 'regexes', inGroup);
  }

  tensor(name) {
    return new Tensor(out('smd_trial_tensor', this.raw, text(name, 'name')));
  }

  steps(mode = 'global') {
    return integers(out('smd_trial_steps', this.raw, modeNumber(mode), 0));
  }

  modes() {
    return integers(out('smd_trial_modes', this.raw)).map(modeName);
  }

  modeStep(globalStep) {
    const [step, mode] = out('smd_trial_mode_step', this.raw, whole(globalStep, 'globalStep'));
    return mode === 0 ? null : {step: Number(step), mode: modeName(mode)};
  }

  globalStep(modeStep, mode) {
    const step = Number(out('smd_trial_global_step', this.raw, whole(modeStep, 'modeStep'), modeNumber(mode)));
    return step < 0 ? null : step;
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
    return STATES[out('smd_trial_step_state', this.raw, whole(step, 'step'), modeNumber(mode))];
  }

  async waitForStep(step, {mode = 'global', timeoutSeconds = Infinity, signal} = {}) {
    const place = [whole(step, 'step'), modeNumber(mode)];
    const attempt = () => this.holdUntil((raw) => later('smd_trial_wait_for_step', raw, ...place, 0));
    const limit = seconds(timeoutSeconds, 'timeoutSeconds');
    await repeated(attempt, {isTooEarly: isEndOfWait, limit, signal});
  }

  // Yields each step of a mode as the job records it, until the job ends.
  async *follow({mode = 'global', first = 0, end = Infinity, signal} = {}) {
    const range = stepRange({first, end});
    let step = Number(range.first);
    let known = [];
    while (range.end === null || step < range.end) {
      const failure = await this.waitForStep(step, {mode, signal}).then(() => null, (error) => error);
      if (failure === null) {
        yield step++;
        continue;
      }
      if (failure.code === 'NO_MORE_DATA') return;
      if (failure.code !== 'STEP_UNAVAILABLE') throw failure;
      known = this.#knownFrom(step, mode, known);
      step = known[0] ?? step + 1;
    }
  }

  // The known steps from one on, which looks again if `known` has none: a job may save few of many.
  #knownFrom(step, mode, known) {
    while (known.length > 0 && known[0] < step) known.shift();
    if (known.length > 0) return known;
    return integers(out('smd_trial_steps', this.raw, modeNumber(mode), 1)).filter((each) => each >= step);
  }

  // Calls `use` while the trial shows what it has read so far, without a look at what is new.
  still(use) {
    return this.hold((raw) => {
      const before = lib.smd_trial_set_auto_refresh(raw, 0);
      try {
        return use();
      } finally {
        lib.smd_trial_set_auto_refresh(raw, before);
      }
    });
  }

  get hasEnded() {
    return lib.smd_trial_has_ended(this.raw) === 1;
  }
}

module.exports = {Trial};
