'use strict';
const {call, check, constants, lib, out} = require('./library.js');
const {Handle} = require('./handle.js');
const {ACTIONS, invalid} = require('./types.js');
const {causesOf, findingsOf, resultsOf} = require('./finding.js');
const {withSaveConfig} = require('./hook.js');

function numberOf(action) {
  const number = ACTIONS.indexOf(action);
  if (number < 0) throw invalid(`there is no action "${action}"; use one of ${ACTIONS.join(', ')}`);
  return number;
}

class RuleSet extends Handle {
  // profile: 'calibrated', 'aws' or 'llm'
  constructor(profile = 'calibrated') {
    super('rule_set', out('smd_rule_set_new', profile));
  }

  add(rule, {parameters = {}, action = 'warn'} = {}) {
    call('smd_rule_set_add', this.raw, rule, JSON.stringify(parameters), numberOf(action));
  }

  addAll({action = 'warn'} = {}) {
    call('smd_rule_set_add_all', this.raw, numberOf(action));
  }

  setSaveConfig(config) {
    withSaveConfig(config, (raw) => call('smd_rule_set_set_save_config', this.raw, raw));
  }

  // Evaluates the steps that are there and were not evaluated yet.  An error has what was found
  // before it in `findings`.
  evaluate(trial, {first = 0, end = -1, stopAtFinding = false, incomplete = false} = {}) {
    const {SMD_EVALUATE_STOP_AT_FINDING: stop, SMD_EVALUATE_INCOMPLETE: all} = constants;
    const flags = (stopAtFinding ? stop : 0) | (incomplete ? all : 0);
    const slot = [null];
    const take = () => (slot[0] === null ? [] : findingsOf(slot[0]));
    const error = lib.smd_rule_set_evaluate(this.raw, trial.raw, first, end, flags, slot);
    try {
      check(error);
    } catch (failed) {
      failed.findings = take();
      throw failed;
    }
    return take();
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
