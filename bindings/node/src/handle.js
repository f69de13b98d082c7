'use strict';
const {lib} = require('./library.js');
const {shown} = require('./arguments.js');
const {SmdebugError, invalid} = require('./error.js');

const forgotten = new FinalizationRegistry(({kind, raw}) => lib[`smd_${kind}_free`](raw));

// Owns a handle of the library.  close() frees it; so does the garbage collector, later.
class Handle {
  #kind;
  #raw;
  #uses = 0;
  #isClosed = false;

  constructor(kind, raw) {
    this.#kind = kind;
    this.#raw = raw;
    forgotten.register(this, {kind, raw}, this);
  }

  // Returns the handle of `value`, which must be of this class.
  static rawOf(value, what) {
    if (value instanceof this) return value.raw;
    throw invalid(`${what} is ${shown(value)}; pass a ${this.name}`);
  }

  // The handle for functions of the library.
  get raw() {
    if (!this.#isClosed) return this.#raw;
    throw new SmdebugError('WRONG_STATE', `the ${this.#kind.replace('_', ' ')} is already closed`);
  }

  get isClosed() {
    return this.#isClosed;
  }

  // Calls `use` with the handle, and returns its result.  If close() is called meanwhile, the handle
  // is freed after that.
  hold(use) {
    const {raw} = this;
    ++this.#uses;
    try {
      return use(raw);
    } finally {
      this.#release();
    }
  }

  // As hold(), for a `use` that returns a promise.
  async holdUntil(use) {
    const {raw} = this;
    ++this.#uses;
    try {
      return await use(raw);
    } finally {
      this.#release();
    }
  }

  // Frees the handle.  A second call does nothing.
  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    forgotten.unregister(this);
    this.#freeUnlessUsed();
  }

  #release() {
    --this.#uses;
    if (this.#isClosed) this.#freeUnlessUsed();
  }

  #freeUnlessUsed() {
    if (this.#uses > 0) return;
    lib[`smd_${this.#kind}_free`](this.#raw);
    this.#raw = null;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }
}

module.exports = {Handle};
