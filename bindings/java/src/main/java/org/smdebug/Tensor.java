package org.smdebug;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.smdebug.raw.Raw;

/** A trial's tensor, by name. May be used from any thread, until the trial is closed. */
public final class Tensor {
  private final String name;
  private final Handle handle;

  /** Takes a handle over. */
  Tensor(String name, long address) {
    this.name = name;
    handle = new Handle(this, "the trial of tensor '" + name + "'", address, Raw::smd_tensor_free);
  }

  /**
   * Its name.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * The name the framework gave it, where a shape was saved with one.
   *
   * @return the name, or ""
   */
  public String originalName() {
    return handle.get(tensor -> Lists.takeText(Raw.smd_tensor_original_name(tensor)));
  }

  /**
   * The global steps at which it was saved.
   *
   * @return the steps, ascending
   */
  public LongStream steps() {
    return steps(Mode.GLOBAL);
  }

  /**
   * The steps of a mode at which it was saved.
   *
   * @param mode the mode
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode) {
    long[] steps =
        handle.get(tensor -> Lists.takeSteps(Raw.smd_tensor_steps(tensor, mode.number(), 0)));
    return Arrays.stream(steps);
  }

  /**
   * The last of these steps that are not after a step.
   *
   * @param step the step
   * @param count how many at most; 0: all
   * @param mode the mode
   * @return the steps, ascending
   */
  public LongStream previousSteps(long step, long count, Mode mode) {
    long[] steps =
        handle.get(
            tensor ->
                Lists.takeSteps(Raw.smd_tensor_prev_steps(tensor, step, count, mode.number())));
    return Arrays.stream(steps);
  }

  /**
   * The workers that saved it at a step, sorted.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @return their names
   */
  public List<String> workers(long step, Mode mode) {
    return handle.get(
        tensor -> Lists.takeStrings(Raw.smd_tensor_workers(tensor, step, mode.number())));
  }

  /**
   * The elements at a global step.
   *
   * @param step the step
   * @return the value, to be closed
   */
  public Value value(long step) {
    return value(step, Mode.GLOBAL, null);
  }

  /**
   * The elements at a step.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @return the value, to be closed
   */
  public Value value(long step, Mode mode) {
    return value(step, mode, null);
  }

  /**
   * The elements at a step.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @param worker who saved them; null: the first that did
   * @return the value, to be closed
   * @throws ValueUnavailableException if it was not saved there, or only its reductions
   * @throws StepUnavailableException if the step was not saved
   * @throws StepNotYetException if the step may still come
   * @throws WorkerUnknownException if this worker did not save it there
   * @throws CorruptDataException if the file does not hold what it should
   */
  public Value value(long step, Mode mode, String worker) {
    return handle.get(
        tensor -> new Value(Raw.smd_tensor_value(tensor, step, mode.number(), worker)));
  }

  /**
   * The shape at a global step: the one saved, or the value's.
   *
   * @param step the step
   * @return the size of each dimension
   */
  public long[] shape(long step) {
    return shape(step, Mode.GLOBAL, null);
  }

  /**
   * The shape at a step: the one saved, or the value's.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @param worker who saved it; null: the first that did
   * @return the size of each dimension
   * @throws ShapeUnavailableException if neither was saved
   */
  public long[] shape(long step, Mode mode, String worker) {
    return handle.get(
        tensor -> Lists.takeSteps(Raw.smd_tensor_shape(tensor, step, mode.number(), worker)));
  }

  /**
   * A reduction at a global step: the one saved, or computed from the value.
   *
   * @param step the step
   * @param reduction which
   * @return the number
   */
  public double reduce(long step, Reduction reduction) {
    return reduce(step, reduction, false);
  }

  /**
   * A reduction of the absolute values at a global step: the one saved, or computed from the value.
   *
   * @param step the step
   * @param reduction which
   * @return the number
   */
  public double reduceAbsolute(long step, Reduction reduction) {
    return reduce(step, reduction, true);
  }

  private double reduce(long step, Reduction reduction, boolean absolute) {
    try (Value number = reduction(step, Mode.GLOBAL, null, reduction, absolute)) {
      return number.toDouble();
    }
  }

  /**
   * A reduction at a step: the one saved, or computed from the value.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @param worker who saved it; null: the first that did
   * @param reduction which
   * @param absolute whether of the absolute values
   * @return one element without dimensions, to be closed
   */
  public Value reduction(
      long step, Mode mode, String worker, Reduction reduction, boolean absolute) {
    return handle.get(
        tensor ->
            new Value(
                Raw.smd_tensor_reduction(
                    tensor, step, mode.number(), worker, reduction.key(), absolute ? 1 : 0)));
  }

  /**
   * The reductions saved at a step.
   *
   * @param step the step
   * @param mode the mode whose number it is
   * @param worker who saved them; null: the first that did
   * @return their names, as "min", "abs_l1"
   */
  public List<String> reductions(long step, Mode mode, String worker) {
    return handle.get(
        tensor ->
            Lists.takeStrings(Raw.smd_tensor_reductions(tensor, step, mode.number(), worker)));
  }

  @Override
  public String toString() {
    return "Tensor(" + name + ")";
  }

  void close() {
    handle.close();
  }
}
