'use strict';

const KEYS = [
  'path', 'step', 'mode', 'tensor', 'worker', 'collection', 'rule', 'last_step', 'key', 'expression', 'errno',
  'cause', 'http_status', 's3_code', 'region', 'request_id',
];

// Why a call failed.  `code` is a name that all languages share, such as 'STEP_UNAVAILABLE'; the
// message says what failed, where, and what to do.
class SmdebugError extends Error {
  constructor(code, message, detailOf = () => null) {
    super(message);
    this.name = 'SmdebugError';
    this.code = code;
    const found = KEYS.map((key) => [key, detailOf(key)]).filter(([, detail]) => detail !== null);
    this.details = Object.freeze(Object.fromEntries(found));
  }
}

module.exports = {SmdebugError};
