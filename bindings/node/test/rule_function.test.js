// Rules of the caller.
'use strict';
const assert = require('node:assert/strict');
const {test} = require('node:test');
const {Hook, RuleSet, builtinRules} = require('..');
const {collect, fails, newRun, recorded} = require('./support.js');

const losses = (...values) => recorded(values.map((loss) => ({loss})));

function setOf(...functions) {
  const rules = new RuleSet();
  functions.forEach((each, at) => rules.addFunction(`Own${at}`, each));
  return rules;
}

test('a function reports findings', () => {
  const rules = new RuleSet();
  rules.addFunction('Large', (at) => {
    assert.equal(at.trial, trial);
    const [value] = at.trial.tensor('loss').value(at.step).data;
    if (value > 1) at.report({message: 'large', tensor: 'loss', check: 'size', value, limit: 1, worker: 'worker_0'});
    if (value > 2) at.report({message: 'stop', action: 'stop', level: 'finding'});
  }, {action: 'warn'});
  const trial = losses(1, 2, 3);
  const found = rules.evaluate(trial);
  const {rule, check, tensor, worker, message, step, modeStep, mode, action, level, value, limit} = found[0];
  assert.deepEqual([rule, check, tensor, worker, message], ['Large', 'size', 'loss', 'worker_0', 'large']);
  assert.deepEqual([step, modeStep, mode, action, level, value, limit], [1, 1, 'train', 'warn', 'finding', 2, 1]);
  assert.deepEqual(found.map((each) => each.action), ['warn', 'warn', 'stop']);
  assert.ok(Number.isNaN(found[2].value));
  assert.equal(rules.results()[0].findingCount, 3);
  assert.throws(() => new Hook(newRun()).attach(setOf(() => {})), fails('INVALID_ARGUMENT'));
});

test('what a function throws is the cause', () => {
  const trial = losses(1, 2, 3);
  for (const thrown of [new TypeError('mine'), 'a text', undefined, null, {message: 'a\0b'}, Object.create(null)]) {
    const rules = setOf((at) => {
      at.report({message: 'before'});
      if (at.step === 1) throw thrown;
    });
    assert.throws(() => rules.evaluate(trial), (error) => {
      assert.equal(error.cause, thrown);
      assert.deepEqual(error.findings.map(({step}) => step), [0, 1]);
      return fails('CALLBACK_FAILED', /rule 'Own0' failed at step 1/)(error);
    });
  }
  const both = setOf((at) => {
    at.report({message: 'found'});
    throw new Error('mine');
  });
  assert.throws(() => both.evaluate(trial, {stopAtFinding: true}), (error) => error.cause.message === 'mine');
});

test('a step without the data is skipped', () => {
  const trial = recorded([{loss: 1}, {other: 1}, {loss: 3}]);
  const seen = [];
  const rules = setOf((at) => {
    at.trial.tensor('loss').value(at.step);
    seen.push(at.step);
  });
  assert.deepEqual(rules.evaluate(trial), []);
  assert.deepEqual(seen, [0, 2]);
});

test('a function finishes', () => {
  const seen = [];
  const rules = setOf(({step, finish}) => {
    seen.push(step);
    if (step === 1) finish();
  });
  rules.evaluate(losses(1, 2, 3));
  assert.deepEqual(seen, [0, 1]);
});

test('a function is not async', async () => {
  const rules = setOf(async () => {
    throw new Error('nobody handles this');
  });
  assert.throws(() => rules.evaluate(losses(1)), (error) => fails('INVALID_ARGUMENT', /without await/)(error.cause));
  await new Promise(setImmediate);
});

test('a step is over when its function has returned', () => {
  let kept;
  const rules = setOf((at) => {
    kept = at;
    assert.throws(() => at.report({message: 5}), fails('INVALID_ARGUMENT', /^message is 5/));
    assert.throws(() => at.report(), fails('INVALID_ARGUMENT', /^finding is undefined/));
    assert.throws(() => at.report({message: '', level: 'odd'}), fails('INVALID_ARGUMENT', /no level "odd"/));
  });
  rules.evaluate(losses(1));
  assert.throws(() => kept.report({message: 'late'}), fails('WRONG_STATE', /has returned from step 0/));
});

test('a function may use other sets, but not its own', () => {
  const trial = losses(1, 2);
  const inner = setOf((at) => at.report({message: 'inner'}));
  const found = [];
  const outer = setOf((at) => {
    if (at.step === 0) found.push(...inner.evaluate(at.trial));
    assert.throws(() => outer.evaluate(at.trial), fails('WRONG_STATE'));
    assert.throws(() => outer.add('VanishingGradient'), fails('WRONG_STATE'));
    at.report({message: 'outer'});
  });
  assert.deepEqual(outer.evaluate(trial).map(({message}) => message), ['outer', 'outer']);
  assert.deepEqual(found.map(({message}) => message), ['inner', 'inner']);
});

test('a function may close what is evaluated', () => {
  const trial = losses(1, 2, 3);
  const rules = setOf((at) => {
    at.report({message: 'closed'});
    if (at.step === 0) {
      rules.close();
      trial.close();
    }
  });
  assert.equal(rules.evaluate(trial).length, 3);
  assert.throws(() => rules.results(), fails('WRONG_STATE', /already closed/));
});

test('sets are collected though their functions refer to them', async () => {
  const trial = losses(1);
  const references = Array.from({length: 20}, () => {
    const rules = setOf(() => rules);
    rules.evaluate(trial);
    return new WeakRef(rules);
  });
  for (let round = 0; round < 10; ++round) {
    await new Promise(setImmediate);
    collect();
  }
  assert.ok(references.filter((each) => each.deref() === undefined).length > 10);
});

test('built-in rules are listed', () => {
  const rules = builtinRules();
  const {summary, parameters} = rules.find(({name}) => name === 'VanishingGradient');
  assert.ok(summary.length > 0);
  const {aws, calibrated, meaning} = parameters.find(({name}) => name === 'threshold');
  assert.ok([aws, calibrated, meaning].every((each) => each.length > 0));
  assert.ok(rules.length >= 29 && rules.some(({set}) => set === 'llm'));
});
