// Arguments that C would take for something else, or cut.
'use strict';
const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const {test} = require('node:test');
const {Hook, RuleSet, Trial} = require('..');
const {ENDED, EVERY, fails, newRun, recorded, recording} = require('./support.js');

// Each would be an address that C reads: a process that survives all of them prints each.
const CRASHES = [
  'hook.setMetadata(7, "x")', 'hook.setMetadata(7n, "x")', 'hook.save(3, 1)', 'hook.saveScalar(3, 1)',
  'hook.wants(3)', 'hook.count(3)', 'new Trial(5)', 'trial.tensor(3)', 'trial.tensor(0)',
  'x.value(0, {worker: 1})', 'x.value(0, {worker: 0})', 'x.reduction(0, "mean", {worker: 1})', 'x.reduction(0, 5)',
  'trial.tensorNames({regexes: [3]})', 'trial.tensorNames({collection: 3})',
  'new Hook(OUT, {collections: [{name: 5}]})', 'new Hook(OUT, {collections: [{name: "z", tensors: [5]}]})',
  'new Hook(OUT, {includeRegexes: [/x/]})', 'new Hook(OUT, {configFile: 5})', 'new Hook(5)', 'new RuleSet(5)',
  'new RuleSet(null)', 'rules.add(5)', 'rules.addFunction(5, () => {})', 'rules.addFunction("own", 5)',
  'rules.evaluate(hook)', 'rules.evaluate({raw: 5n})', 'hook.attach({})', 'hook.attach(trial)',
];

test('a number or an object of another kind is an error, not a crash', () => {
  const program = `
    const {Hook, RuleSet, Trial} = require(${JSON.stringify(require.resolve('..'))});
    const [, OUT, run] = process.argv;
    const [hook, rules, trial] = [new Hook(OUT), new RuleSet(), new Trial(run)];
    const x = trial.tensor('x');
    hook.beginStep('train');
    for (const [name, use] of Object.entries({${CRASHES.map((each) => `${JSON.stringify(each)}: () => ${each}`)}})) {
      try {
        use();
        console.log(name, 'did not fail');
      } catch (error) {
        console.log(name, error.code);
      }
    }`;
  const run = recording([{x: 1}]);
  const given = ['-e', program, newRun(), run];
  const {status, signal, stdout, stderr} = spawnSync(process.execPath, given, {encoding: 'utf8'});
  assert.deepEqual(stdout.trimEnd().split('\n'), CRASHES.map((each) => `${each} INVALID_ARGUMENT`), stderr);
  assert.deepEqual([status, signal], [0, null]);
});

test('an error names the argument and what was passed', () => {
  const hook = new Hook(newRun());
  const rules = new RuleSet();
  assert.throws(() => hook.setMetadata('k', null), fails('INVALID_ARGUMENT', /^value is null; pass a text, a number/));
  assert.throws(() => hook.setMetadata('k', {}), fails('INVALID_ARGUMENT', /^value is an object; /));
  assert.throws(() => hook.setMetadata('k', 'a\0b'), fails('INVALID_ARGUMENT', /value, "a\\u0000b", contains a NUL/));
  assert.throws(() => hook.wants([]), fails('INVALID_ARGUMENT', /^tensor is an array; pass a text/));
  assert.throws(() => hook.saveScalar('s', '1'), fails('INVALID_ARGUMENT', /^number is "1"; pass a number/));
  assert.throws(() => rules.evaluate(hook), fails('INVALID_ARGUMENT', /^trial is a Hook; pass a Trial/));
  assert.throws(() => hook.attach(undefined), fails('INVALID_ARGUMENT', /^rules is undefined; pass a RuleSet/));
  hook.close();
});

test('a hook needs a folder', () => {
  for (const none of [undefined, null, new URL('file:///tmp/run')]) {
    assert.throws(() => new Hook(none), fails('INVALID_ARGUMENT', /^outDir is .*; pass a text/));
  }
});

test('facts of a job may be numbers', () => {
  const out = newRun();
  const hook = new Hook(out, EVERY);
  const facts = {epochs: 10, lr: 0.1, amp: true, seed: 2n ** 60n, name: 'own'};
  Object.entries(facts).forEach(([key, value]) => hook.setMetadata(key, value));
  hook.step('train', () => hook.save('loss', 1));
  hook.close();
  const {epochs, lr, amp, seed, name} = new Trial(out, ENDED).metadata();
  assert.deepEqual([epochs, lr, amp, seed, name], ['10', '0.1', 'true', '1152921504606846976', 'own']);
});

test('a step is a whole number', () => {
  const trial = recorded([{x: 0}, {x: 1}, {x: 2}]);
  const x = trial.tensor('x');
  for (const step of [NaN, Infinity, 1.5, '1', undefined, null, 2n ** 63n, 2 ** 53]) {
    assert.throws(() => x.value(step), fails('INVALID_ARGUMENT', /^step is /), String(step));
    assert.throws(() => x.workers(step), fails('INVALID_ARGUMENT', /^step is /));
    assert.throws(() => trial.stepState(step), fails('INVALID_ARGUMENT', /^step is /));
  }
  assert.equal(x.value(1n).data[0], 1);
  const stepsOf = (range) => [...x.values(range)].map(([step]) => step);
  assert.deepEqual(stepsOf({end: Infinity}), [0, 1, 2]);
  assert.deepEqual(stepsOf({first: 1, end: 2}), [1]);
  assert.deepEqual([stepsOf({end: -1}), stepsOf({first: 2, end: 1})], [[], []]);
  assert.throws(() => x.values({end: NaN}), fails('INVALID_ARGUMENT', /^end is NaN/));
  assert.throws(() => x.values({first: 0.5}), fails('INVALID_ARGUMENT', /^first is 0.5/));
});

test('a range that ends before it begins evaluates nothing', () => {
  const trial = recorded([{x: NaN}, {x: NaN}]);
  const rules = new RuleSet();
  const seen = [];
  rules.addFunction('seen', ({step}) => void seen.push(step));
  for (const end of [-7, -1, 0]) assert.deepEqual(rules.evaluate(trial, {end}), []);
  assert.deepEqual(seen, []);
  rules.evaluate(trial, {first: -5, end: 1});
  rules.evaluate(trial, {end: Infinity});
  assert.deepEqual(seen, [0, 1]);
});

test('a time to wait is a number', async () => {
  const hook = new Hook(newRun(), EVERY);
  const trial = recorded([{x: 1}]);
  const refused = fails('INVALID_ARGUMENT', /^(timeout|wait)Seconds is .*; pass a number of seconds/);
  for (const time of [NaN, '1', null]) {
    assert.throws(() => hook.flush({timeoutSeconds: time}), refused);
    await assert.rejects(trial.waitForStep(0, {timeoutSeconds: time}), refused);
    await assert.rejects(Trial.open(newRun(), {waitSeconds: time}), refused);
  }
  hook.close();
});

test('a text is not an array of texts', () => {
  const refused = (name) => fails('INVALID_ARGUMENT', new RegExp(`^${name} is "loss"; pass an array`));
  for (const name of ['includeRegexes', 'includeCollections', 'collections']) {
    assert.throws(() => new Hook(newRun(), {[name]: 'loss'}), refused(name));
  }
  assert.throws(() => new Hook(newRun(), {includeCollections: ['a,b']}), fails('INVALID_ARGUMENT', /without a comma/));
  for (const name of ['regexes', 'tensors']) {
    assert.throws(() => new Hook(newRun(), {collections: [{name: 'own', [name]: 'loss'}]}), refused(name));
  }
  const withReductions = {reductionConfig: {reductions: 'loss'}};
  assert.throws(() => new Hook(newRun(), withReductions), refused('reductions'));
  const hook = new Hook(newRun());
  assert.throws(() => hook.saveCustom('c', 1, {collections: 'loss'}), refused('collections'));
  assert.throws(() => recorded([{x: 1}]).tensorNames({regexes: 'loss'}), refused('regexes'));
  hook.close();
});

test('each setting of a save config stands alone', () => {
  const steps = (saveConfig) => recorded(Array.from({length: 4}, () => ({x: 1})), {saveAll: true, saveConfig}).steps();
  assert.deepEqual(steps({first: 2}), []); // every 500th step
  assert.deepEqual(steps({end: 2}), [0]);
  assert.deepEqual(steps({every: 1, first: 1, end: 3}), [1, 2]);
  assert.deepEqual(steps({every: 1, end: Infinity}), [0, 1, 2, 3]);
  assert.deepEqual(steps({every: 1, end: -1}), [0, 1, 2, 3]);
  assert.deepEqual(steps({train: {first: 1, every: 2}}), [2]);
  const refused = [
    [{every: 1, ends: 3}, /no "ends"; use every, first, end, steps/], [{every: 1.5}, /^every is 1.5/],
    [{end: -7}, /^end is -7/], [{steps: 3}, /^steps is 3/], [{steps: [0, NaN]}, /^steps\[1\] is NaN/],
    [{lunch: {every: 1}}, /no mode "lunch"/], [{train: 5}, /^saveConfig is 5/],
  ];
  for (const [config, message] of refused) assert.throws(() => steps(config), fails('INVALID_ARGUMENT', message));
});

test('a parameter of a rule is a text, a finite number or a boolean', () => {
  const rules = new RuleSet();
  for (const threshold of [NaN, Infinity, null, undefined, 1n, {}]) {
    assert.throws(() => rules.add('VanishingGradient', {parameters: {threshold}}),
      fails('INVALID_ARGUMENT', /parameter "threshold" of VanishingGradient is /));
  }
});
