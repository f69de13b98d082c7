'use strict';
const {decode, koffi, lib, pointersAt, types, using} = require('./library.js');
const {ACTIONS, LEVELS, modeName} = require('./types.js');

const STATUSES = ['passed', 'has_findings', 'no_tensors', 'not_enough_data', 'worth_a_look'];

// Copies a finding of the library.
function findingAt(address) {
  const {struct_size, mode_step, mode, action, level, ...rest} = decode(address, 'smd_finding');
  return Object.freeze({
    ...rest, modeStep: mode_step, mode: modeName(mode), action: ACTIONS[action], level: LEVELS[level],
  });
}

// Copies a list of the library, and frees it.
function listOf(kind, name, list, copy) {
  return using(kind, list, () => {
    const count = Number(lib[`smd_${kind}_count`](list));
    return Array.from({length: count}, (_, at) => copy(lib[name](list, at)));
  });
}

const findingsOf = (list) => listOf('findings', 'smd_findings_get', list, findingAt);

const resultsOf = (list) => listOf('rule_results', 'smd_rule_results_get', list, (address) => {
  const {rule, status, finding_count, look_count, message, first} = decode(address, 'smd_rule_result');
  return Object.freeze({
    rule, status: STATUSES[status], findingCount: finding_count, lookCount: look_count, message,
    first: first === null ? null : findingAt(first),
  });
});

function evidenceOf({evidence, evidence_count: count}) {
  const size = koffi.sizeof(types.smd_evidence);
  return Array.from({length: Number(count)}, (_, at) => {
    const each = decode(evidence + BigInt(at * size), 'smd_evidence');
    return {first: findingAt(each.first), findingCount: each.finding_count, tensorCount: each.tensor_count};
  });
}

const causesOf = (list) => listOf('diagnosis', 'smd_diagnosis_get', list, (address) => {
  const cause = decode(address, 'smd_cause');
  const {id, title, confidence, advice, link, missing, missing_count: count} = cause;
  return Object.freeze({
    id, title, confidence, advice, link, evidence: evidenceOf(cause),
    missing: pointersAt(missing, count).map((name) => koffi.decode.string(name)),
  });
});

function ruleAt(address) {
  const {name, summary, set, parameters, parameter_count: count} = decode(address, 'smd_rule_info');
  const each = pointersAt(parameters, count).map((place) => decode(place, 'smd_rule_parameter'));
  return Object.freeze({
    name, summary, set, parameters: each.map(({struct_size, ...parameter}) => Object.freeze(parameter)),
  });
}

// All built-in rules of the library.
const builtinRules = () => Array.from({length: Number(lib.smd_builtin_rule_count())}, (_, at) =>
  ruleAt(lib.smd_builtin_rule(at)));

module.exports = {builtinRules, causesOf, findingsOf, resultsOf};
