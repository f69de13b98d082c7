// Waiting for a job, or for a server, while other work goes on.
'use strict';
const assert = require('node:assert/strict');
const {spawn} = require('node:child_process');
const {once} = require('node:events');
const {test} = require('node:test');
const {setTimeout: sleep} = require('node:timers/promises');
const {Hook, RuleSet, Trial} = require('..');
const {EVERY, fails, newRun, recording} = require('./support.js');

// Starts a server in another process that takes requests, and never answers.
async function silentServer(context) {
  const program = `const server = require('node:net').createServer(() => {});
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const server = spawn(process.execPath, ['-e', program], {stdio: ['ignore', 'pipe', 'inherit']});
  context.after(() => server.kill());
  const [port] = await once(server.stdout, 'data');
  return {
    s3_endpoint: `http://127.0.0.1:${String(port).trim()}`, s3_access_key: 'a', s3_secret_key: 'b',
    s3_region: 'us-east-1', s3_first_byte_seconds: 5,
  };
}

// Returns the longest time in milliseconds in which no other work was done.
async function longestBlock(work) {
  let [last, longest] = [performance.now(), 0];
  const watch = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(watch, 5);
  await work();
  watch();
  clearInterval(timer);
  return longest;
}

test('a server that does not answer does not block', async (context) => {
  const settings = await silentServer(context);
  const began = performance.now();
  const blocked = await longestBlock(() =>
    assert.rejects(Trial.open('s3://bucket/run', {settings, signal: AbortSignal.timeout(300)}), {name: 'AbortError'}));
  assert.ok(blocked < 3000, `other work waited ${blocked} ms`);
  assert.ok(performance.now() - began < 4000, 'the signal ends the wait');
  const slow = Trial.open('s3://bucket/run', {settings: {...settings, s3_first_byte_seconds: 1, s3_max_attempts: 1}});
  await assert.rejects(slow, ({code, details}) => ['TIMEOUT', 'NETWORK'].includes(code) && details.cause !== undefined);
});

test('an aborted signal ends a wait before it begins', async () => {
  const run = recording([{loss: 1}]);
  const signal = AbortSignal.abort('enough');
  const aborted = {name: 'AbortError', code: 'ABORT_ERR', cause: 'enough'};
  await assert.rejects(Trial.open(run, {signal}), aborted);
  const trial = await Trial.open(run);
  await assert.rejects(trial.waitForStep(0, {signal}), aborted);
  await assert.rejects(trial.follow({signal}).next(), aborted);
  await assert.rejects(Trial.open(newRun(), {signal: AbortSignal.timeout(20)}), {name: 'AbortError'});
});

test('a trial may be closed while it waits', async () => {
  const out = newRun();
  const hook = new Hook(out, EVERY);
  hook.step('train', () => hook.save('loss', 1));
  const trial = await Trial.open(out);
  const waiting = [1, 2, 3].map((step) => trial.waitForStep(step));
  trial.close();
  await Promise.all(waiting.map((each) => assert.rejects(each, fails('WRONG_STATE', /already closed/))));
  hook.close();
});

test('steps are followed to the end of a job', async () => {
  const out = newRun();
  const hook = new Hook(out, {saveAll: true, saveConfig: {every: 2}});
  const record = (mode) => hook.step(mode, () => hook.save('loss', 1));
  record('train');
  const trial = await Trial.open(out, {settings: {end_delay_seconds: 0}});
  const seen = [];
  const following = (async () => {
    for await (const step of trial.follow({mode: 'train'})) seen.push(step);
  })();
  for (let each = 0; each < 4; ++each) {
    await sleep(20);
    record('train');
  }
  while (seen.length < 3) await sleep(10); // they come while the job runs
  hook.close();
  await following;
  assert.deepEqual(seen, [0, 2, 4]);
  const some = [];
  for await (const step of trial.follow({first: 1, end: 4})) some.push(step);
  assert.deepEqual(some, [2]);
  for await (const step of trial.follow()) if (step === 2) break;
});

test('findings are followed to the end of a job', async () => {
  const out = newRun();
  const hook = new Hook(out, EVERY);
  const record = (loss) => hook.step('train', () => hook.save('loss', loss));
  record(0);
  const trial = await Trial.open(out, {settings: {end_delay_seconds: 0}});
  const rules = new RuleSet();
  rules.addFunction('Odd', ({step, report, ...rest}) => rest);
  rules.addFunction('Large', (step) => {
    const [loss] = step.trial.tensor('loss').value(step.step).data;
    if (loss > 1) step.report({message: `the loss is ${loss}`, tensor: 'loss', value: loss, limit: 1});
  });
  const found = [];
  const following = (async () => {
    for await (const finding of rules.follow(trial)) found.push(finding);
  })();
  for (const loss of [1, 2, 3]) record(loss);
  while (found.length < 2) await sleep(10);
  record(4);
  hook.close();
  await following;
  assert.deepEqual(found.map(({rule, step, value}) => [rule, step, value]),
    [['Large', 2, 2], ['Large', 3, 3], ['Large', 4, 4]]);
  rules.reset();
  const first = rules.follow(trial, {stopAtFinding: true});
  assert.equal((await first.next()).value.step, 2);
  await assert.rejects(first.next(), fails('RULE_CONDITION_MET'));
});
