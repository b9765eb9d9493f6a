"""Runs the Python blocks of docs/from_reverb.md: on Reverb's own server, and the whole program on ours too.

Arguments: the page, and the port of our server, which has the tables of the page's JSON. Prints how many blocks ran.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import reverb

page, port = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)


def run(block):
    # The page says a port that may be taken here.
    scope = {"__name__": "__main__"}
    exec(compile(block.replace("port=8000", "port=None"), page, "exec"), scope)
    return scope


def described(port):
    """What a server says of its tables, but for the counts."""
    tables = reverb.Client(f"localhost:{port}").server_info(timeout=120)
    return {
        name: (
            str(table.sampler_options),
            str(table.remover_options),
            table.max_size,
            table.max_times_sampled,
            [getattr(table.rate_limiter_info, each) for each in limits],
            table.signature,
        )
        for name, table in tables.items()
    }


limits = ["samples_per_insert", "min_size_to_sample", "min_diff", "max_diff"]
tables, program, *others = blocks
server = run(tables)["server"]
theirs, ours = described(server.port), described(port)
assert theirs == ours, f"{theirs}\n{ours}"
server.stop()
for block in [program, *others]:
    run(block)


class OurServer:
    """Stands in the program where it makes Reverb's server."""

    def __init__(self, tables):
        self.port = int(port)

    def stop(self):
        pass


reverb.Server = OurServer
run(program)
print(f"{len(blocks)} blocks")
sys.stdout.flush()
# What is left of TensorFlow's datasets may hold the interpreter back.
os._exit(0)
