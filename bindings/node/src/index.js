'use strict';
const {lib} = require('./library.js');
const {SmdebugError} = require('./error.js');
const {Hook} = require('./hook.js');
const {Tensor, Trial} = require('./trial.js');
const {RuleSet} = require('./rules.js');

const libraryVersion = () => lib.smd_version_string();

module.exports = {Hook, RuleSet, SmdebugError, Tensor, Trial, libraryVersion};
