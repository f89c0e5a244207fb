"""The labels of log lines beside secrets."""

from __future__ import annotations

import pytest

from nacre.guard.secrets import redact


def test_a_label_below_a_line_about_passwords_is_no_password() -> None:
    section = (
        "- [LESSON] 老师们老是忘密码，一周找我重置七八回，我决定登录全部换成企业微信扫码，密码登录砍掉\n"
        "- [TECH] Secret 是 [redacted: token]，放 .env，其他两个在企业微信后台我截图给你了\n"
        "- [TECH] 学校信息中心说 8010 这段要给监控平台用"
    )
    assert redact(section).text == section


@pytest.mark.parametrize("label", ["TECH", "PREF", "任务", "Decision"])
def test_what_stands_behind_a_label_is_weighed_as_without_it(label: str) -> None:
    harmless = "备份也定了：Hyper Backup 每晚两点备到阿里云 OSS，只备 photo 和 docker 两个共享文件夹，电影不备"
    assert redact(f"[{label}] {harmless}").text == f"[{label}] {harmless}"
    assert redact(f"- [{label}] the login password is Brindle*4402").text.startswith(
        f"- [{label}] the login password is [redacted"
    )


def test_user_asked_announces_no_login() -> None:
    line = "- User asked: look at the importer → it uses strptime with `%m/%y`"
    assert redact(line).text == line
    assert "panda.66" not in redact("- User asked: open the shop, the login password is panda.66").text
