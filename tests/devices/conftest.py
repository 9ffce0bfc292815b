"""Real devices for the tests of this folder."""

from real_devices import adbd, device_folder, emulator, link, shell, sshd

__all__ = ["adbd", "device_folder", "emulator", "link", "shell", "sshd"]
