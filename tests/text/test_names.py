"""Names of people, projects and tools in a text, as profiles are made of them."""

from __future__ import annotations

import pytest

from nacre.text.names import names, possible_names


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
        ("别叫我沈女士，叫我禾姐就行", ["沈女士", "禾姐"]),
        ("桂姨管打扫，前台新来的叫阿蓉，代码改找他师弟小柯", ["桂姨", "阿蓉", "小柯"]),
        ("张总要求周一交，方师傅明天来，别答应高工程师", ["张总", "方师傅"]),
        ("平日提前一天说就全退，周末还是三天，程序里也按这个判，高兴。", []),
        ("方案要改，费用和安排在周四定，小程序去年做的，阿姨说二哥会来，老板也来", []),
        ("room_calendar 表没有 (room_id, date) 的索引，APIv3 的 key 在 .env 里，把 print 删掉", []),
        ("站点挪到 Cloudflare Pages 去了，部署都走 wrangler", ["Cloudflare Pages", "wrangler"]),
        ("We moved to api.shop.io. Mara runs it with Vue.js", ["Mara", "Vue"]),
    ],
)
def test_names_are_told_from_other_words(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_a_word_that_may_be_a_name_is_told_with_the_sign_behind_it() -> None:
    assert possible_names("小满海鲜过敏，小问题也不少；房间小满员了") == [("小满", "海")]
    assert possible_names("合同给王磊看，小猫和老客不用管") == [("王磊", "看")]
