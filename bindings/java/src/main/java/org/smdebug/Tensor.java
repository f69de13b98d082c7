package org.smdebug;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.smdebug.raw.Raw;

/**
 * One tensor of a trial. It outlives the trial and keeps what it needs of it: close it, or leave
 * that to the garbage collector. Safe for use by several threads.
 */
public final class Tensor implements AutoCloseable {
  private final String name;
  private final Handle handle;

  /** Takes ownership of a handle. */
  Tensor(String name, long address) {
    this.name = name;
    handle = new Handle(this, "the tensor '" + name + "'", address, Raw::smd_tensor_free);
  }

  /**
   * Returns the name of the tensor.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * Returns the name that the framework gave the tensor, if a shape was saved with one.
   *
   * @return the name, or ""
   */
  public String originalName() {
    return handle.get(tensor -> Lists.takeText(Raw.smd_tensor_original_name(tensor)));
  }

  /**
   * Returns the global steps at which the tensor was saved.
   *
   * @return the steps, ascending
   */
  public LongStream steps() {
    return steps(Mode.GLOBAL);
  }

  /**
   * Returns the steps of a mode at which the tensor was saved.
   *
   * @param mode the mode
   * @return the steps, ascending
   */
  public LongStream steps(Mode mode) {
    long[] steps =
        handle.get(tensor -> Lists.takeIntegers(Raw.smd_tensor_steps(tensor, mode.number(), 0)));
    return Arrays.stream(steps);
  }

  /**
   * Returns the last steps of the tensor up to and including a step.
   *
   * @param step the step
   * @param mode the mode
   * @param count the largest number of steps; 0 for all
   * @return the steps, ascending
   */
  public LongStream previousSteps(long step, Mode mode, long count) {
    long[] steps =
        handle.get(
            tensor ->
                Lists.takeIntegers(Raw.smd_tensor_prev_steps(tensor, step, mode.number(), count)));
    return Arrays.stream(steps);
  }

  /**
   * Returns the sorted names of the workers that saved the tensor at a step.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @return their names
   */
  public List<String> workers(long step, Mode mode) {
    return handle.get(
        tensor -> Lists.takeStrings(Raw.smd_tensor_workers(tensor, step, mode.number())));
  }

  /**
   * Reads the elements at a global step.
   *
   * @param step the step
   * @return the value; close it
   */
  public Value value(long step) {
    return value(step, Mode.GLOBAL, null);
  }

  /**
   * Reads the elements at a step.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @return the value; close it
   */
  public Value value(long step, Mode mode) {
    return value(step, mode, null);
  }

  /**
   * Reads the elements at a step.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param worker the worker that saved them; null for the first one found
   * @return the value; close it
   * @throws ValueUnavailableException if the tensor was not saved there, or only its reductions
   * @throws StepUnavailableException if the step was not saved
   * @throws StepNotYetException if the step may still come
   * @throws WorkerUnknownException if this worker did not save the tensor there
   * @throws CorruptDataException if the file is damaged
   */
  public Value value(long step, Mode mode, String worker) {
    return handle.get(
        tensor -> new Value(Raw.smd_tensor_value(tensor, step, mode.number(), worker)));
  }

  /**
   * Reads the elements at all steps, from {@code first} to before {@code end}, at which the tensor
   * was saved: in one call, on several threads, which is much faster than a call for each. A step
   * that cannot be read throws when its value is taken.
   *
   * @param first the first step
   * @param end the step after the last; {@link Long#MAX_VALUE} for all
   * @param mode the mode that the step numbers belong to
   * @param worker the worker that saved them; null for the first one found
   * @return the values; close them
   */
  public Values values(long first, long end, Mode mode, String worker) {
    return handle.get(
        tensor -> new Values(Raw.smd_tensor_values(tensor, first, end, mode.number(), worker)));
  }

  /**
   * Returns the shape at a global step: the saved one, or that of the value.
   *
   * @param step the step
   * @return the size of each dimension
   */
  public long[] shape(long step) {
    return shape(step, Mode.GLOBAL, null);
  }

  /**
   * Returns the shape at a step: the saved one, or that of the value.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param worker the worker that saved it; null for the first one found
   * @return the size of each dimension
   * @throws ShapeUnavailableException if neither was saved
   */
  public long[] shape(long step, Mode mode, String worker) {
    return handle.get(
        tensor -> Lists.takeIntegers(Raw.smd_tensor_shape(tensor, step, mode.number(), worker)));
  }

  /**
   * Returns a reduction at a global step: the saved one, or one computed from the value.
   *
   * @param step the step
   * @param reduction the reduction
   * @return the number
   */
  public double reduce(long step, Reduction reduction) {
    return reduce(step, reduction, false);
  }

  /**
   * Returns a reduction of the absolute values at a global step: the saved one, or one computed
   * from the value.
   *
   * @param step the step
   * @param reduction the reduction
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
   * Returns a reduction at a step: the saved one, or one computed from the value.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param worker the worker that saved it; null for the first one found
   * @param reduction the reduction
   * @param absolute true to reduce the absolute values
   * @return one element without dimensions; close it
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
   * Returns a reduction at all steps, from {@code first} to before {@code end}, at which the tensor
   * was saved: the saved ones, or computed from the values, in one call.
   *
   * @param first the first step
   * @param end the step after the last; {@link Long#MAX_VALUE} for all
   * @param mode the mode that the step numbers belong to
   * @param worker the worker that saved them; null for the first one found
   * @param reduction the reduction
   * @param absolute true to reduce the absolute values
   * @return one element without dimensions for each step; close it
   */
  public Values reductionValues(
      long first, long end, Mode mode, String worker, Reduction reduction, boolean absolute) {
    return handle.get(
        tensor ->
            new Values(
                Raw.smd_tensor_reduction_values(
                    tensor,
                    first,
                    end,
                    mode.number(),
                    worker,
                    reduction.key(),
                    absolute ? 1 : 0)));
  }

  /**
   * Returns the reductions saved at a step.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param worker the worker that saved them; null for the first one found
   * @return their names, such as "min" and "abs_l1"
   */
  public List<String> reductions(long step, Mode mode, String worker) {
    return handle.get(
        tensor ->
            Lists.takeStrings(Raw.smd_tensor_reductions(tensor, step, mode.number(), worker)));
  }

  /**
   * Reads the elements of a tensor of which each worker saved its part, as a whole. Parts that
   * several workers saved must be equal, as must the values of a tensor that the workers do not
   * share.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @return the value; close it
   * @throws IllegalStateException if a part is missing, or its place in the whole is not known
   */
  public Value fullValue(long step, Mode mode) {
    return handle.get(tensor -> new Value(Raw.smd_tensor_full_value(tensor, step, mode.number())));
  }

  /**
   * Returns a reduction of the whole tensor, of which each worker saved its part: computed from the
   * elements if they were saved, or merged from the reductions of the parts. A median cannot be
   * merged.
   *
   * @param step the step
   * @param mode the mode that the step number belongs to
   * @param reduction the reduction
   * @param absolute true to reduce the absolute values
   * @return one element without dimensions; close it
   * @throws IllegalStateException if a part is missing or has not saved what is merged
   */
  public Value fullReduction(long step, Mode mode, Reduction reduction, boolean absolute) {
    return handle.get(
        tensor ->
            new Value(
                Raw.smd_tensor_full_reduction(
                    tensor, step, mode.number(), reduction.key(), absolute ? 1 : 0)));
  }

  @Override
  public String toString() {
    return "Tensor(" + name + ")";
  }

  /** Frees the tensor's handle. Running calls complete; values stay valid. */
  @Override
  public void close() {
    handle.close();
  }
}
