// Steps of a hook.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const {test} = require('node:test');
const {setTimeout: sleep} = require('node:timers/promises');
const {Hook, Trial} = require('..');
const {ENDED, EVERY, fails, newRun} = require('./support.js');

test('a step that throws is discarded', () => {
  const out = newRun();
  const hook = new Hook(out, EVERY);
  const fill = () => {
    hook.save('loss', 1);
    throw new Error('of the training');
  };
  assert.throws(() => hook.step('train', fill), {message: 'of the training'});
  assert.equal(hook.step('train', (step) => (hook.save('loss', 2), step)), 1);
  hook.close();
  hook.close();
  assert.throws(() => hook.save('loss', 1), fails('WRONG_STATE', /already closed/));
  assert.deepEqual(new Trial(out, ENDED).steps('train'), [1]);
  assert.throws(() => new Hook(out), fails('TRIAL_EXISTS'));
});

test('what a step throws arrives, also if the step cannot be discarded', () => {
  const hook = new Hook(newRun(), EVERY);
  const after = (ended) => () => {
    ended();
    throw new TypeError('MINE');
  };
  assert.throws(() => hook.step('train', after(() => hook.endStep())), {name: 'TypeError', message: 'MINE'});
  assert.throws(() => hook.step('train', after(() => hook.discardStep())), {message: 'MINE'});
  assert.throws(() => hook.step('train', after(() => hook.close())), (error) => {
    assert.equal(error.message, 'MINE');
    return fails('WRONG_STATE', /already closed/)(error.cause);
  });
});

test('a step ends itself only', () => {
  const hook = new Hook(newRun(), EVERY);
  assert.throws(() => hook.step('train', () => hook.endStep()), fails('WRONG_STATE', /step 0 has already ended/));
  const next = () => {
    hook.endStep();
    hook.beginStep('train');
  };
  assert.throws(() => hook.step('train', next), fails('WRONG_STATE', /step 1 has already ended/));
  hook.endStep(); // the second one is still open
  hook.close();
});

test('a step may wait for something', async () => {
  const out = newRun();
  const hook = new Hook(out, EVERY);
  const filling = hook.step('train', async (step) => {
    await sleep(5);
    hook.save('loss', 1);
    return step;
  });
  assert.throws(() => hook.step('train', () => {}), fails('WRONG_STATE', /open/));
  assert.equal(await filling, 0);
  await assert.rejects(hook.step('train', async () => {
    hook.save('loss', 2);
    await null;
    throw new Error('of the training');
  }), {message: 'of the training'});
  await hook.step('train', async () => hook.save('loss', 3));
  const closed = hook.step('train', () => sleep(1));
  hook.close();
  await assert.rejects(closed, fails('WRONG_STATE', /already closed/));
  assert.deepEqual(new Trial(out, ENDED).tensor('loss').steps('train'), [0, 2]);
});

test('a job records where it runs, and a caller sees what it records', () => {
  const out = newRun();
  const own = {name: 'own', regexes: ['^own'], saveConfig: {every: 9}};
  const hook = new Hook(out, {collections: [own], includeCollections: ['own']});
  assert.deepEqual([hook.lastStep(), hook.lastStep('eval'), hook.isRecording], [null, null, true]);
  hook.step('train', () => hook.save('own', 1));
  hook.step('train', () => {
    hook.addToStep(['own']);
    hook.save('own', 2);
  });
  assert.throws(() => hook.addToStep('own'), fails('INVALID_ARGUMENT', /collections is "own"/));
  assert.deepEqual([hook.lastStep(), hook.lastStep('eval')], [1, null]);
  hook.close();
  const trial = new Trial(out, ENDED);
  assert.deepEqual(trial.tensor('own').steps(), [0, 1]);
  const facts = trial.metadata();
  assert.equal(facts['run.node'], process.version);
  assert.match(facts['run.library'], /\d+\.\d+/);
  assert.ok(facts['run.host'].length > 0);
  assert.equal(new Hook(newRun(), {settings: {dry_run: true}}).isRecording, false);
});

test('a configuration file sets options', () => {
  const [out, other, file] = [newRun(), newRun(), `${newRun()}.json`];
  const config = {
    LocalPath: out,
    CollectionConfigurations: [{CollectionName: 'weights', CollectionParameters: {save_interval: '1'}}],
  };
  fs.writeFileSync(file, JSON.stringify(config));
  for (const [given, wanted] of [[undefined, out], [other, other]]) {
    const hook = new Hook(given, {configFile: file});
    hook.step('train', () => hook.save('layer.weight', 1));
    hook.close();
    assert.deepEqual(new Trial(wanted, ENDED).tensorNames(), ['layer.weight']);
  }
  assert.throws(() => new Hook(undefined, {configFile: `${file}.none`}), fails('NOT_FOUND'));
});
