/**
 * Records the tensors of a training run, reads them back, and judges them by rules.
 *
 * <p>A {@link org.smdebug.Hook} records; a {@link org.smdebug.Trial} reads what was recorded; a
 * {@link org.smdebug.Rule} judges it.
 */
package org.smdebug;
