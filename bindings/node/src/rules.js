'use strict';
const {functionOf, record, shown, stepRange, text} = require('./arguments.js');
const {call, check, constants, lib, out} = require('./library.js');
const {withSaveConfig} = require('./config.js');
const {addCause, invalid} = require('./error.js');
const {causesOf, findingsOf, resultsOf} = require('./finding.js');
const {Handle} = require('./handle.js');
const {addRuleFunction, withRuleFunctions} = require('./rule_function.js');
const {Trial} = require('./trial.js');
const {actionNumber} = require('./types.js');

function parametersOf(rule, parameters) {
  for (const [name, value] of Object.entries(record(parameters, 'parameters'))) {
    const isText = ['string', 'boolean'].includes(typeof value);
    if (!isText && !Number.isFinite(value)) {
      const told = `the parameter "${name}" of ${rule} is ${shown(value)}`;
      throw invalid(`${told}; pass a text, a finite number or a boolean`);
    }
  }
  return JSON.stringify(parameters);
}

class RuleSet extends Handle {
  #functions = [];

  // profile: 'calibrated', 'aws' or 'llm'
  constructor(profile = 'calibrated') {
    super('rule_set', out('smd_rule_set_new', text(profile, 'profile')));
  }

  add(rule, {parameters = {}, action = 'warn'} = {}) {
    const given = parametersOf(text(rule, 'rule'), parameters);
    call('smd_rule_set_add', this.raw, rule, given, actionNumber(action));
  }

  addAll({action = 'warn'} = {}) {
    call('smd_rule_set_add_all', this.raw, actionNumber(action));
  }

  addFunction(name, evaluate, {action = 'warn'} = {}) {
    const added = {name: text(name, 'name'), evaluate: functionOf(evaluate, 'evaluate')};
    addRuleFunction(this.raw, this.#functions, added, actionNumber(action));
  }

  setSaveConfig(config) {
    withSaveConfig(config, (raw) => call('smd_rule_set_set_save_config', this.raw, raw));
  }

  // Evaluates the steps that are there and were not evaluated yet.  An error has what was found
  // before it in `findings`.
  evaluate(trial, {first, end, stopAtFinding = false, incomplete = false} = {}) {
    Trial.rawOf(trial, 'trial');
    const range = stepRange({first, end});
    if (range.end !== null && range.end < 0) return []; // to C, a negative end is none
    const {SMD_EVALUATE_STOP_AT_FINDING: stop, SMD_EVALUATE_INCOMPLETE: all} = constants;
    const flags = (stopAtFinding ? stop : 0) | (incomplete ? all : 0);
    return this.hold((raw) => trial.hold((job) => {
      const given = [raw, job, range.first < 0 ? 0 : range.first, range.end ?? -1, flags];
      return this.#evaluated(trial, given);
    }));
  }

  #evaluated(trial, given) {
    const slot = [null];
    const take = () => (slot[0] === null ? [] : findingsOf(slot[0]));
    const {result: error, thrown} = withRuleFunctions(this.#functions, trial, () =>
      lib.smd_rule_set_evaluate(...given, slot));
    try {
      check(error);
    } catch (failed) {
      failed.findings = take();
      if (thrown !== undefined) addCause(failed, thrown.value);
      throw failed;
    }
    return take();
  }

  // Yields each finding of a job that may still record, and returns when the job has ended.
  async *follow(trial, {first, end, stopAtFinding, signal} = {}) {
    Trial.rawOf(trial, 'trial');
    let last = null;
    for await (const step of trial.follow({first, end, signal})) {
      yield* this.#found(() => trial.still(() => this.evaluate(trial, {first, end: step + 1, stopAtFinding})));
      last = step;
    }
    // Rules hear of the end of the job.
    if (last !== null) yield* this.#found(() => this.evaluate(trial, {first, end: last + 1, stopAtFinding}));
  }

  // Yields what an evaluation finds, also before it fails.
  *#found(evaluate) {
    let findings;
    try {
      findings = evaluate();
    } catch (error) {
      yield* error.findings ?? [];
      throw error;
    }
    yield* findings;
  }

  results() {
    return resultsOf(out('smd_rule_set_results', this.raw));
  }

  diagnose() {
    return causesOf(out('smd_rule_set_diagnose', this.raw));
  }

  reset() {
    call('smd_rule_set_reset', this.raw);
  }
}

module.exports = {RuleSet};
