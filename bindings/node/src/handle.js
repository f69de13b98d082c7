'use strict';
const {lib} = require('./library.js');
const {SmdebugError} = require('./error.js');

const forgotten = new FinalizationRegistry(({kind, raw}) => lib[`smd_${kind}_free`](raw));

// Owns a handle of the library.  close() frees it; so does the garbage collector, later.
class Handle {
  #kind;
  #raw;

  constructor(kind, raw) {
    this.#kind = kind;
    this.#raw = raw;
    forgotten.register(this, {kind, raw}, this);
  }

  // The handle for functions of the library.
  get raw() {
    if (this.#raw !== null) return this.#raw;
    throw new SmdebugError('WRONG_STATE', `the ${this.#kind.replace('_', ' ')} is already closed`);
  }

  // Frees the handle.  A second call does nothing.
  close() {
    if (this.#raw === null) return;
    forgotten.unregister(this);
    lib[`smd_${this.#kind}_free`](this.#raw);
    this.#raw = null;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }
}

module.exports = {Handle};
