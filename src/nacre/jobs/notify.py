"""A notification on the desktop, where there is one: what the night's tidying did reaches people whose agent does not tell them."""

from __future__ import annotations

from nacre.jobs.installer import Machine, run_command

# The words are handed over as arguments, never as a part of the script.
_SCRIPT = ("on run words", "display notification (item 1 of words) with title (item 2 of words)", "end run")


def notify(machine: Machine, title: str, text: str) -> bool:
    """Whether it was shown. A machine without a desktop, or a session without a display, is told nothing."""
    if machine.platform == "darwin":
        script = [word for line in _SCRIPT for word in ("-e", line)]
        command = ("osascript", *script, text, title)
    elif any(machine.env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        command = ("notify-send", "--app-name=Nacre", "--", title, text)
    else:
        return False
    return machine.where(command[0]) is not None and not run_command(machine, command, timeout=10).code
