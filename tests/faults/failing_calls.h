/* Calls of the C library that fail when they are told to.  Linked, or, in programs of other
 * languages, loaded before the C library; FAULT_UNDER names libraries then ("liba.so,libb"),
 * and only calls made by their functions count, or by what those call.  What libraries named in
 * FAULT_SPARED do for them does not count: a virtual machine ends without memory. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

enum fault_group { FAULT_NONE, FAULT_MEMORY, FAULT_CALLS };

/* In place of an error number: what is read or written is cut to a half. */
enum { FAULT_SHORT = -1 };

/* Has the `number`th call of the group fail from now on, and, where `on`, all after it.
 * What the program itself calls does not count.  */
void fault_arm(enum fault_group group, long number, int error, int on);

/* Ends that; how many calls there were. */
long fault_disarm(void);

/* How many allocations were made and not freed since the program began. */
long fault_allocations(void);

#endif /* FAILING_CALLS_H */
