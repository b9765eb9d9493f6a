"""Calls an echo server by grpcio, and prints what came, one JSON object."""
import json
import sys
import threading
import time

import grpc

port = sys.argv[1]
out = {}
channel = grpc.insecure_channel(
    f"127.0.0.1:{port}",
    options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
)


def unary(path):
    return channel.unary_unary(path)


def stream(path):
    return channel.stream_stream(path)


def failure(call):
    try:
        call()
        return None
    except grpc.RpcError as error:
        return [error.code().name, error.details()]


out["small"] = unary("/echo")(b"abc").decode()
out["empty"] = len(unary("/echo")(b""))
big = bytes(range(256)) * 40000
out["big"] = unary("/echo")(big) == big
out["stream"] = [len(m) for m in stream("/echo")(iter([b"x" * (37 * k % 70000) for k in range(200)]))]
out["unknown"] = failure(lambda: unary("/nothing")(b"a"))
out["error"] = failure(lambda: unary("/error")(b"a"))
out["late"] = failure(lambda: unary("/never")(b"a", timeout=0.2))
compressed = lambda: unary("/echo")(b"a" * 1000, compression=grpc.Compression.Gzip)
out["compressed"] = failure(compressed)
out["thrown"] = failure(lambda: unary("/throws")(b"a"))
meta = unary("/metadata")(b"", metadata=[("x-text", "plain"), ("x-more", "a" * 3000)])
out["metadata"] = len(meta)

# A call that is cancelled while the server sends without end.
endless = stream("/endless")(iter([b"go"]))
out["endless"] = sum(1 for _, m in zip(range(50), endless) if len(m) == 10000)
endless.cancel()

# Many calls at once, of many threads.
ok = []


def worker(n):
    for k in range(50):
        message = bytes([n, k]) * (1 + 977 * k % 5000)
        if unary("/echo")(message) == message:
            ok.append(1)


threads = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
out["threads"] = len(ok)

# A reader that is slow: the server waits for it.
slow = stream("/endless")(iter([b"go"]))
got = 0
for k, m in enumerate(slow):
    got += len(m)
    if k == 3:
        time.sleep(0.3)
    if k == 2000:
        break
slow.cancel()
out["slow"] = got
out["after"] = unary("/echo")(b"still here").decode()
channel.close()
print(json.dumps(out))
