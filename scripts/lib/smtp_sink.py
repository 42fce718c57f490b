#!/usr/bin/env python3
"""A mail server that stores each message as a file in the folder, named by its number. Answers HELP with its
pid, so that the stack knows that the right process listens. With a certificate and its key it speaks TLS from the first
byte."""

import asyncio
import os
import ssl
import sys
from pathlib import Path

MAX_LINE = 16 * 1024


async def converse(reader, writer, folder):
    def say(text):
        writer.write(f"{text}\r\n".encode())

    say("220 sink")
    while line := await reader.readline():
        word = line[:4].upper().strip()
        if word == b"DATA":
            say("354 go on")
            message = []
            while (line := await reader.readline()) not in (b".\r\n", b""):
                message.append(line[1:] if line.startswith(b"..") else line)
            if not line:
                break
            keep(folder, b"".join(message))
            say("250 kept")
        elif word == b"HELP":
            say(f"214 {os.getpid()}")
        elif word == b"QUIT":
            say("221 bye")
            break
        else:
            say("250 ok")
        await writer.drain()
    writer.close()


def keep(folder, message):
    """A reader sees a whole message or none."""
    number = sum(1 for _ in folder.glob("*.eml"))
    draft = folder / f"{number:06}.new"
    draft.write_bytes(message)
    draft.rename(folder / f"{number:06}.eml")


async def main():
    port, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    handle = lambda reader, writer: converse(reader, writer, folder)
    tls = None
    if len(sys.argv) > 3:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(sys.argv[3], sys.argv[4])
    server = await asyncio.start_server(handle, "127.0.0.1", port, limit=MAX_LINE, ssl=tls)
    async with server:
        await server.serve_forever()


asyncio.run(main())
