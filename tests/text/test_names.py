"""Names of people, projects and tools in a text, as profiles are made of them."""

from __future__ import annotations

import pytest

from nacre.text.names import names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Mara Olsen checks every invoice before Ingrid signs it", ["Mara Olsen", "Ingrid"]),
        ("We moved from PostgreSQL to SQLite", ["PostgreSQL", "SQLite"]),
        ("User asked: Deploy the shop on Monday → The API answers", []),
        ("Installing takes four minutes in CI on Saturdays", []),
        ("Fix Redis on Thu or Tues in Jan: None, Null, True and False are no names", ["Redis"]),
        ("I told Mara's team about Claude Code", ["Mara", "Claude Code"]),
        ("The password is [redacted: password], take it", []),
        ("周敏负责核对发票，每月 25 号开出之前都先给周敏看", ["周敏"]),
        ("订单库改用 PostgreSQL，由王磊负责", ["王磊", "PostgreSQL"]),
        ("小程序用微信登录", []),
        ("生产环境在 api.shop.com.cn，用 deploy.py 发布，邮箱 chen@qq.com", []),
        ("数据库主机 rm-bp1abc，域名 rm-bp1abc.mysql.rds.aliyuncs.com，账号 admin", []),
        ("前端用 Node.js 和 pnpm，我叫陈晓峰，在电商公司当后端", ["陈晓峰", "Node", "pnpm"]),
        ("We moved to api.shop.io. Mara runs it with Vue.js", ["Mara", "Vue"]),
    ],
)
def test_names_are_told_from_other_words(text: str, found: list[str]) -> None:
    assert names(text) == found
