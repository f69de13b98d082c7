'use strict';
const assert = require('node:assert/strict');
const {test} = require('node:test');
const {setTimeout: sleep} = require('node:timers/promises');
const {Hook, RuleSet, Trial, libraryVersion} = require('..');
const {ENDED, collect, fails, newRun, recorded} = require('./support.js');

const GRADIENT = 'gradient/layer1.weight';

test('every type comes back', () => {
  const arrays = {
    float32: Float32Array.of(1.5, -0, Infinity), float64: Float64Array.of(1.5, 5e-324),
    int8: Int8Array.of(-128, 127), int16: Int16Array.of(-32768, 32767), int32: Int32Array.of(-(2 ** 31), 2 ** 31 - 1),
    int64: BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n), uint8: Uint8Array.of(0, 255),
    uint16: Uint16Array.of(0, 65535), uint32: Uint32Array.of(0, 2 ** 32 - 1), uint64: BigUint64Array.of(2n ** 64n - 1n),
  };
  const others = {
    float16: {dtype: 'float16', data: Uint16Array.of(0x3c00, 0xc000)},
    bool: {dtype: 'bool', data: Uint8Array.of(1, 0, 1)},
    complex64: {dtype: 'complex64', data: Float32Array.of(1, -2)},
  };
  const trial = recorded([{...arrays, ...others, number: 0.25, text: 'one', texts: [['loss', '層'], [2, 1]]}]);
  for (const [dtype, data] of Object.entries(arrays)) {
    assert.deepEqual(trial.tensor(dtype).value(0), {dtype, shape: [data.length], data});
  }
  for (const [dtype, {data}] of Object.entries(others)) {
    const count = dtype === 'complex64' ? 1 : data.length;
    assert.deepEqual(trial.tensor(dtype).value(0), {dtype, shape: [count], data});
  }
  assert.deepEqual(trial.tensor('number').value(0), {dtype: 'float64', shape: [], data: Float64Array.of(0.25)});
  assert.deepEqual(trial.tensor('text').value(0), {dtype: 'string', shape: [], data: ['one']});
  assert.deepEqual(trial.tensor('texts').value(0), {dtype: 'string', shape: [2, 1], data: ['loss', '層']});
});

test('a part of a buffer is saved as itself', () => {
  const part = new Float32Array(Float32Array.of(1, 2, 3, 4).buffer, 4, 2);
  assert.deepEqual(recorded([{part}]).tensor('part').value(0).data, Float32Array.of(2, 3));
});

test('an empty tensor has a shape', () => {
  const trial = recorded([{empty: [new Float32Array(0), [0, 5]]}]);
  assert.deepEqual(trial.tensor('empty').value(0), {dtype: 'float32', shape: [0, 5], data: new Float32Array(0)});
});

test('what does not fit is refused', () => {
  const hook = new Hook(newRun(), {saveAll: true});
  hook.beginStep('train');
  const refused = [
    [new Float32Array(4), [5], /shape \[5\] does not fit 4 elements/], [new Float32Array(4), [-2, -2], /shape/],
    [new Float32Array(1), [0.5, 2], /shape/], [{dtype: 'bool', data: [1]}, undefined, /Uint8Array/],
    [{dtype: 'float99', data: []}, undefined, /a tensor is/], [null, undefined, /a tensor is/],
    [[1, 2], undefined, /a tensor is/], ['nul\0', undefined, /NUL/],
  ];
  for (const [tensor, shape, message] of refused) {
    assert.throws(() => hook.save('bad', tensor, shape), fails('INVALID_ARGUMENT', message));
  }
  assert.throws(() => hook.save('nul\0', 1), fails('INVALID_ARGUMENT', /NUL/));
  assert.throws(() => hook.beginStep('dinner'), fails('INVALID_ARGUMENT', /no mode "dinner"/));
  assert.throws(() => new Hook(newRun(), {saveEvery: 1}), fails('INVALID_ARGUMENT', /"saveEvery"/));
  assert.throws(() => new Hook(newRun(), {settings: {queue_bites: 1}}), fails('INVALID_ARGUMENT', /queue_bytes/));
  hook.close();
});

test('options select what is saved', () => {
  const collection = {
    name: 'own', regexes: ['^own/'], tensors: ['other'], saveConfig: {every: 2},
    reductionConfig: {reductions: ['mean', 'abs_max'], shape: true},
  };
  const out = newRun();
  const hook = new Hook(out, {
    collections: [collection], includeCollections: ['own'], saveConfig: {eval: {end: 0, steps: [1]}},
    reductionConfig: {raw: true}, settings: {durability: 'step'},
  });
  for (const mode of ['train', 'eval', 'train', 'eval']) {
    hook.step(mode, () => {
      assert.equal(hook.wants('unwanted'), false);
      hook.save('own/a', Float32Array.of(1, -3));
      hook.save('loss', 0.5);
    });
  }
  hook.saveScalar('accuracy', 0.97);
  hook.setMetadata('rate', '0.1');
  assert.throws(() => hook.setMetadata('', 'x'), fails('INVALID_ARGUMENT'));
  hook.saveCustom('confusion', Int32Array.of(5, 0, 1, 4), {shape: [2, 2], collections: ['diagnostics']});
  hook.flush({timeoutSeconds: 20});
  assert.equal(hook.count('steps_failed'), 0);
  hook.close();
  const trial = new Trial(out, ENDED);
  const own = trial.tensor('own/a');
  assert.deepEqual(own.steps('train'), [0]);
  assert.equal(own.reduction(0, 'abs_max', {mode: 'train'}), 3);
  assert.deepEqual(own.shape(0, {mode: 'train'}), [2]);
  assert.throws(() => own.value(0, {mode: 'train'}), fails('VALUE_UNAVAILABLE'));
  assert.deepEqual(trial.tensor('loss').steps('eval'), [1]);
  assert.deepEqual(trial.tensorNames({regexes: ['^own']}), ['own/a']);
  assert.deepEqual(trial.modes(), ['train', 'eval']);
  assert.deepEqual([trial.workers(), own.workers(0), own.name], [['worker_0'], ['worker_0'], 'own/a']);
  assert.equal(trial.metadata().rate, '0.1');
  assert.ok(trial.collections().includes('diagnostics'));
  assert.ok(trial.hasEnded);
});

test('a tensor outlives its trial, and values are copies', () => {
  const trial = recorded([{loss: 1}, {loss: 0.5}, {loss: 0.25}]);
  const loss = trial.tensor('loss');
  trial.close();
  const values = [...loss.values({first: 1})];
  loss.close();
  assert.deepEqual(values.map(([step, {data}]) => [step, data[0]]), [[1, 0.5], [2, 0.25]]);
  assert.throws(() => loss.steps(), fails('WRONG_STATE'));
});

test('what is missing has a code', () => {
  const trial = recorded([{loss: 1}]);
  assert.throws(() => trial.tensor('no'), fails('TENSOR_UNAVAILABLE'));
  assert.throws(() => trial.tensor('loss').value(7), fails('STEP_UNAVAILABLE'));
  assert.throws(() => trial.tensor('loss').value(0, {worker: 'worker_9'}), fails('WORKER_UNKNOWN'));
  assert.equal(trial.stepState(0), 'available');
  assert.throws(() => new Trial(newRun()), fails('MISSING_COLLECTIONS'));
});

test('waiting lets other work go on', async () => {
  const out = newRun();
  const opening = Trial.open(out, {waitSeconds: 30});
  await sleep(1);
  const hook = new Hook(out, {saveConfig: {every: 1}});
  hook.step('train', () => hook.save('loss', 1));
  const trial = await opening;
  await trial.waitForStep(0, {mode: 'train', timeoutSeconds: 30});
  await assert.rejects(trial.waitForStep(1, {timeoutSeconds: 0.1}), fails('TIMEOUT'));
  await assert.rejects(trial.waitForStep(1, {signal: AbortSignal.timeout(50)}), {name: 'AbortError'});
  hook.close();
  await assert.rejects(trial.waitForStep(5, {timeoutSeconds: 30}), fails('NO_MORE_DATA'));
  await assert.rejects(Trial.open(newRun(), {waitSeconds: 0}), fails('MISSING_COLLECTIONS'));
});

test('rules find', () => {
  const trial = recorded(Array.from({length: 60}, (_, step) => ({[GRADIENT]: 0.5 ** step})));
  const rules = new RuleSet();
  rules.add('VanishingGradient', {parameters: {threshold: 1e-10, patience: 1}, action: 'stop'});
  const found = rules.evaluate(trial);
  assert.deepEqual(
    [found[0].rule, found[0].tensor, found[0].step, found[0].action, found[0].level],
    ['VanishingGradient', GRADIENT, 34, 'stop', 'finding']);
  assert.deepEqual(rules.evaluate(trial), []);
  const [result] = rules.results();
  assert.deepEqual([result.status, result.findingCount], ['has_findings', found.length]);
  assert.deepEqual(result.first, found[0]);
  assert.equal(rules.diagnose()[0].evidence[0].first.tensor, GRADIENT);
  rules.reset();
  assert.throws(() => rules.evaluate(trial, {first: 40, stopAtFinding: true}), (error) => {
    assert.equal(error.findings[0].step, 40);
    return fails('RULE_CONDITION_MET')(error);
  });
  assert.throws(() => rules.add('VanishingGradiant'), fails('INVALID_ARGUMENT', /VanishingGradient/));
  assert.throws(() => rules.add('VanishingGradient', {action: 'panic'}), fails('INVALID_ARGUMENT', /"panic"/));
});

test('all rules are added', () => {
  for (const [profile, count] of [['calibrated', 29], ['aws', 26], ['llm', 23]]) {
    const rules = new RuleSet(profile);
    rules.addAll({action: 'stop'});
    assert.equal(rules.results().length, count);
    assert.throws(() => rules.addAll({action: 'panic'}), fails('INVALID_ARGUMENT', /"panic"/));
  }
});

test('an attached set stops a training', () => {
  const hook = new Hook(newRun());
  const rules = new RuleSet('calibrated');
  rules.add('VanishingGradient', {action: 'stop'});
  rules.setSaveConfig({every: 1});
  hook.attach(rules);
  for (let gradient = 1; hook.action !== 'stop'; gradient /= 16) {
    hook.step('train', () => hook.save(GRADIENT, gradient));
  }
  assert.deepEqual(hook.takeFindings().map(({step, tensor}) => [step, tensor])[0], [13, GRADIENT]);
  hook.close();
});

test('forgotten handles are freed', async () => {
  const trial = recorded([{loss: new Float32Array(1 << 18)}]);
  const memoryAfter = async (values) => {
    for (let each = 0; each < values; ++each) trial.tensor('loss').value(0);
    collect();
    await sleep(5);
    return process.memoryUsage().rss;
  };
  let memory = await memoryAfter(600); // the allocator keeps some
  // Another thread frees collected arrays, perhaps only in the next round; what leaks grows in each.
  let grown = Infinity;
  for (let round = 0; round < 8 && grown >= 100e6; ++round) {
    const next = await memoryAfter(400);
    grown = next - memory;
    memory = next;
  }
  assert.ok(grown < 100e6, `each 400 values of 1 MiB leave ${grown} bytes`);
});

test('the version is known', () => assert.match(libraryVersion(), /^1\.\d+\.\d+$/));
