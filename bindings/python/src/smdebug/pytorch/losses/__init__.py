"""How the hook finds the losses of a training, and what they were computed from.

A loss is asked for where a script has it, in this order:

modules
    The script registers a loss module: its callback saves inputs and outputs.
returned
    The model returns a loss by name, as models of transformers do.
graphs
    The script records a tensor: its graph tells which functions computed it, and from what.
backward
    The script records a number, or a tensor after its backward pass: the graph was read when
    that pass began.
unnamed
    The script gives the hook no loss, or under a name that does not say so: the root of the
    backward pass before an update is the loss.

`nodes` reads graphs of autograd for all of them.
"""
