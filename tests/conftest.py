"""What the tests need of the process they run in."""

import signal

# Whoever starts the tests in the background of a shell has them ignore it, and so what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
