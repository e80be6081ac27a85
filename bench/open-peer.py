"""One opening by delta-rs, a process of its own: TABLE start|open|list. The same line of JSON as open-child.ts."""

import json
import os
import resource
import sys
import time

from deltalake import DeltaTable


def peak_bytes():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


folder, step = sys.argv[1:]
started = time.perf_counter()
files = 0
if step != "start":
    table = DeltaTable(folder)
    if step == "list":
        files = table.get_add_actions().num_rows
seconds = time.perf_counter() - started
usage = resource.getrusage(resource.RUSAGE_SELF)
print(
    json.dumps(
        {
            "files": files,
            "seconds": seconds,
            "cpuSeconds": usage.ru_utime + usage.ru_stime,
            "peakBytes": peak_bytes(),
        }
    )
)
sys.stdout.flush()
# Threads of the libraries may still run when the interpreter takes itself down, which then ends in an abort now and then.
os._exit(0)
