"""The sizes of daily notes keep within their bounds."""

from harness.settings import StartupSettings


def test_sizes_out_of_range_are_brought_to_its_ends() -> None:
    assert StartupSettings(
        daily_memory_days=99, max_file_bytes=10**9, max_file_chars=10**6, max_total_chars=10**6
    ) == StartupSettings(daily_memory_days=14, max_file_bytes=65_536, max_file_chars=10_000, max_total_chars=50_000)
    assert StartupSettings(daily_memory_days=0, max_total_chars=-4) == StartupSettings(
        daily_memory_days=1, max_total_chars=1
    )


def test_no_command_means_both() -> None:
    assert StartupSettings(apply_on=()) == StartupSettings(apply_on=("new", "reset"))
