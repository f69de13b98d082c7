/* Late tensors: those that come after their step has ended, for example from an accelerator. */
#ifndef SMDEBUG_LATE_H
#define SMDEBUG_LATE_H

#include "smdebug/export.h"
#include "smdebug/statistics.h"
#include "smdebug/tensor.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* An accelerator computes behind the host.  A job that waits at the end of a step for its
 * figures slows down.  Instead, it says within the step which tensors will come late, ends
 * the step, and saves them when they have arrived: at any time, from any thread, in any
 * order.
 *
 *   within step 7    smd_hook_expect(hook, "w", &parts), and start computing what it returns
 *   later            smd_hook_save_late_statistics(hook, "w", 7, &statistics)
 *
 * smd_hook_end_step() returns at once.  A step is complete when all its expected tensors
 * have come.  Then it is written, and attached rules evaluate it; so smd_hook_action() and
 * smd_hook_take_findings() report late too.  This happens in the order of the steps: later
 * steps wait for earlier ones, while their tensors are saved as ever.  What rules must see
 * of them is copied.
 *
 * A trial that was recorded late has the same files as one recorded in time, if tensors are
 * saved in the same order within a step.  Scalars and custom tensors belong to the step in
 * which they were given.
 *
 * At most 16 ended steps wait.  When another one ends, the oldest is completed without what
 * is missing; so are all of them by smd_hook_close() and smd_hook_free().  Such a loss is an
 * error of the writer threads: WRONG_STATE, with the details "step" and "tensor". */

/* What the step saves of a tensor, in addition to the bits SMD_HAS_... of figures. */
#define SMD_WANTS_VALUE 0x10000      /* the raw value */
#define SMD_WANTS_STATISTICS 0x20000 /* attached rules: see smd_hook_save_statistics() */
#define SMD_WANTS_SHAPE 0x40000      /* the shape */

/* Expects a tensor of the open step to come late.  A tensor that is expected twice comes
 * twice.  `parts_out` gets 0 if the step neither saves nor evaluates the tensor: then it is
 * not expected, and must not be sent.  Else it gets SMD_WANTS_... and the bits SMD_HAS_... of
 * the figures that its collections save, or from which these follow.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_expect(smd_hook *hook, const char *tensor, uint32_t *parts_out) SMD_NOEXCEPT;

/* Saves an expected tensor as smd_hook_save() does: also while the step is still open.  The
 * memory behind `view` is only read during the call.
 *
 * If it fails with INVALID_ARGUMENT or UNSUPPORTED, nothing was saved; with OUT_OF_MEMORY,
 * the step is dropped.  After these the tensor is still expected: send it again, or forgo it.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (the step does not expect the tensor, or it has come;
 * the step has not begun, is complete or was discarded; the hook is closed), UNSUPPORTED (a
 * text of 2 GiB or more), AFTER_FORK, or the first unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_late(smd_hook *hook, const char *tensor, int64_t global_step,
                                const smd_tensor_view *view) SMD_NOEXCEPT;

/* Saves an expected DLPack tensor in host memory as smd_hook_save_late() does, but borrows
 * large compact elements.  Its deleter is called exactly once, also if this fails, on this
 * thread or a writer thread, with no lock held.
 *
 * Fails: as smd_hook_save_late(), and UNSUPPORTED (other types; other devices: detail
 * "device", such as "cuda:0").
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_late_dlpack(smd_hook *hook, const char *tensor, int64_t global_step,
                                       struct DLManagedTensorVersioned *dlpack) SMD_NOEXCEPT;

/* Saves the figures of an expected tensor as smd_hook_save_statistics() does.
 *
 * Fails: as smd_hook_save_late(), INVALID_ARGUMENT (also if a selected reduction is not given:
 * detail "reduction"), UNSUPPORTED (a collection selects the raw value; complex numbers,
 * text).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_late_statistics(smd_hook *hook, const char *tensor, int64_t global_step,
                                           const smd_statistics *statistics) SMD_NOEXCEPT;

/* Gives up an expected tensor, for example because computing it failed.  Its step is recorded
 * without it.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (as smd_hook_save_late()), AFTER_FORK, or the first
 * unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_forgo(smd_hook *hook, const char *tensor, int64_t global_step) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: expects a tensor, and gives it up because computing it failed.
 *
 *   smd_error *expect_and_forgo(smd_hook *hook, int64_t open_step) {
 *     uint32_t parts;
 *     smd_error *error = smd_hook_expect(hook, "w", &parts);
 *     if (error != NULL || parts == 0) return error;
 *     error = smd_hook_end_step(hook);
 *     return error != NULL ? error : smd_hook_forgo(hook, "w", open_step);
 *   } */

#endif /* SMDEBUG_LATE_H */
