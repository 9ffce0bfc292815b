"""What a device is called and chosen by in a fleet."""

from builders import a_device_info
from etprof.core.fleet import describe_device, fleet_name, list_labels


def test_labels_are_what_the_device_says_of_itself() -> None:
    info = a_device_info(features=("sme2", "i8mm"), soc="SM8750-AC", model="Pixel 10 Pro", cpu_count=8)
    assert list_labels("android", info) == {
        "android", "sme2", "i8mm", "x86_64", "8-cores", "sm8750-ac", "pixel-10-pro", "a-cpu",
    }  # fmt: skip


def test_an_emulated_cpu_can_be_left_out() -> None:
    assert "emulated" in list_labels("ssh", a_device_info(times_are_real=False))
    assert "emulated" not in list_labels("ssh", a_device_info())


def test_what_every_machine_has_is_named_after_its_machine() -> None:
    assert fleet_name("local", "board") == "local@board"
    assert fleet_name("android:1A2B", "board") == "android:1A2B"
    assert describe_device(a_device_info(soc="A chip")) == "A chip, A CPU (2 cores, x86_64), Linux 6"
