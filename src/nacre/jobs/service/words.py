"""What an OpenClaw agent is told when a job's turn comes, and what stands in its HEARTBEAT.md; all logic stays in Nacre."""

from __future__ import annotations

BEGIN, END = "<!-- nacre:heartbeat:begin -->", "<!-- nacre:heartbeat:end -->"
SILENCE = "ANNOUNCE_SKIP"

_SYNC = {
    "en": """\
Memory capture (memory-sync). Run exactly this command, once, and wait for it to end:

    {command}

It reads what was said since its last run into the day's log, leaves out isolated sessions such as this one, and brings the \
index up to date. Write nothing yourself: no memory file, no summary, no second run.
If it fails, answer with one sentence that holds its error message; that jobs are running already is no failure. In every \
other case, also when there was nothing to capture, answer {silence} and nothing else.""",
    "zh": """\
记忆采集（memory-sync）。请准确运行下面这条命令一次，并等它结束：

    {command}

它会把上次运行以来的对话记入当天的日志，跳过像本会话这样的隔离会话，并更新索引。你自己不要写任何内容：不要改记忆文件，不要写摘要，也不要再运行一次。
如果命令失败，用一句话回答，并带上它的错误信息；提示已有任务在运行不算失败。其他情况下，包括没有可采集的内容时，只回答 {silence}。""",
}

_TIDY = {
    "en": """\
Nightly memory care (memory-tidy). You are explicitly permitted to read and change MEMORY.md in this isolated session, by \
means of the command below and in no other way. Run it once and wait for it to end:

    {command}

It backs MEMORY.md up, presses old daily logs into weeks, admits only what passes its tests, and archives. Edit no file \
by hand, neither before nor after it.
Then answer with the summary that it printed, in one or two sentences and nothing added. If it says that nothing changed, \
or prints nothing because this night was seen to already, answer {silence} and nothing else. If it fails, answer with one \
sentence that holds its error message.""",
    "zh": """\
每晚的记忆整理（memory-tidy）。你被明确授权在此隔离会话中读取和修改 MEMORY.md，但只能通过下面的命令，不得以其他方式进行。请运行一次，并等它结束：

    {command}

它会先备份 MEMORY.md，再把旧的每日日志压缩成周报，只收录通过检验的内容，然后归档。运行前后都不要手动修改任何文件。
之后用一两句话转述它输出的摘要，不要添加内容。如果它说没有变更，或因当晚已整理过而没有任何输出，只回答 {silence}。如果命令失败，用一句话回答，并带上它的错误信息。""",
}

_HEARTBEAT = {
    "en": """\
## Memory

- Run `{command}` once. It looks at what is due and takes a moment.
- If it reports a failure, tell the user in one sentence. Otherwise say nothing about it, and answer HEARTBEAT_OK unless \
another point of this file wants attention.
""",
    "zh": """\
## 记忆

- 运行一次 `{command}`。它会查看有哪些工作到期，很快就结束。
- 如果它报告失败，用一句话告诉用户。否则不要提及；本文件中没有其他需要关注的事项时，回答 HEARTBEAT_OK。
""",
}

PROMPTS = {"memory-sync": _SYNC, "memory-tidy": _TIDY}


def prompt(job: str, command: str, language: str) -> str:
    """What the agent is told when it is time for the job."""
    return PROMPTS[job][language].format(command=command, silence=SILENCE)


def heartbeat(command: str, language: str) -> str:
    """The instructions for HEARTBEAT.md between their markers, ending in a newline."""
    return f"{BEGIN}\n{_HEARTBEAT[language].format(command=command)}{END}\n"
