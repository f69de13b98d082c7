'use strict';

// The details of docs/error-handling.md.
const KEYS = [
  'path', 'step', 'mode', 'tensor', 'worker', 'collection', 'rule', 'last_step', 'has_reductions', 'elements', 'key',
  'expression', 'offset', 'size', 'errno', 'device', 'reduction', 'cause', 'http_status', 's3_code', 'sts_code', 'sso',
  'region', 'request_id',
];

// Why a call failed.  `code` is a name that all languages share, such as 'STEP_UNAVAILABLE'; the
// message says what failed, where, and what to do.
class SmdebugError extends Error {
  constructor(code, message, {detailOf = () => null, isRetryable = false} = {}) {
    super(message);
    this.name = 'SmdebugError';
    this.code = code;
    this.isRetryable = isRetryable;
    const found = KEYS.map((key) => [key, detailOf(key)]).filter(([, detail]) => detail !== null);
    this.details = Object.freeze(Object.fromEntries(found));
  }
}

const invalid = (message) => new SmdebugError('INVALID_ARGUMENT', message);

// Names the step in an error of one step among many.  Returns the error.
function atStep(error, step) {
  if (!(error instanceof SmdebugError) || error.details.step !== undefined) return error;
  error.details = Object.freeze({...error.details, step: String(step)});
  error.message = `step ${step}: ${error.message}`;
  return error;
}

// Keeps `cause` in an error that has no cause yet.
function addCause(error, cause) {
  if (error instanceof Error && error.cause === undefined) Reflect.set(error, 'cause', cause);
}

module.exports = {SmdebugError, addCause, atStep, invalid};
