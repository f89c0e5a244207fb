"""The time that a question names, in English and Chinese, and what only looks like one."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.search.query import parse_question
from nacre.search.time import Period, period_named

TODAY = dt.date(2026, 3, 18)  # a Wednesday, in ISO week 12

# Question | words that name the time | days, the year 2026 left out | hours
ENGLISH = """
what did we decide on 2026-02-10? | 2026-02-10 | 02-10
the deploy of 2025/12/24 | 2025/12/24 | 2025-12-24
logs from 2026-03-14T09:30 please | 2026-03-14T09:30 | 03-14
what was the plan for 2025-11? | 2025-11 | 2025-11-01 2025-11-30
what happened on March 3? | March 3 | 03-03
what did Anna say on the 5th of February | the 5th of February | 02-05
who visited us on 24 Dec 2024? | 24 Dec 2024 | 2024-12-24
which hotel did we book on Sept. 9th, 2025 | Sept. 9th, 2025 | 2025-09-09
invoice of 25/12/2025 | 25/12/2025 | 2025-12-25
what broke on 3/14? | 3/14 | 03-14
minutes of 14.03.2025 | 14.03.2025 | 2025-03-14
what did I promise on the 14th? | the 14th | 03-14
what did I note on the 25th | the 25th | 02-25
did we pay rent on the 1st of last month | the 1st of last month | 02-01
which books did I read in March? | March | 03-01 03-31
what did I plan in may | may | 2025-05-01 2025-05-31
how much did we spend in October 2024? | October 2024 | 2024-10-01 2024-10-31
what did we ship last October | last October | 2025-10-01 2025-10-31
trips in March last year | March last year | 2025-03-01 2025-03-31
what were my goals in 2025? | 2025 | 2025-01-01 2025-12-31
which models did we test in late January | late January | 01-21 01-31
the incident at the beginning of March | the beginning of March | 03-01 03-10
the offsite in mid-November | mid-November | 2025-11-11 2025-11-20
revenue in Q4 | Q4 | 2025-10-01 2025-12-31
what were the OKRs for Q1 2025 | Q1 2025 | 2025-01-01 2025-03-31
what did the team do in the third quarter of 2024? | the third quarter of 2024 | 2024-07-01 2024-09-30
status report of week 10 | week 10 | 03-02 03-08
what did I do in the second week of February | the second week of February | 02-08 02-14
standup notes of 2026-W09 | 2026-W09 | 02-23 03-01
the first Monday of March | the first Monday of March | 03-02
what did I eat between March 3 and 9 | March 3 and 9 | 03-03 03-09
where was I from Monday to Wednesday? | from Monday to Wednesday | 03-09 03-11
notes of 3 to 9 March | 3 to 9 March | 03-03 03-09
commits from 2026-03-02 until yesterday | from 2026-03-02 until yesterday | 03-02 03-17
what happened between Christmas and New Year's Eve | between Christmas and New Year's Eve | 2025-12-25 2025-12-31
who was on call from November to February | from November to February | 2025-11-01 2026-02-28
the plan from March 14 to March 20 | from March 14 to March 20 | 03-14 03-20
what did I do in the last weekend before Easter 2025 | last weekend before Easter 2025 | 2025-04-12 2025-04-13
Thursday evening last week | Thursday evening last week | 03-12 | 18 24
where did we go last week from Monday to Tuesday | last week from Monday to Tuesday | 03-09 03-10
what changed since last Friday? | since last Friday | 03-13 03-18
what had we decided before March 5 | before March 5 | 0001-01-01 03-04
what did we learn after March 5th | after March 5th | 03-06 03-18
what's due today | today | 03-18
what did I do the day before yesterday? | the day before yesterday | 03-16
what did we discuss on Tuesday | Tuesday | 03-17
what did we discuss on Wednesday? | Wednesday | 03-11
what did Ben report last Tuesday | last Tuesday | 03-17
the bug from Tuesday last week | Tuesday last week | 03-10
what was in Monday's meeting? | Monday's | 03-16
where did we go on Tuesday, March 3rd | Tuesday, March 3rd | 03-03
what did I cook last weekend | last weekend | 03-14 03-15
any plans for this weekend? | this weekend | 03-21 03-22
who came over the weekend? | the weekend | 03-14 03-15
what did I say three days ago? | three days ago | 03-15
what did we talk about two weeks ago | two weeks ago | 03-01 03-07
the call a fortnight ago | a fortnight ago | 03-01 03-07
what did I buy a couple of days ago | a couple of days ago | 03-15 03-16
the move 2 months ago | 2 months ago | 01-08 01-28
where did I live three years ago | three years ago | 2023-01-01 2023-12-31
summary of the last 3 days | the last 3 days | 03-15 03-18
what did I learn in the past week | the past week | 03-11 03-18
what did we do last week | last week | 03-09 03-15
the week before last | the week before last | 03-02 03-08
all decisions of this month | this month | 03-01 03-31
what went wrong last month? | last month | 02-01 02-28
what did I achieve last year | last year | 2025-01-01 2025-12-31
what did I get for Christmas? | Christmas | 2025-12-25
the party on New Year’s Eve | New Year’s Eve | 2025-12-31
where were we at Easter | Easter | 2025-04-20
recipe for Easter 2024 | Easter 2024 | 2024-03-31
dinner on Good Friday | Good Friday | 2025-04-18
who hosted Thanksgiving? | Thanksgiving | 2025-11-27
what did we do on Labor Day | Labor Day | 2025-09-01
the costume for Halloween last year | Halloween last year | 2025-10-31
gifts for next Christmas | next Christmas | 12-25
the trip on Memorial Day 2024 | Memorial Day 2024 | 2024-05-27
what did we do over Chinese New Year | Chinese New Year | 02-16 02-22
what happened the weekend before Easter | the weekend before Easter | 2025-04-12 2025-04-13
the day after Christmas | the day after Christmas | 2025-12-26
two days before Christmas Eve | two days before Christmas Eve | 2025-12-22
what did I do in the week of March 3 | the week of March 3 | 03-02 03-08
what did I write this morning | this morning | 03-18 | 5 12
what did she say yesterday evening? | yesterday evening | 03-17 | 18 24
what did we watch last night | last night | 03-17 | 18 24
the outage on Friday afternoon | Friday afternoon | 03-13 | 12 18
the evening of March 3 | evening of March 3 | 03-03 | 18 24
what is planned for next Friday? | next Friday | 03-27
do I have anything tomorrow morning | tomorrow morning | 03-19 | 5 12
where do we meet this Friday | this Friday | 03-20
"""
CHINESE = """
2026年2月10日我们决定了什么 | 2026年2月10日 | 02-10
3月3号开会说了什么 | 3月3号 | 03-03
十二月二十四号谁来了 | 十二月二十四号 | 2025-12-24
去年3月14日我在哪儿 | 去年3月14日 | 2025-03-14
14号答应了什么 | 14号 | 03-14
25号记了什么 | 25号 | 02-25
上个月14号交房租了吗 | 上个月14号 | 02-14
三月看了哪些书 | 三月 | 03-01 03-31
5月份的计划是什么 | 5月份 | 2025-05-01 2025-05-31
去年十月花了多少钱 | 去年十月 | 2025-10-01 2025-10-31
2024年11月的体检结果 | 2024年11月 | 2024-11-01 2024-11-30
2025年定的目标 | 2025年 | 2025-01-01 2025-12-31
今年的预算是多少 | 今年 | 01-01 12-31
前年住在哪里 | 前年 | 2024-01-01 2024-12-31
三月初发生的故障 | 三月初 | 03-01 03-10
二月中旬的出差 | 二月中旬 | 02-11 02-20
上个月底谁请假了 | 上个月底 | 02-21 02-28
月底的账单 | 月底 | 02-21 02-28
去年底换的手机 | 去年底 | 2025-10-01 2025-12-31
去年下半年做了哪些项目 | 去年下半年 | 2025-07-01 2025-12-31
第一季度的目标 | 第一季度 | 01-01 03-31
上季度营收 | 上季度 | 2025-10-01 2025-12-31
第10周的进展 | 第10周 | 03-02 03-08
二月第二周做了什么 | 二月第二周 | 02-08 02-14
3月3日到9日在哪出差 | 3月3日到9日 | 03-03 03-09
周一到周三的会议 | 周一到周三 | 03-09 03-11
从上周五起换的药 | 从上周五起 | 03-13 03-18
2025Q1的目标 | 2025Q1 | 2025-01-01 2025-03-31
今年以来读的书 | 今年以来 | 01-01 03-18
从上周一到周三都干了什么 | 从上周一到周三 | 03-09 03-11
二月到三月之间读的论文 | 二月到三月之间 | 02-01 03-31
上周五以来改了什么 | 上周五以来 | 03-13 03-18
3月5日之前的结论 | 3月5日之前 | 0001-01-01 03-04
3月5号以后讨论过吗 | 3月5号以后 | 03-06 03-18
昨天吃了什么 | 昨天 | 03-17
昨天晚饭吃了什么 | 昨天 | 03-17
前天聊了什么 | 前天 | 03-16
大前天下雨了吗 | 大前天 | 03-15
周二谁来了 | 周二 | 03-17
星期三说了什么 | 星期三 | 03-11
上周二的决定 | 上周二 | 03-10
这周三的安排 | 这周三 | 03-18
上上周五吃的那家店 | 上上周五 | 03-06
3月3日（周二）去了哪里 | 3月3日（周二 | 03-03
上周末爬山了吗 | 上周末 | 03-14 03-15
周末去哪儿玩了 | 周末 | 03-14 03-15
三天前说过什么 | 三天前 | 03-15
两周前的面试 | 两周前 | 03-01 03-07
半个月前买的什么 | 半个月前 | 03-01 03-07
一个月前的方案 | 一个月前 | 02-08 02-28
两三天前的讨论 | 两三天前 | 03-15 03-16
半天前说的话 | 半天前 | 03-18
三年前在哪工作 | 三年前 | 2023-01-01 2023-12-31
最近三天的进展 | 最近三天 | 03-15 03-18
这几天在忙什么 | 这几天 | 03-12 03-18
过去一个月的支出 | 过去一个月 | 02-18 03-18
前几天提到的论文 | 前几天 | 03-12 03-17
上周做了什么 | 上周 | 03-09 03-15
本周日程有哪些 | 本周 | 03-16 03-22
上周三次故障的原因 | 上周 | 03-09 03-15
上个月的总结 | 上个月 | 02-01 02-28
这个月读的书 | 这个月 | 03-01 03-31
元旦去哪了 | 元旦 | 01-01
春节去了谁家 | 春节 | 02-16 02-22
去年春节花了多少 | 去年春节 | 2025-01-28 2025-02-03
除夕的菜单 | 除夕 | 02-16
元宵节吃什么 | 元宵节 | 03-03
2025年清明去哪扫墓 | 2025年清明 | 2025-04-04
端午节放假安排 | 端午节 | 2025-05-31
七夕送了什么 | 七夕 | 2025-08-29
中秋买的月饼 | 中秋 | 2025-10-06
重阳节陪爸妈 | 重阳节 | 2025-10-29
五一去哪玩了 | 五一 | 2025-05-01 2025-05-05
国庆的行程 | 国庆 | 2025-10-01 2025-10-07
双十一买了什么 | 双十一 | 2025-11-11
去年618买的键盘 | 去年618 | 2025-06-18
春节前一天做了什么 | 春节前一天 | 02-15
国庆后的体重 | 国庆后 | 2025-10-08 2025-10-14
圣诞节前的周末 | 圣诞节前的周末 | 2025-12-20 2025-12-21
昨晚看的电影 | 昨晚 | 03-17 | 18 24
今早跑了多远 | 今早 | 03-18 | 5 12
昨天下午的会 | 昨天下午 | 03-17 | 12 18
周五晚上跟谁吃饭 | 周五晚上 | 03-13 | 18 24
3月3日凌晨的告警 | 3月3日凌晨 | 03-03 | 0 6
明天有什么安排 | 明天 | 03-19
下周三要见谁 | 下周三 | 03-25
下个月的旅行 | 下个月 | 04-01 04-30
明年春节 | 明年春节 | 2027-02-05 2027-02-11
yesterday下午的meeting说了什么 | yesterday下午 | 03-17 | 12 18
上周的Friday谁值班 | 上周的Friday | 03-13
我在March做了什么 | March | 03-01 03-31
"""
NO_TIME = """
May I see the plan?
what may break if the cache is cold
the soldiers march on
we decided to march on Rome
does this need Python version 3.11
which service uses port 8080
the 18:30 slot
route 9/11 config
the host 10.2.3.4 is down
24/7 support contract
1/2 cup of sugar
a 3/16 inch drill
Sunday roast recipe
how do I import a board from Monday.com
is he better in the morning
the second week is the hardest
what did you learn about her
she sat in the sun
decide which summary to keep
water the plants every Monday
this may take a while
on the 2nd floor
a team of 2000 people
test 3 may be flaky
the Easter egg in the editor
does April like tea
spring boot settings
周报模板在哪
星期八是什么梗
三月兔是谁画的
第一周的工资条模板
地铁2号线怎么换乘
早上一般喝什么
目前天气怎么样
一周三次的健身计划
每周一次的例会
前端和后端怎么分工
五月天的歌
版本 3.11 的特性
他今后天天加班吗
什么时候适合浇花
"""


def cases(table: str) -> list[tuple[str, Period]]:
    """The rows of a table above, as questions with the periods they name."""
    result = []
    for row in table.strip().splitlines():
        question, words, days, *hours = (column.strip() for column in row.split("|"))
        first, *last = (day if len(day) == 10 else f"2026-{day}" for day in days.split())
        begin, end = (int(hour) for hour in hours[0].split()) if hours else (0, 0)
        result.append((question, Period(first, last[0] if last else first, (begin, end) if hours else None, words)))
    return result


@pytest.mark.parametrize(
    ("question", "is_day"),
    [
        ("周二发布", False),
        ("发布 周二", False),
        ("release Tuesday", False),
        ("周二", True),
        ("周二谁来了", True),
        ("周二的决定", True),
        ("上周二发布", True),
        ("what did we discuss on Tuesday", True),
        ("release on Tuesday", True),
    ],
)
def test_a_weekday_that_only_describes_something_is_no_day(question: str, is_day: bool) -> None:
    assert (parse_question(question, TODAY).period is not None) is is_day


@pytest.mark.parametrize(("question", "period"), [*cases(ENGLISH), *cases(CHINESE)])
def test_a_question_names_a_time(question: str, period: Period) -> None:
    assert period_named(question, TODAY) == period


@pytest.mark.parametrize("question", NO_TIME.strip().splitlines())
def test_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert period_named(question, TODAY) is None


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what did we decide last Friday? And before that, on 2025-12-01?", "2026-03-13", "2026-03-13"),
        ("last month, on February 10, who called?", "2026-02-10", "2026-02-10"),
        ("yesterday I asked what happened from 2 to 6 March", "2026-03-02", "2026-03-06"),
        ("今天想起周一到周三的会议", "2026-03-09", "2026-03-11"),
        ("上个月总结里提到2月10日的事故", "2026-02-10", "2026-02-10"),
        ("上上周四（2 月 26 日）修了什么", "2026-02-26", "2026-02-26"),
        ("what broke last Thursday (March 5)?", "2026-03-05", "2026-03-05"),
    ],
)
def test_of_several_times_a_range_then_the_inner_one_then_the_first_counts(
    question: str, first: str, last: str
) -> None:
    period = period_named(question, TODAY)
    assert period
    assert (period.first, period.last) == (first, last)


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("Easter", "2015-04-05 2016-03-27 2018-04-01 2019-04-21 2024-03-31 2025-04-20 2038-04-25"),
        ("Thanksgiving", "2019-11-28 2023-11-23 2024-11-28 2025-11-27"),
        ("除夕", "2015-02-18 2020-01-24 2024-02-09 2025-01-28 2026-02-16 2027-02-05 2030-02-02"),
        ("元宵节", "2019-02-19 2024-02-24 2025-02-12 2026-03-03"),
        ("清明", "2020-04-04 2022-04-05 2023-04-05 2024-04-04 2026-04-05 2027-04-05"),
        ("端午", "2020-06-25 2023-06-22 2024-06-10 2025-05-31"),
        ("七夕", "2020-08-25 2023-08-22 2024-08-10 2025-08-29"),
        ("中秋", "2020-10-01 2023-09-29 2024-09-17 2025-10-06 2033-09-08"),
        ("重阳", "2020-10-25 2023-10-23 2024-10-11 2025-10-29"),
    ],
)
def test_holidays_fall_on_their_known_days(name: str, days: str) -> None:
    for day in days.split():
        period = period_named(f"{name} {day[:4]}" if name.isascii() else f"{day[:4]}年{name}", TODAY)
        assert period
        assert (period.first, period.last) == (day, day)


def test_a_lunar_holiday_outside_of_the_table_is_left_to_its_year() -> None:
    assert period_named("2041年中秋", TODAY) == Period("2041-01-01", "2041-12-31", None, "2041年")


PIECES = [
    *"0 1 3 9 12 14 31 99 2025 2026 / - . : , ' ’ 's ( 年 月 日 号 天 周 第 个 前 后 到 初 底 一 二 十 半 几 的 早 晚".split(
        " "
    ),
    " ",
]
PIECES += (
    "the on in of last this next before after since from to between and until a two half couple ago early end".split()
)
PIECES += "day days week weeks month years Monday fri March may Easter Christmas morning night quarter q1 W12 İ".split()
PIECES += "周末 星期 上 上上 下 去年 今年 昨 明天 春节 国庆 清明 下午 季度 以来 之前 之间 最近 最后 从 起".split()


@given(
    st.lists(st.sampled_from([*PIECES, *(f" {piece} " for piece in PIECES)]), max_size=12).map("".join)
    | st.text(max_size=40),
    st.dates(),
)
def test_any_text_on_any_day_has_a_period_in_order_or_none(text: str, today: dt.date) -> None:
    period = period_named(text, today)
    if period:
        assert dt.date.fromisoformat(period.first) <= dt.date.fromisoformat(period.last)
        assert period.words
        assert period.words in text
        assert period.hours is None or 0 <= period.hours[0] < period.hours[1] <= 24
