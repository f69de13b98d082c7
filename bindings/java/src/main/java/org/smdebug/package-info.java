/**
 * Records the tensors of a training run, reads them back, and evaluates rules on them.
 *
 * <p>A {@link org.smdebug.Hook} records; a {@link org.smdebug.Trial} reads a recording; a {@link
 * org.smdebug.Rule} evaluates it.
 */
package org.smdebug;
