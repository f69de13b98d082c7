package org.smdebug;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/**
 * Owns one handle of the C library. It is freed when it was closed and no call is inside it any
 * more, so that closing from another thread never takes the handle from under a call.
 */
final class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int CLOSED = Integer.MIN_VALUE;

  private final long address;
  private final LongConsumer free;
  private final String what;
  private final Cleaner.Cleanable cleanable;

  /** How many calls are inside; CLOSED is added by closing. */
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * Takes a handle over.
   *
   * @param owner the object whose end ends the handle, at the latest
   * @param what a word for messages, as "the trial"
   */
  Handle(Object owner, String what, long address, LongConsumer free) {
    this.address = address;
    this.free = free;
    this.what = what;
    cleanable = CLEANER.register(owner, this::end);
  }

  /** Runs an action when an object cannot be reached any more. */
  static void freeWith(Object owner, Runnable free) {
    CLEANER.register(owner, free);
  }

  /** Begins a call, which {@link #leave} must end; the address is good for that long. */
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

  /** The result of a call that gives a number or a handle. */
  long number(LongUnaryOperator call) {
    long entered = enter();
    try {
      return call.applyAsLong(entered);
    } finally {
      leave();
    }
  }

  /** The result of a call. */
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
