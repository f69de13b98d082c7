/* Calls of the C library that fail on request.  Link this, or load it before the C library in
 * programs of other languages.  FAULT_UNDER then names libraries ("liba.so,libb"), and only calls
 * below their functions count.  Calls by libraries in FAULT_SPARED on their behalf do not count:
 * a virtual machine exits without memory. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

enum fault_group { FAULT_NONE, FAULT_MEMORY, FAULT_CALLS };

/* Instead of an error number: reads and writes transfer half of the bytes. */
enum { FAULT_SHORT = -1 };

/* Makes the `number`th call of the group fail from now on, and all later calls if `on`.
 * Calls by the program itself do not count.  */
void fault_arm(enum fault_group group, long number, int error, int on);

/* Stops that; returns the number of calls. */
long fault_disarm(void);

/* Returns the number of allocations since the program began that were not freed. */
long fault_allocations(void);

#endif /* FAILING_CALLS_H */
