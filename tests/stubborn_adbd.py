"""Run as a program: answers an adb server as a device does whose owner has not accepted the computer's key."""

import socket
import struct
import sys

_AUTH, _TOKEN = 0x48545541, 1


def main(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            link, _ = server.accept()
            with link:
                _refuse(link)


def _refuse(link: socket.socket) -> None:
    """Every message is answered with another token to sign, as if no signature were known."""
    with link.makefile("rwb") as stream:
        while len(head := stream.read(24)) == 24:
            stream.read(struct.unpack("<6I", head)[3])
            token = bytes(range(20))
            stream.write(struct.pack("<6I", _AUTH, _TOKEN, 0, len(token), sum(token), _AUTH ^ 0xFFFFFFFF) + token)
            stream.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
