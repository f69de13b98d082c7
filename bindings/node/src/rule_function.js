// Rules of the caller: C calls them while a rule set is evaluated.  No exception crosses C.
'use strict';
const {number, record, text} = require('./arguments.js');
const {call, constants, koffi, lib, types} = require('./library.js');
const {SmdebugError, invalid} = require('./error.js');
const {actionNumber, levelNumber} = require('./types.js');

const {SMD_RULE_CONTINUE, SMD_RULE_FINISHED} = constants;
const FAILED = -1;
const MISSING = ['STEP_UNAVAILABLE', 'TENSOR_UNAVAILABLE', 'VALUE_UNAVAILABLE', 'SHAPE_UNAVAILABLE'];
const Invoke = koffi.proto('int32_t', ['void *', 'void *', 'int64_t', 'void *', 'void *']);

// The evaluations that run: the function of a rule may evaluate another set.
const running = [];
let pointer = null; // of invoke(), for all sets

// One step of a trial that a rule evaluates; valid until its function returns.
class RuleStep {
  #findings;
  #isFinished = false;

  // Both are bound to the step: a function takes `({trial, step, report}) => ...`.
  report = (finding) => this.#report(finding);
  finish = () => {
    this.#isFinished = true;
  };

  constructor(trial, step, findings) {
    this.trial = trial;
    this.step = step;
    this.#findings = findings;
  }

  #report(finding) {
    const {message, check = '', tensor = '', worker = '', action = 'continue', level = 'finding'} =
      record(finding, 'finding');
    const {value = NaN, limit = NaN} = finding;
    if (this.#findings === null) {
      const told = `the rule's function has returned from step ${this.step}; report findings before that`;
      throw new SmdebugError('WRONG_STATE', told);
    }
    call('smd_findings_add', this.#findings, {
      struct_size: koffi.sizeof(types.smd_finding), rule: null, check: text(check, 'check'),
      tensor: text(tensor, 'tensor'), worker: text(worker, 'worker'), message: text(message, 'message'),
      step: -1, mode_step: -1, mode: constants.SMD_MODE_GLOBAL, action: actionNumber(action),
      value: number(value, 'value'), limit: number(limit, 'limit'), level: levelNumber(level),
    });
  }

  // Ends the use of the step; returns whether finish() was called.
  static end(step) {
    step.#findings = null;
    return step.#isFinished;
  }
}

function textOf(thrown) {
  try {
    return String(thrown?.message ?? thrown).replaceAll('\0', '\\0');
  } catch {
    return 'it threw a value without a text';
  }
}

// Calls the function of a rule, and returns what it threw as {value}.
function thrownBy(evaluate, step) {
  try {
    const result = evaluate(step);
    if (typeof result?.then !== 'function') return undefined;
    result.then(undefined, () => {}); // it is refused, so nobody handles it
    return {value: invalid("a rule's function returned a promise; read and report without await")};
  } catch (value) {
    return {value};
  }
}

// Stores the error of a rule where C looks for it.
function fail(at, rule, step, {value}) {
  const isMissing = value instanceof SmdebugError && MISSING.includes(value.code);
  const code = constants[isMissing ? `SMD_${value.code}` : 'SMD_CALLBACK_FAILED'];
  const error = lib.smd_error_new(code, `rule '${rule}' failed at step ${step}: ${textOf(value)}`);
  koffi.encode(at, 'void *', error);
  return isMissing;
}

// As smd_rule_ops has it: `self` is the place of the function in its set, plus one.
function invoke(self, _trial, at, findings, error) {
  const evaluation = running.at(-1);
  try {
    const {name, evaluate} = evaluation.functions[Number(self) - 1];
    const step = new RuleStep(evaluation.trial, Number(at), findings);
    const thrown = thrownBy(evaluate, step);
    const isFinished = RuleStep.end(step);
    if (thrown === undefined) return isFinished ? SMD_RULE_FINISHED : SMD_RULE_CONTINUE;
    if (!fail(error, name, step.step, thrown)) evaluation.thrown = thrown;
  } catch (value) {
    evaluation.thrown = {value};
  }
  return FAILED;
}

// Adds {name, evaluate} to a set of the library and to `functions`, which are those of the set.
function addRuleFunction(set, functions, added, action) {
  pointer ??= koffi.register(invoke, koffi.pointer(Invoke));
  const ops = {struct_size: koffi.sizeof(types.smd_rule_ops), invoke: pointer, destroy: null};
  call('smd_rule_set_add_function', set, added.name, ops, BigInt(functions.length + 1), action);
  functions.push(added);
}

// Calls `evaluate`, which calls the functions of a set.  Returns {result, thrown}: `thrown` has what a
// function threw in `value`.
function withRuleFunctions(functions, trial, evaluate) {
  const evaluation = {functions, trial, thrown: undefined};
  running.push(evaluation);
  try {
    return {result: evaluate(), thrown: evaluation.thrown};
  } finally {
    running.pop();
  }
}

module.exports = {addRuleFunction, withRuleFunctions};
