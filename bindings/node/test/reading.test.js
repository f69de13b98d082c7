// Reading tensors: many steps, damage, and what a trial knows of its steps.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const {test} = require('node:test');
const {setTimeout: sleep} = require('node:timers/promises');
const {Hook, Trial} = require('..');
const {ENDED, EVERY, collect, fails, newRun, recorded, recording} = require('./support.js');

test('values that are not read to their end are freed', async () => {
  const steps = Array.from({length: 20}, () => ({x: new Float32Array(500_000)}));
  const x = recorded(steps).tensor('x');
  const memoryAfter = async (rounds) => {
    for (let each = 0; each < rounds; ++each) {
      x.values().next();
      collect();
      await sleep(2);
    }
    return process.memoryUsage().rss;
  };
  const before = await memoryAfter(10); // the allocator keeps some
  const grown = (await memoryAfter(30)) - before;
  assert.ok(grown < 400e6, `30 times 20 values of 2 MB leave ${grown} bytes`);
});

test('a step that cannot be read does not stop the others', () => {
  const run = recording(Array.from({length: 4}, () => ({x: new Float32Array(10_000).fill(2)})));
  const [, second] = fs.readdirSync(run, {recursive: true}).filter((name) => name.endsWith('.tfevents')).sort();
  const bytes = fs.readFileSync(path.join(run, second));
  bytes[5000] ^= 1;
  fs.writeFileSync(path.join(run, second), bytes);
  const x = new Trial(run, ENDED).tensor('x');
  for (const pairs of [[...x.values()], [...x.reductionValues('mean')]]) {
    assert.deepEqual(pairs.map((pair) => pair[0]), [0, 1, 2, 3]);
    for (const at of [0, 2, 3]) assert.equal(pairs[at][1].data?.[0] ?? pairs[at][1], 2);
    assert.throws(() => pairs[1][1], (error) => {
      assert.equal(error.details.step, '1');
      return fails('CORRUPT_DATA', /^step 1: .*tfevents/)(error);
    });
  }
});

test('an error has its details, and whether to try again', async () => {
  const trial = recorded([{loss: 1}]);
  assert.throws(() => trial.tensor('loss').value(7), ({isRetryable, details}) => !isRetryable && details.step === '7');
  const only = recorded([{own: Float32Array.of(1, 2)}], {...EVERY, reductionConfig: {reductions: ['mean']}});
  assert.throws(() => only.tensor('own').value(0), ({code, details}) =>
    code === 'VALUE_UNAVAILABLE' && details.has_reductions !== undefined);
  const out = newRun();
  const hook = new Hook(out, EVERY);
  hook.step('train', () => hook.save('loss', 1));
  const running = await Trial.open(out);
  const waiting = running.waitForStep(5, {timeoutSeconds: 0});
  await assert.rejects(waiting, ({code, isRetryable}) => code === 'TIMEOUT' && isRetryable);
  hook.close();
});

test('names are narrowed by step, mode and collection', () => {
  const out = newRun();
  const hook = new Hook(out, {...EVERY, includeCollections: ['weights']});
  hook.step('train', () => {
    hook.save('loss', 1);
    hook.save('layer.weight', 1);
  });
  hook.step('eval', () => hook.save('accuracy', 1));
  hook.close();
  const trial = new Trial(out, ENDED);
  assert.deepEqual(trial.tensorNames({step: 1}), ['accuracy']);
  assert.deepEqual(trial.tensorNames({step: 0, mode: 'train'}), ['layer.weight', 'loss']);
  assert.deepEqual(trial.tensorNames({mode: 'eval'}), ['accuracy']);
  assert.deepEqual(trial.tensorNames({step: -1}), []);
  assert.deepEqual(trial.tensorNames({collection: 'weights'}), ['layer.weight']);
  assert.throws(() => trial.tensorNames({collection: 'none'}), fails('NOT_FOUND'));
  assert.deepEqual([trial.modeStep(1), trial.modeStep(7)], [{step: 0, mode: 'eval'}, null]);
  assert.deepEqual([trial.globalStep(0, 'eval'), trial.globalStep(5, 'eval')], [1, null]);
});

test('steps before one, and reductions', () => {
  const steps = Array.from({length: 5}, (_, step) => ({x: Float32Array.of(step, -2 * step)}));
  const reductionConfig = {reductions: ['mean', 'abs_max'], raw: true};
  const x = recorded(steps, {...EVERY, reductionConfig}).tensor('x');
  assert.deepEqual([x.prevSteps(3, {count: 2}), x.prevSteps(2), x.prevSteps(2, {count: 0})], [[2, 3], [0, 1, 2], []]);
  assert.deepEqual(x.reductions(1).sort(), ['abs_max', 'mean']);
  assert.deepEqual([...x.reductionValues('abs_max', {first: 3})], [[3, 6], [4, 8]]);
  assert.deepEqual(new Map(x.reductionValues('mean', {end: 2})), new Map([[0, 0], [1, -0.5]]));
  assert.throws(() => x.reductionValues('abs_mode'), fails('INVALID_ARGUMENT', /mode/));
});
