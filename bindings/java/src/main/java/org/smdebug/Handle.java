package org.smdebug;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/**
 * Owns one handle of the C library. The handle is freed once it is closed and no call uses it, so
 * close never frees a handle that a call on another thread uses.
 */
final class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int CLOSED = Integer.MIN_VALUE;

  private final long address;
  private final LongConsumer free;
  private final String what;
  private final Cleaner.Cleanable cleanable;

  /** The number of running calls; close adds CLOSED. */
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * Takes ownership of a handle.
   *
   * @param owner the object whose garbage collection frees the handle at the latest
   * @param what a phrase for messages, such as "the trial"
   */
  Handle(Object owner, String what, long address, LongConsumer free) {
    this(owner, what, address, free, CLEANER);
  }

  /**
   * Takes ownership of a handle.
   *
   * @param cleaner frees it on its own thread, if that may wait
   */
  Handle(Object owner, String what, long address, LongConsumer free, Cleaner cleaner) {
    this.address = address;
    this.free = free;
    this.what = what;
    cleanable = cleaner.register(owner, this::end);
  }

  /** Runs an action once an object becomes unreachable. */
  static void freeWith(Object owner, Runnable free) {
    CLEANER.register(owner, free);
  }

  /** Begins a call; the address stays valid until {@link #leave}. */
  long enter() {
    for (; ; ) {
      int inside = calls.get();
      if (inside < 0) {
        throw new IllegalStateException(what + " is closed");
      }
      if (calls.compareAndSet(inside, inside + 1)) {
        return address;
      }
    }
  }

  void leave() {
    if (calls.decrementAndGet() == CLOSED) {
      free.accept(address);
    }
  }

  boolean isClosed() {
    return calls.get() < 0;
  }

  /** Calls a function that returns a number or a handle. */
  long number(LongUnaryOperator call) {
    long entered = enter();
    try {
      return call.applyAsLong(entered);
    } finally {
      leave();
    }
  }

  /** Calls a function and returns its result. */
  <T> T get(LongFunction<T> call) {
    long entered = enter();
    try {
      return call.apply(entered);
    } finally {
      leave();
    }
  }

  void run(LongConsumer call) {
    long entered = enter();
    try {
      call.accept(entered);
    } finally {
      leave();
    }
  }

  @Override
  public void close() {
    cleanable.clean();
  }

  private void end() {
    int inside = calls.getAndUpdate(n -> n | CLOSED);
    if (inside == 0) {
      free.accept(address);
    }
  }
}
