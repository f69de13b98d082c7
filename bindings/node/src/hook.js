'use strict';
const {number, scalarText, seconds, text} = require('./arguments.js');
const {call, lib, out, withStrings} = require('./library.js');
const {withHookOptions} = require('./config.js');
const {SmdebugError, addCause} = require('./error.js');
const {findingsOf} = require('./finding.js');
const {Handle} = require('./handle.js');
const {RuleSet} = require('./rules.js');
const {ACTIONS, modeNumber, viewOf} = require('./types.js');

const LONGEST_WAIT_MS = 0x7fffffff;

class Hook extends Handle {
  #openStep = null;

  constructor(outDir, options = {}) {
    super('hook', withHookOptions(outDir, options, (raw) => out('smd_hook_new', raw)));
    try {
      call('smd_hook_describe_run', this.raw);
      this.setMetadata('run.node', process.version);
    } catch (error) {
      super.close();
      throw error;
    }
  }

  // Records what `fill` saves as one step.  If it throws, the step is discarded.  If it returns a
  // promise, the step stays open until that settles.
  step(mode, fill) {
    const step = this.beginStep(mode);
    let result;
    try {
      result = fill(step);
    } catch (error) {
      throw this.#discarded(step, error);
    }
    if (typeof result?.then === 'function') return this.#filled(step, result);
    this.#end(step);
    return result;
  }

  async #filled(step, promise) {
    let result;
    try {
      result = await promise;
    } catch (error) {
      throw this.#discarded(step, error);
    }
    this.#end(step);
    return result;
  }

  // Ends a step, but none that was begun later.
  #end(step) {
    if (this.#openStep === step || this.isClosed) return this.endStep();
    throw new SmdebugError('WRONG_STATE', `step ${step} has already ended; let step() end it`);
  }

  // Discards a step after `error`, which it returns.
  #discarded(step, error) {
    try {
      if (this.#openStep === step) this.discardStep();
    } catch (failure) {
      addCause(error, failure);
    }
    return error;
  }

  beginStep(mode = 'global') {
    call('smd_hook_set_mode', this.raw, modeNumber(mode));
    this.#openStep = Number(out('smd_hook_begin_step', this.raw));
    return this.#openStep;
  }

  endStep() {
    this.#openStep = null;
    call('smd_hook_end_step', this.raw);
  }

  discardStep() {
    this.#openStep = null;
    call('smd_hook_discard_step', this.raw);
  }

  addToStep(collections) {
    withStrings(collections, 'collections', (list) => call('smd_hook_add_to_step', this.raw, list));
  }

  lastStep(mode = 'global') {
    const step = Number(lib.smd_hook_last_step(this.raw, modeNumber(mode)));
    return step < 0 ? null : step;
  }

  wants(tensor) {
    return lib.smd_hook_wants(this.raw, text(tensor, 'tensor')) === 1;
  }

  save(name, tensor, shape) {
    call('smd_hook_save', this.raw, text(name, 'name'), viewOf(tensor, shape));
  }

  saveScalar(name, value) {
    const view = viewOf(number(value, 'number'));
    call('smd_hook_save_scalar', this.raw, text(name, 'name'), view, 0);
  }

  setMetadata(key, value) {
    call('smd_hook_set_metadata', this.raw, text(key, 'key'), scalarText(value, 'value'));
  }

  saveCustom(name, tensor, {shape, collections = []} = {}) {
    const view = viewOf(tensor, shape);
    withStrings(collections, 'collections', (list) =>
      call('smd_hook_save_custom', this.raw, text(name, 'name'), view, list));
  }

  attach(rules) {
    call('smd_hook_attach', this.raw, RuleSet.rawOf(rules, 'rules'));
  }

  get action() {
    return ACTIONS[lib.smd_hook_action(this.raw)];
  }

  takeFindings() {
    return findingsOf(out('smd_hook_take_findings', this.raw));
  }

  get isRecording() {
    return lib.smd_hook_is_recording(this.raw) === 1;
  }

  count(name) {
    return Number(lib.smd_hook_count(this.raw, text(name, 'name')));
  }

  flush({timeoutSeconds} = {}) {
    const limit = timeoutSeconds === undefined ? -1 : Math.round(1000 * seconds(timeoutSeconds, 'timeoutSeconds'));
    call('smd_hook_flush', this.raw, Math.min(limit, LONGEST_WAIT_MS));
  }

  // Writes what is queued, and the end marker.  Throws what the background writer failed with.
  close() {
    if (this.isClosed) return;
    try {
      call('smd_hook_close', this.raw);
    } finally {
      super.close();
    }
  }
}

module.exports = {Hook};
