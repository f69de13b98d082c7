"""Records into a bucket over TLS while Python's own OpenSSL is at work in the process.

Arguments: the bucket's URL, the server's URL, its certificate.  The rest the library
takes from the environment.
"""

import array
import hashlib
import ssl
import sys
import threading
import urllib.error
import urllib.request

import smdebug as smd

trial_url, server_url, certificate = sys.argv[1:]
context = ssl.create_default_context(cafile=certificate)


def fetch(times):
    """By Python's OpenSSL; S3 refuses a call without a signature, over good TLS."""
    for _ in range(times):
        try:
            urllib.request.urlopen(server_url, context=context, timeout=20).close()
        except urllib.error.HTTPError as error:
            assert error.code == 403, error.code
            error.close()


fetch(1)
other = threading.Thread(target=fetch, args=(20,))
other.start()
with smd.Hook(trial_url, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
    for step in range(5):
        with hook.step():
            hook.save("weight", array.array("f", [step] * 1000))
other.join()
fetch(1)

trial = smd.create_trial(trial_url)
assert trial.steps() == [0, 1, 2, 3, 4]
assert memoryview(trial.tensor("weight").buffer(4))[999] == 4.0
assert hashlib.sha256(b"").hexdigest().startswith("e3b0c442")
print("both")
