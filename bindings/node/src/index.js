'use strict';
const {lib} = require('./library.js');
const {SmdebugError} = require('./error.js');
const {Hook} = require('./hook.js');
const {builtinRules} = require('./finding.js');
const {RuleSet} = require('./rules.js');
const {Tensor} = require('./tensor.js');
const {Trial} = require('./trial.js');

const libraryVersion = () => lib.smd_version_string();

module.exports = {Hook, RuleSet, SmdebugError, Tensor, Trial, builtinRules, libraryVersion};
