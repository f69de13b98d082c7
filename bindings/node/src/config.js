// What a hook saves: save configs, reduction configs, collections, and the options of a hook.
'use strict';
const {record, scalarText, shown, text, texts, whole} = require('./arguments.js');
const {call, constants, out, using} = require('./library.js');
const {invalid} = require('./error.js');
const {modeNumber} = require('./types.js');

const STEPS_KEYS = ['every', 'first', 'end', 'steps'];

// Refuses a key that is misspelled, or that something does not have.
function checkKeys(given, keys, what) {
  const wrong = Object.keys(given).find((key) => !keys.includes(key));
  if (wrong !== undefined) throw invalid(`${what} has no "${wrong}"; use ${keys.join(', ')}`);
}

// The end of a save config in C, where -1 is none.
function endOfSaving(end) {
  if (end === Infinity || end === -1) return -1;
  if (whole(end, 'end') < 0) throw invalid(`end is ${end}; leave it out if saving has no end`);
  return end;
}

function setSteps(raw, mode, given) {
  checkKeys(record(given, 'saveConfig'), STEPS_KEYS, 'saveConfig');
  const {every = 500, first = 0, end = Infinity, steps = []} = given;
  if (!Array.isArray(steps)) throw invalid(`steps is ${shown(steps)}; pass an array of step numbers`);
  const also = BigInt64Array.from(steps, (step, at) => BigInt(whole(step, `steps[${at}]`)));
  const [interval, begin] = [whole(every, 'every'), whole(first, 'first')];
  call('smd_save_config_set', raw, mode, interval, begin, endOfSaving(end), also, also.length);
}

// {every: 10} for all modes, or {train: {every: 10}, eval: {every: 1, first: 0, end: 9, steps: [20]}}.
function withSaveConfig(config, use) {
  return using('save_config', out('smd_save_config_new'), (raw) => {
    const isForAll = STEPS_KEYS.some((key) => Object.hasOwn(record(config, 'saveConfig'), key));
    if (isForAll) setSteps(raw, constants.SMD_MODE_ANY, config);
    else for (const [mode, steps] of Object.entries(config)) setSteps(raw, modeNumber(mode), steps);
    return use(raw);
  });
}

// {reductions: ['mean', 'abs_max'], raw: true, shape: true}
function withReductionConfig(config, use) {
  checkKeys(record(config, 'reductionConfig'), ['reductions', 'raw', 'shape'], 'reductionConfig');
  const {reductions = [], raw = false, shape = false} = config;
  return using('reduction_config', out('smd_reduction_config_new'), (made) => {
    const names = texts(reductions, 'reductions');
    if (names.length > 0) call('smd_reduction_config_add', made, names.join(','));
    call('smd_reduction_config_set_raw', made, Number(Boolean(raw)));
    call('smd_reduction_config_set_shape', made, Number(Boolean(shape)));
    return use(made);
  });
}

// Sets the save config and the reduction config of a collection or of the options of a hook.
function setConfigs(kind, raw, {saveConfig, reductionConfig}) {
  if (saveConfig) withSaveConfig(saveConfig, (config) => call(`smd_${kind}_set_save_config`, raw, config));
  if (reductionConfig) {
    withReductionConfig(reductionConfig, (config) => call(`smd_${kind}_set_reduction_config`, raw, config));
  }
}

// {name: 'own', regexes: ['^own/'], tensors: ['a'], saveConfig: ..., reductionConfig: ...}
function withCollection(given, use) {
  checkKeys(record(given, 'collection'), ['name', 'regexes', 'tensors', 'saveConfig', 'reductionConfig'], 'collection');
  const {name, regexes = [], tensors = []} = given;
  return using('collection', out('smd_collection_new', text(name, 'name')), (raw) => {
    for (const regex of texts(regexes, 'regexes')) call('smd_collection_include_regex', raw, regex);
    for (const tensor of texts(tensors, 'tensors')) call('smd_collection_add_tensor', raw, tensor);
    setConfigs('collection', raw, given);
    return use(raw);
  });
}

// Sets options of the library by their names.  `kind` says whose they are.
function applySettings(kind, raw, settings) {
  for (const [name, value] of Object.entries(record(settings, 'settings'))) {
    call(`smd_${kind}_set`, raw, text(name, 'settings'), scalarText(value, name));
  }
}

// C takes a list of names as one text.
function joined(names, what) {
  const comma = texts(names, what).find((name) => name.includes(','));
  if (comma !== undefined) throw invalid(`${what} has "${comma}"; pass each name by itself, without a comma`);
  return names.join(',');
}

function folderOf(outDir, configFile) {
  if (configFile !== undefined && (outDir === undefined || outDir === null)) return {};
  return {out_dir: text(outDir, 'outDir')};
}

const HOOK_KEYS = [
  'includeCollections', 'includeRegexes', 'saveAll', 'saveConfig', 'reductionConfig', 'collections', 'configFile',
  'settings',
];

// Makes the options of a hook.  A configuration file comes first: what the caller sets replaces it.
function withHookOptions(outDir, given, use) {
  const wrong = Object.keys(record(given, 'options')).find((key) => !HOOK_KEYS.includes(key));
  if (wrong !== undefined) throw invalid(`a hook has no option "${wrong}"; options of the library are in "settings"`);
  const {includeCollections = [], includeRegexes = [], saveAll = false, collections = [], configFile} = given;
  if (!Array.isArray(collections)) throw invalid(`collections is ${shown(collections)}; pass an array of collections`);
  return using('hook_options', out('smd_hook_options_new'), (options) => {
    if (configFile !== undefined) call('smd_hook_options_load', options, text(configFile, 'configFile'));
    applySettings('hook_options', options, {
      ...folderOf(outDir, configFile),
      report_errors: 'late', // no disk or network ends a training, unless the caller decides otherwise
      ...(includeCollections.length > 0 && {include_collections: joined(includeCollections, 'includeCollections')}),
      ...(saveAll && {save_all: true}),
      ...given.settings,
    });
    for (const regex of texts(includeRegexes, 'includeRegexes')) call('smd_hook_options_include_regex', options, regex);
    for (const each of collections) {
      withCollection(each, (raw) => call('smd_hook_options_add_collection', options, raw));
    }
    setConfigs('hook_options', options, given);
    return use(options);
  });
}

module.exports = {applySettings, withHookOptions, withSaveConfig};
