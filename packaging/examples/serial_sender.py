#!/usr/bin/env python3
"""Sends events, a JSON object a line, until each is acknowledged: serial_sender.py DEVICE BAUD < events.ndjson"""
import json, os, select, sys, termios, time, tty

port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
tty.setraw(port)
mode = termios.tcgetattr(port)
mode[4] = mode[5] = getattr(termios, "B" + sys.argv[2])
termios.tcsetattr(port, termios.TCSAFLUSH, mode)
held = b""


def answer(seconds):
    """The next line that comes, or nothing if none does in time."""
    global held
    end = time.monotonic() + seconds
    while b"\n" not in held:
        if not select.select([port], [], [], max(0, end - time.monotonic()))[0]:
            return ""
        held += os.read(port, 4096)
    line, held = held.split(b"\n", 1)
    return line.decode()


for event in filter(None, map(str.strip, sys.stdin)):
    name, told = str(json.loads(event)["id"]), ""
    while not told.startswith((f"ACK {name}", f"NAK {name}")):
        if not told or told.startswith("BUSY"):  # lost on the way, or not taken: send it (again)
            time.sleep(1 if told else 0)
            os.write(port, event.encode() + b"\n")
        told = answer(3)
    print(told)
