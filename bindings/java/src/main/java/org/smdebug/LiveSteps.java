package org.smdebug;

import java.util.Arrays;
import java.util.NoSuchElementException;
import java.util.PrimitiveIterator;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;

/**
 * Iterates over the steps of a trial and waits for steps that may still come. Incomplete steps, if
 * included, do not end a wait; they come before it, and with the step that ends it.
 */
final class LiveSteps implements PrimitiveIterator.OfLong {
  private final Trial trial;
  private final Mode mode;
  private final long end;
  private final boolean includesIncomplete;

  /** Available steps that were not yet returned, from index on. */
  private long[] known = {};

  private int index;

  /** The first step that was not yet queried. */
  private long next;

  LiveSteps(Trial trial, Mode mode, long first, long end, boolean includesIncomplete) {
    this.trial = trial;
    this.mode = mode;
    this.end = end;
    this.includesIncomplete = includesIncomplete;
    next = first;
    look();
  }

  LongStream stream() {
    int properties =
        Spliterator.ORDERED | Spliterator.DISTINCT | Spliterator.NONNULL | Spliterator.IMMUTABLE;
    return StreamSupport.longStream(Spliterators.spliteratorUnknownSize(this, properties), false);
  }

  @Override
  public boolean hasNext() {
    boolean hasMore = true;
    while (index == known.length && hasMore && next < end) {
      hasMore = waitForNext();
    }
    return index < known.length && known[index] < end;
  }

  @Override
  public long nextLong() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return known[index++];
  }

  /** Waits for one slice; returns false after the last step of an ended job. */
  private boolean waitForNext() {
    if (Thread.currentThread().isInterrupted()) {
      throw Interruption.exception();
    }
    try {
      if (Slices.arrives(slice -> trial.waitFor(next, mode, slice), Slices.MILLISECONDS)) {
        arrive();
      }
    } catch (StepUnavailableException error) {
      if (!look()) {
        ++next;
      }
    } catch (NoMoreDataException error) {
      return look();
    }
    return true;
  }

  /** Takes the step that was waited for. */
  private void arrive() {
    if (!includesIncomplete || !look()) {
      known = new long[] {next++};
      index = 0;
    }
  }

  /** Reads the available steps; returns false if there are none. */
  private boolean look() {
    long[] steps = trial.stepsNow(mode, includesIncomplete);
    int from = Arrays.binarySearch(steps, next);
    known = steps;
    index = from < 0 ? -from - 1 : from;
    if (index == known.length) {
      return false;
    }
    next = known[known.length - 1] + 1;
    return true;
  }
}
