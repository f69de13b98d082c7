// Waiting for a job that runs, while other work goes on.
'use strict';
const {setTimeout: sleep} = require('node:timers/promises');

const PAUSE_MS = 50; // between two looks at a job that runs

// What a wait throws that its signal ends, as in Node.js.
function abortError(signal) {
  const error = new Error('The operation was aborted', {cause: signal.reason});
  return Object.assign(error, {name: 'AbortError', code: 'ABORT_ERR'});
}

function throwIfAborted(signal) {
  if (signal?.aborted) throw abortError(signal);
}

// Settles as `promise` does, or rejects once `signal` aborts, after it called `cancel`.
async function untilAborted(promise, signal, cancel) {
  if (signal === undefined) return promise;
  promise.catch(() => {}); // nobody may be left to handle it
  let abort;
  const aborted = new Promise((_, reject) => {
    abort = () => {
      cancel();
      reject(abortError(signal));
    };
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

// Repeats `attempt`, which returns a promise, while it fails with an error that `isTooEarly`, at most
// so many seconds.
async function repeated(attempt, {isTooEarly, limit, signal, cancel = () => {}}) {
  const end = performance.now() + 1000 * limit;
  for (;;) {
    throwIfAborted(signal);
    try {
      return await untilAborted(attempt(), signal, cancel);
    } catch (error) {
      if (!isTooEarly(error) || performance.now() >= end) throw error;
    }
    await sleep(PAUSE_MS, undefined, {signal});
  }
}

// A server that does not answer fails with TIMEOUT too, but not because it is too early.
const isEndOfWait = ({code, details}) =>
  code === 'TIMEOUT' && details.cause === undefined && details.s3_code === undefined;

module.exports = {isEndOfWait, repeated, throwIfAborted};
