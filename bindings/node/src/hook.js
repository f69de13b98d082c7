'use strict';
const {call, constants, lib, out, using, withStrings} = require('./library.js');
const {Handle} = require('./handle.js');
const {ACTIONS, invalid, modeNumber, viewOf} = require('./types.js');
const {findingsOf} = require('./finding.js');

// {every: 10} for all modes, or {train: {every: 10}, eval: {every: 1, first: 0, end: 9, steps: [20]}}.
function withSaveConfig(config, use) {
  return using('save_config', out('smd_save_config_new'), (raw) => {
    const all = Object.hasOwn(config, 'every') || Object.hasOwn(config, 'steps');
    for (const [mode, steps] of all ? [[null, config]] : Object.entries(config)) {
      const {every = 500, first = 0, end = -1, steps: also = []} = steps;
      const number = mode === null ? constants.SMD_MODE_ANY : modeNumber(mode);
      call('smd_save_config_set', raw, number, every, first, end, BigInt64Array.from(also, BigInt), also.length);
    }
    return use(raw);
  });
}

// {reductions: ['mean', 'abs_max'], raw: true, shape: true}
function withReductionConfig({reductions = [], raw = false, shape = false}, use) {
  return using('reduction_config', out('smd_reduction_config_new'), (config) => {
    if (reductions.length > 0) call('smd_reduction_config_add', config, reductions.join(','));
    call('smd_reduction_config_set_raw', config, Number(raw));
    call('smd_reduction_config_set_shape', config, Number(shape));
    return use(config);
  });
}

// {name: 'own', regexes: ['^own/'], tensors: ['a'], saveConfig: ..., reductionConfig: ...}
function withCollection({name, regexes = [], tensors = [], saveConfig, reductionConfig}, use) {
  return using('collection', out('smd_collection_new', name), (collection) => {
    for (const regex of regexes) call('smd_collection_include_regex', collection, regex);
    for (const tensor of tensors) call('smd_collection_add_tensor', collection, tensor);
    if (saveConfig) withSaveConfig(saveConfig, (raw) => call('smd_collection_set_save_config', collection, raw));
    if (reductionConfig) {
      withReductionConfig(reductionConfig, (raw) => call('smd_collection_set_reduction_config', collection, raw));
    }
    return use(collection);
  });
}

function withOptions(outDir, given, use) {
  const {
    includeCollections = [], includeRegexes = [], saveAll = false, saveConfig, reductionConfig, collections = [],
    settings = {}, ...unknown
  } = given;
  const [wrong] = Object.keys(unknown);
  if (wrong !== undefined) throw invalid(`a hook has no option "${wrong}"; options of the library are in "settings"`);
  return using('hook_options', out('smd_hook_options_new'), (options) => {
    const set = (name, value) => call('smd_hook_options_set', options, name, String(value));
    set('out_dir', outDir);
    set('report_errors', 'late'); // no disk or network ends a training, unless the caller decides otherwise
    if (includeCollections.length > 0) set('include_collections', includeCollections.join(','));
    if (saveAll) set('save_all', true);
    for (const [name, value] of Object.entries(settings)) set(name, value);
    for (const regex of includeRegexes) call('smd_hook_options_include_regex', options, regex);
    for (const each of collections) {
      withCollection(each, (raw) => call('smd_hook_options_add_collection', options, raw));
    }
    if (saveConfig) withSaveConfig(saveConfig, (raw) => call('smd_hook_options_set_save_config', options, raw));
    if (reductionConfig) {
      withReductionConfig(reductionConfig, (raw) => call('smd_hook_options_set_reduction_config', options, raw));
    }
    return use(options);
  });
}

class Hook extends Handle {
  constructor(outDir, options = {}) {
    super('hook', withOptions(outDir, options, (raw) => out('smd_hook_new', raw)));
  }

  // Records what `fill` saves as one step.  If it throws, the step is discarded.
  step(mode, fill) {
    const step = this.beginStep(mode);
    let result;
    try {
      result = fill(step);
      if (typeof result?.then === 'function') throw invalid('a step is filled at once; use beginStep() and endStep()');
    } catch (error) {
      this.discardStep();
      throw error;
    }
    this.endStep();
    return result;
  }

  beginStep(mode = 'global') {
    call('smd_hook_set_mode', this.raw, modeNumber(mode));
    return Number(out('smd_hook_begin_step', this.raw));
  }

  endStep() {
    call('smd_hook_end_step', this.raw);
  }

  discardStep() {
    call('smd_hook_discard_step', this.raw);
  }

  wants(tensor) {
    return lib.smd_hook_wants(this.raw, tensor) === 1;
  }

  save(name, tensor, shape) {
    call('smd_hook_save', this.raw, name, viewOf(tensor, shape));
  }

  saveScalar(name, number) {
    call('smd_hook_save_scalar', this.raw, name, viewOf(Float64Array.of(number)), 0);
  }

  setMetadata(key, value) {
    call('smd_hook_set_metadata', this.raw, key, value);
  }

  saveCustom(name, tensor, {shape, collections = []} = {}) {
    const view = viewOf(tensor, shape);
    withStrings(collections, (list) => call('smd_hook_save_custom', this.raw, name, view, list));
  }

  attach(rules) {
    call('smd_hook_attach', this.raw, rules.raw);
  }

  get action() {
    return ACTIONS[lib.smd_hook_action(this.raw)];
  }

  takeFindings() {
    return findingsOf(out('smd_hook_take_findings', this.raw));
  }

  count(name) {
    return Number(lib.smd_hook_count(this.raw, name));
  }

  flush({timeoutSeconds} = {}) {
    const milliseconds = Math.max(0, Math.round(timeoutSeconds * 1000));
    const limit = timeoutSeconds === undefined ? -1 : Math.min(milliseconds, 0x7fffffff);
    call('smd_hook_flush', this.raw, limit);
  }

  // Writes what is queued, and the end marker.  Throws what the background writer failed with.
  close() {
    let raw;
    try {
      raw = this.raw;
    } catch {
      return;
    }
    try {
      call('smd_hook_close', raw);
    } finally {
      super.close();
    }
  }
}

module.exports = {Hook, withSaveConfig};
