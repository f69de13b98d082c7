// What the tests share.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {after} = require('node:test');
const v8 = require('node:v8');
const vm = require('node:vm');
const {Hook, SmdebugError, Trial} = require('..');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'smdebug-node-'));
after(() => fs.rmSync(folder, {recursive: true}));
const ENDED = {settings: {end_delay_seconds: 0}}; // nothing more comes that is worth waiting for
const EVERY = {saveAll: true, saveConfig: {every: 1}};
let runs = 0;
const newRun = () => path.join(folder, `run${++runs}`);

// Records steps of tensors, each {name: tensor} or {name: [tensor, shape]}; returns the folder.
function recording(steps, options = EVERY) {
  const out = newRun();
  const hook = new Hook(out, options);
  for (const tensors of steps) {
    hook.step('train', () => Object.entries(tensors).forEach(([name, tensor]) => hook.save(name, ...[tensor].flat(1))));
  }
  hook.close();
  return out;
}

const recorded = (steps, options) => new Trial(recording(steps, options), ENDED);

const fails = (code, message) => (error) => {
  assert.ok(error instanceof SmdebugError, error);
  assert.equal(error.code, code, error.message);
  if (message !== undefined) assert.match(error.message, message);
  return true;
};

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');

module.exports = {ENDED, EVERY, collect, fails, newRun, recorded, recording};
